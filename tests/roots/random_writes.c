// SPDX-License-Identifier: Apache-2.0
// Random calls that change files, with their results, and what they leave: the same program runs natively and here, as
// writes.c does.
//   random_writes SEED COUNT
#include "checks.h"

static unsigned long state;
static unsigned next_random(unsigned below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 20) % below;
}
static const char* random_path(void) {
  static const char* const paths[] = {"p",           "q",          "r",           "s",   "p/a",  "p/b",   "p/q",
                                      "q/a",         "q/b/c",      "r/a/../b",    "p/.", "q/..", "given", "given/one",
                                      "given/sub/x", "given/sub",  "given/large", "l1",  "l1/a", "l2",    "l2/b",
                                      "p/l",         "given/link", "p/a/b/c",     "q/"};
  return paths[next_random(sizeof paths / sizeof *paths)];
}
static void random_calls(long count) {
  int files[6] = {-1, -1, -1, -1, -1, -1};
  for (long i = 0; i < count; i++) {
    const char *path = random_path(), *other = random_path();
    int* file = &files[next_random(6)];
    static unsigned char bytes[20000];
    struct stat status;
    const unsigned size = next_random(4) == 0 ? next_random(20000) : next_random(50),
                   at = next_random(3) ? next_random(200) : next_random(40000);
    long result = 0;
    const unsigned what = next_random(20);
    errno = 0;
    switch (what) {
      case 0:
      case 1:
      case 2: {
        static const int flags[] = {O_RDONLY,
                                    O_RDWR | O_CREAT,
                                    O_WRONLY | O_CREAT | O_TRUNC,
                                    O_RDWR,
                                    O_WRONLY | O_APPEND | O_CREAT,
                                    O_RDWR | O_CREAT | O_EXCL,
                                    O_RDONLY | O_DIRECTORY,
                                    O_PATH,
                                    O_RDWR | O_NOFOLLOW};
        if (*file >= 0) close(*file);
        const int how = flags[next_random(9)];
        const unsigned mode = 0600 | next_random(0200);
        *file = open(path, how, mode);
        result = *file >= 0 ? 0 : -1;
        break;
      }
      case 3:
      case 4:
        memset(bytes, (int)i, size);
        result = *file < 0 ? 0 : write(*file, bytes, size);
        break;
      case 5:
        memset(bytes, (int)i, size);
        result = *file < 0 ? 0 : pwrite(*file, bytes, size, at);
        break;
      case 6:
        result = *file < 0 ? 0 : pread(*file, bytes, size, at);
        result = result > 0 ? (long)sum_of(bytes, (size_t)result, 1) : result;
        break;
      case 7: result = *file < 0 ? 0 : ftruncate(*file, at); break;
      case 8: result = truncate(path, at); break;
      case 9: result = mkdir(path, 0755); break;
      case 10: result = rmdir(path); break;
      case 11: result = unlink(path); break;
      case 12:
      case 13: result = rename(path, other); break;
      case 14: result = link(path, other); break;
      case 15: result = symlink(other, path); break;
      case 16: result = chmod(path, next_random(2) ? 0700 : 0644); break;
      case 17:
        result = *file < 0 ? 0 : fstat(*file, &status);
        if (*file >= 0 && result == 0)
          result = (long)(S_ISDIR(status.st_mode) ? 0 : status.st_size) * 10 + (long)status.st_nlink;
        break;
      case 18:
        if (*file >= 0) {
          result = close(*file);
          *file = -1;
        }
        break;
      case 19:
        result = lstat(path, &status);
        if (result == 0) result = status.st_mode;
        break;
    }
    printf("%ld %u %s %s: %ld %s\n", i, what, path, other, result, result < 0 ? strerrorname_np(errno) : "");
    if (i % 100 == 99) show_folder(".", 0);
  }
}

int main(int argc, char** argv) {
  umask(022);
  if (argc < 3) return 2;
  state = strtoul(argv[1], NULL, 0) * 0x9e3779b97f4a7c15 | 1;
  random_calls(atol(argv[2]));
  return 0;
}
