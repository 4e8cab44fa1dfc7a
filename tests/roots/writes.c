// SPDX-License-Identifier: Apache-2.0
// Numbered checks of calls that change files, each printed with its result: the same program runs natively on the host's Linux,
// under QEMU and here, as user 1000 in a working folder of its own that is empty but for what writes_test.py puts there.
//   writes            each effect and each error
//   writes SEED COUNT random calls, and what they leave
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

static int number;
static void say(const char* what, long result) {
  if (result < 0) printf("%d %s: %s\n", ++number, what, strerrorname_np(errno));
  else printf("%d %s: %ld\n", ++number, what, result);
}
#define CHECK(call) (errno = 0, say(#call, (long)(call)))
static long opens(long fd) {
  if (fd >= 0) close((int)fd);
  return fd >= 0 ? 0 : -1;
}
#define OPENS(...) CHECK(opens(open(__VA_ARGS__)))

static unsigned sum_of(const unsigned char* bytes, size_t size, unsigned sum) {
  for (size_t i = 0; i < size; i++) sum = sum * 31 + bytes[i];
  return sum;
}
// Size and sum of a file's bytes; of a link, its target.
static void show(const char* path) {
  struct stat status;
  if (lstat(path, &status) != 0) {
    printf("  %s: %s\n", path, strerrorname_np(errno));
    return;
  }
  printf("  %s: %o %ld %d:%d", path, status.st_mode, (long)status.st_nlink, (int)status.st_uid, (int)status.st_gid);
  if (S_ISLNK(status.st_mode)) {
    char target[PATH_MAX + 1];
    const ssize_t size = readlink(path, target, PATH_MAX);
    printf(" -> %.*s", (int)(size < 0 ? 0 : size), target);
  } else if (S_ISREG(status.st_mode)) {
    unsigned char bytes[4096];
    unsigned sum = 0;
    long total = 0;
    const int fd = open(path, O_RDONLY);
    for (ssize_t size; fd >= 0 && total < 1000000 && (size = read(fd, bytes, sizeof bytes)) > 0; total += size)
      sum = sum_of(bytes, (size_t)size, sum);
    if (fd >= 0) close(fd);
    printf(" %ld %ld %x", (long)status.st_size, total, sum);
  }
  printf("\n");
}
static int by_name(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }
static void show_folder(const char* path, int depth) {
  DIR* folder = opendir(path);
  char* names[500];
  size_t count = 0;
  show(path);
  if (!folder) return;
  for (struct dirent* entry; count < 500 && (entry = readdir(folder));) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) names[count++] = strdup(entry->d_name);
  }
  closedir(folder);
  qsort(names, count, sizeof *names, by_name);
  for (size_t i = 0; i < count; i++) {
    char inner[PATH_MAX];
    struct stat status;
    snprintf(inner, sizeof inner, "%s/%s", path, names[i]);
    if (lstat(inner, &status) == 0 && S_ISDIR(status.st_mode) && depth < 20) show_folder(inner, depth + 1);
    else show(inner);
    free(names[i]);
  }
}

static void make_and_write(void) {
  char text[100] = "";
  int fd = open("new", O_RDWR | O_CREAT | O_EXCL, 0640);
  CHECK(fd >= 0);
  OPENS("new", O_RDWR | O_CREAT | O_EXCL, 0640);
  CHECK(write(fd, "hello world", 11));
  CHECK(lseek(fd, 0, SEEK_CUR));
  CHECK(pwrite(fd, "HE", 2, 0));
  CHECK(pread(fd, text, 100, 0));
  printf("%s\n", text);
  CHECK(pwrite(fd, "x", 1, -1));
  CHECK(write(fd, NULL, 1));
  CHECK(write(fd, NULL, 0));
  CHECK(lseek(fd, 20000, SEEK_SET));
  CHECK(write(fd, "end", 3));
  show("new");
  CHECK(lseek(fd, 5, SEEK_HOLE));
  CHECK(lseek(fd, 5, SEEK_DATA));
  CHECK(lseek(fd, 8192, SEEK_DATA));
  CHECK(lseek(fd, 20002, SEEK_DATA));
  CHECK(lseek(fd, 20003, SEEK_DATA));
  CHECK(lseek(fd, 20003, SEEK_HOLE));
  CHECK(ftruncate(fd, 4));
  CHECK(ftruncate(fd, 100));
  CHECK(ftruncate(fd, -1));
  show("new");
  CHECK(truncate("new", 5000));
  CHECK(truncate("new", 4097));
  CHECK(truncate("none", 1));
  CHECK(truncate(".", 1));
  CHECK(truncate("", 1));
  CHECK(truncate("new/", 1));
  show("new");
  CHECK(lseek(fd, 0, SEEK_END));
  struct iovec parts[3] = {{"one", 3}, {"", 0}, {"two", 3}};
  CHECK(writev(fd, parts, 3));
  CHECK(pwritev(fd, parts, 3, 1));
  CHECK(preadv(fd, (struct iovec[]){{text, 4}, {text + 4, 50}}, 2, 0));
  printf("%s\n", text + 1);
  show("new");
  CHECK(fsync(fd));
  CHECK(fdatasync(fd));
  CHECK(flock(fd, LOCK_EX));
  CHECK(flock(fd, LOCK_UN));
  CHECK(flock(fd, 77));
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  CHECK(fcntl(fd, F_SETLK, &lock));
  CHECK(fcntl(fd, F_GETLK, &lock));
  CHECK(lock.l_type);
  CHECK(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND));
  CHECK(fcntl(fd, F_SETFL, O_APPEND));
  CHECK(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND));
  CHECK(lseek(fd, 0, SEEK_SET));
  CHECK(write(fd, "appended", 8));
  CHECK(lseek(fd, 0, SEEK_CUR));
  CHECK(fallocate(fd, 0, 0, 10000));
  CHECK(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 100000));
  CHECK(fallocate(fd, 0, -1, 1));
  CHECK(fallocate(fd, 0, 0, 0));
  show("new");
  close(fd);
  CHECK(write(fd, "x", 1));
  CHECK(ftruncate(fd, 0));
  fd = open("new", O_RDONLY);
  CHECK(write(fd, "x", 1));
  CHECK(ftruncate(fd, 0));
  CHECK(fallocate(fd, 0, 0, 1));
  close(fd);
  fd = open("new", O_WRONLY | O_TRUNC);
  show("new");
  CHECK(read(fd, text, 1));
  CHECK(write(fd, "12345", 5));
  close(fd);
  fd = open("new", O_WRONLY | O_APPEND);
  CHECK(lseek(fd, 0, SEEK_CUR));
  CHECK(write(fd, "678", 3));
  CHECK(pwrite(fd, "9", 1, 0));
  CHECK(lseek(fd, 0, SEEK_CUR));
  show("new");
  close(fd);
  umask(077);
  OPENS("masked", O_WRONLY | O_CREAT, 0777);
  show("masked");
  umask(022);
  OPENS("unreadable", O_RDWR | O_CREAT, 0);
  OPENS("unreadable", O_RDWR);
  OPENS("unreadable", O_RDONLY);
  OPENS("no/such", O_WRONLY | O_CREAT, 0666);
  OPENS("new/x", O_WRONLY | O_CREAT, 0666);
  OPENS("slash/", O_WRONLY | O_CREAT, 0666);
  OPENS(".", O_WRONLY | O_CREAT, 0666);
  OPENS(".", O_WRONLY);
  OPENS(".", O_RDONLY | O_TRUNC);
  const int folder = O_DIRECTORY, itself = O_NOFOLLOW;  // whose values differ by architecture
  OPENS("folder", O_RDONLY | O_CREAT | folder, 0777);
  OPENS("/new", O_WRONLY | O_CREAT, 0666);
  char longest[300];
  memset(longest, 'n', sizeof longest);
  longest[255] = 0;
  OPENS(longest, O_WRONLY | O_CREAT, 0666);
  CHECK(unlink(longest));
  longest[255] = 'n', longest[256] = 0;
  OPENS(longest, O_WRONLY | O_CREAT, 0666);
  CHECK(mkdir(longest, 0777));
  CHECK(unlink(longest));
  CHECK(rename("new", longest));
  CHECK(symlink("missing", "dangling"));
  OPENS("dangling", O_WRONLY | O_CREAT | O_EXCL, 0666);
  OPENS("dangling", O_WRONLY | O_CREAT | itself, 0666);
  OPENS("dangling", O_WRONLY | O_CREAT, 0666);
  show("missing");
  CHECK(unlink("missing"));
  CHECK(unlink("dangling"));
}

static void names(void) {
  CHECK(mkdir("d", 0755));
  CHECK(mkdir("d", 0755));
  CHECK(mkdir("d/e/", 01777));
  CHECK(mkdir("none/e", 0755));
  CHECK(mkdir("new/e", 0755));
  CHECK(mkdir(".", 0755));
  CHECK(mkdir("/", 0755));
  CHECK(mkdir("/here", 0755));
  CHECK(mkdir("", 0755));
  show("d");
  CHECK(mknod("node", S_IFREG | 0644, 0));
  CHECK(mknod("node", S_IFREG | 0644, 0));
  CHECK(mknod("directory", S_IFDIR | 0644, 0));
  CHECK(mknod("odd", S_IFLNK | 0644, 0));
  CHECK(symlink("d/e", "link"));
  CHECK(symlink("d/e", "link"));
  CHECK(symlink("", "link2"));
  CHECK(symlink("x", "none/link"));
  CHECK(symlink("x", "slash/"));
  show("link");
  CHECK(link("new", "d/hard"));
  CHECK(link("new", "d/hard"));
  CHECK(link("none", "d/other"));
  CHECK(link("d", "d/folder"));
  CHECK(link("link", "d/link"));
  CHECK(linkat(AT_FDCWD, "link", AT_FDCWD, "d/link2", AT_SYMLINK_FOLLOW));
  CHECK(linkat(AT_FDCWD, "new", AT_FDCWD, "d/new", 77));
  CHECK(link("new", "none/x"));
  CHECK(link("new", "slash/"));
  show("new");
  show("d/hard");
  show("d/link");
  CHECK(truncate("d/hard", 3));
  show("new");
  CHECK(unlink("d/link"));
  CHECK(unlink("none"));
  CHECK(unlink("d"));
  CHECK(unlink("new/"));
  CHECK(unlink("d/"));
  CHECK(unlink("none/x"));
  CHECK(unlink("new/x"));
  CHECK(unlink("."));
  CHECK(unlink("/"));
  CHECK(unlink(""));
  CHECK(unlinkat(AT_FDCWD, "new", 77));
  CHECK(rmdir("new"));
  CHECK(rmdir("none"));
  CHECK(rmdir("d"));
  CHECK(rmdir("d/."));
  CHECK(rmdir("d/.."));
  CHECK(rmdir("/"));
  CHECK(rmdir("link"));
  CHECK(rmdir("d/e/"));
  show("d");
  CHECK(rename("new", "renamed"));
  CHECK(rename("new", "renamed"));
  CHECK(rename("renamed", "renamed"));
  CHECK(rename("renamed", "d/hard"));
  show("renamed");
  CHECK(rename("renamed", "d"));
  CHECK(rename("d", "renamed"));
  CHECK(rename("d", "d/inner"));
  CHECK(mkdir("d/e", 0755));
  CHECK(rename("d/e", "d"));
  CHECK(rename("d", "d/e/x"));
  CHECK(mkdir("f", 0755));
  CHECK(rename("d", "f"));
  show_folder(".", 0);
  CHECK(mkdir("d", 0755));
  CHECK(rename("d", "f"));
  CHECK(rename("f", "d/sub"));
  CHECK(rename("d/sub", "f/"));
  CHECK(rename("renamed", "f/x/"));
  CHECK(rename("renamed/", "f/x"));
  CHECK(rename("renamed", "none/x"));
  CHECK(rename("renamed", "."));
  CHECK(rename(".", "x"));
  CHECK(rename("/", "x"));
  CHECK(rename("renamed", "f/.."));
  CHECK(rename("", "x"));
  CHECK(syscall(SYS_renameat2, AT_FDCWD, "renamed", AT_FDCWD, "f", 1));
  CHECK(syscall(SYS_renameat2, AT_FDCWD, "renamed", AT_FDCWD, "free", 1));
  CHECK(syscall(SYS_renameat2, AT_FDCWD, "free", AT_FDCWD, "renamed", 64));
  CHECK(syscall(SYS_renameat2, AT_FDCWD, "free", AT_FDCWD, "renamed", 3));
  CHECK(rename("free", "renamed"));
  CHECK(rename("link", "link3"));
  show_folder(".", 0);
}

static void attributes(void) {
  struct stat status;
  const struct timespec times[2] = {{1000000000, 123456789}, {1100000000, 987654321}};
  const struct timespec now_and_omit[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}}, bad[2] = {{0, -1}, {0, 0}};
  const struct timespec none[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
  CHECK(chmod("renamed", 0741));
  show("renamed");
  CHECK(chmod("none", 0600));
  CHECK(chmod("/", 0600));
  CHECK(chmod("f", 0700));
  show("f");
  CHECK(chown("renamed", -1, -1));
  CHECK(chown("renamed", 1000, 1000));
  CHECK(chown("renamed", 0, -1));
  CHECK(chown("renamed", -1, 0));
  CHECK(chown("/", 1000, -1));
  CHECK(chown("none", 1000, -1));
  CHECK(lchown("link3", 1000, 1000));
  CHECK(utimensat(AT_FDCWD, "renamed", times, 0));
  CHECK(stat("renamed", &status));
  CHECK(status.st_atim.tv_sec);
  CHECK(status.st_atim.tv_nsec);
  CHECK(status.st_mtim.tv_sec);
  CHECK(status.st_mtim.tv_nsec);
  CHECK(status.st_ctim.tv_sec != status.st_mtim.tv_sec);
  CHECK(utimensat(AT_FDCWD, "renamed", now_and_omit, 0));
  CHECK(stat("renamed", &status));
  CHECK(status.st_atim.tv_sec != 1000000000);
  CHECK(status.st_mtim.tv_sec);
  CHECK(utimensat(AT_FDCWD, "renamed", bad, 0));
  CHECK(utimensat(AT_FDCWD, "none", none, 0));
  CHECK(utimensat(AT_FDCWD, "none", times, 0));
  CHECK(utimensat(AT_FDCWD, "renamed", times, 77));
  CHECK(utimensat(AT_FDCWD, "/", times, 0));
  CHECK(utimensat(AT_FDCWD, "/", NULL, 0));
  CHECK(utimensat(AT_FDCWD, "link3", times, AT_SYMLINK_NOFOLLOW));
  CHECK(lstat("link3", &status));
  CHECK(status.st_mtim.tv_sec);
  int fd = open("renamed", O_RDONLY);
  CHECK(fchmod(fd, 0600));
  CHECK(fchown(fd, 1000, -1));
  CHECK(futimens(fd, times));
  CHECK(fchmod(99, 0600));
  close(fd);
  fd = open("renamed", O_PATH);
  CHECK(fchmod(fd, 0600));
  CHECK(ftruncate(fd, 0));
  close(fd);
  show("renamed");
  CHECK(access("renamed", W_OK));
  CHECK(access("renamed", X_OK));
  CHECK(access(".", W_OK));
  CHECK(access("/", W_OK));
  CHECK(chmod("renamed", 0));
  CHECK(access("renamed", R_OK));
  OPENS("renamed", O_RDONLY);
  OPENS("renamed", O_WRONLY | O_TRUNC);
  CHECK(truncate("renamed", 0));
  CHECK(chmod("renamed", 0644));
  CHECK(chmod("f", 0500));
  OPENS("f/x", O_WRONLY | O_CREAT, 0600);
  CHECK(unlink("f/hard"));
  CHECK(rename("f/hard", "hard"));
  CHECK(rename("renamed", "f/renamed"));
  CHECK(mkdir("f/x", 0777));
  CHECK(symlink("x", "f/x"));
  CHECK(link("renamed", "f/x"));
  CHECK(rmdir("f/e"));
  CHECK(chmod("f", 0600));
  CHECK(access("f/hard", F_OK));
  CHECK(unlink("f/hard"));
  CHECK(chmod("f", 0700));
  CHECK(chmod("renamed", 06755));
  fd = open("renamed", O_WRONLY);
  CHECK(write(fd, "x", 1));
  close(fd);
  show("renamed");
}

static void unlinked(void) {
  char text[20] = "";
  int fd = open("gone", O_RDWR | O_CREAT, 0600), other = open("gone", O_RDONLY);
  struct stat status;
  CHECK(write(fd, "still here", 10));
  CHECK(unlink("gone"));
  CHECK(fstat(fd, &status));
  CHECK(status.st_nlink);
  CHECK(status.st_size);
  CHECK(pread(other, text, 20, 0));
  printf("%s\n", text);
  CHECK(write(fd, "!", 1));
  CHECK(close(fd));
  CHECK(pread(other, text, 20, 0));
  CHECK(linkat(other, "", AT_FDCWD, "back", AT_EMPTY_PATH) < 0);
  CHECK(close(other));
  OPENS("gone", O_RDONLY);
  CHECK(mkdir("left", 0755));
  CHECK(chdir("left"));
  CHECK(rmdir("../left"));
  CHECK(getcwd(text, sizeof text) ? 0 : -1);
  OPENS("x", O_WRONLY | O_CREAT, 0600);
  CHECK(mkdir("x", 0700));
  OPENS(".", O_RDONLY);
  CHECK(stat(".", &status));
  CHECK(status.st_nlink);
  CHECK(chdir(".."));
  CHECK(access("left", F_OK));
  CHECK(mkdir("replaced", 0755));
  CHECK(mkdir("replacing", 0755));
  fd = open("replaced", O_RDONLY | O_DIRECTORY);
  CHECK(rename("replacing", "replaced"));
  CHECK(openat(fd, "x", O_WRONLY | O_CREAT, 0600));
  CHECK(syscall(SYS_getdents64, fd, text, 20));
  close(fd);
  CHECK(rmdir("replaced"));
  fd = open("a", O_RDWR | O_CREAT, 0600), other = open("b", O_RDWR | O_CREAT, 0600);
  CHECK(write(fd, "from a", 6));
  CHECK(write(other, "from b", 6));
  CHECK(rename("a", "b"));
  CHECK(pread(other, text, 6, 0));
  printf("%s\n", text);
  show("b");
  CHECK(fstat(other, &status));
  CHECK(status.st_nlink);
  close(fd);
  close(other);
  CHECK(unlink("b"));
}

static void copies(void) {
  int from = open("given/large", O_RDONLY), to = open("copied", O_RDWR | O_CREAT, 0600);
  off_t at = 6100, end = 10;
  CHECK(copy_file_range(from, NULL, to, NULL, 5000, 0));
  CHECK(lseek(from, 0, SEEK_CUR));
  CHECK(lseek(to, 0, SEEK_CUR));
  CHECK(copy_file_range(from, &at, to, &end, 100000, 0));
  CHECK(at);
  CHECK(end);
  show("copied");
  CHECK(copy_file_range(to, NULL, to, NULL, 100, 0));
  at = 0, end = 9000;
  CHECK(copy_file_range(to, &at, to, &end, 7000, 0));
  show("copied");
  at = 100, end = 150;
  CHECK(copy_file_range(to, &at, to, &end, 100, 0));
  CHECK(copy_file_range(from, NULL, to, NULL, 1, 1));
  CHECK(copy_file_range(to, NULL, from, NULL, 1, 0));
  CHECK(copy_file_range(99, NULL, to, NULL, 1, 0));
  at = 1000000;
  CHECK(copy_file_range(from, &at, to, NULL, 1, 0));
  int folder = open(".", O_RDONLY);
  CHECK(copy_file_range(folder, NULL, to, NULL, 1, 0));
  close(folder);
  close(from);
  close(to);
}

static void given(void) {  // what writes_test.py has put there
  char text[100] = "";
  show_folder("given", 0);
  int fd = open("given/large", O_RDWR);
  CHECK(pwrite(fd, "changed", 7, 5000));
  CHECK(pread(fd, text, 20, 4990));
  printf("%.20s\n", text);
  CHECK(lseek(fd, 0, SEEK_END));
  CHECK(write(fd, "more", 4));
  close(fd);
  show("given/large");
  CHECK(truncate("given/large", 6000));
  CHECK(truncate("given/large", 12000));
  show("given/large");
  CHECK(rename("given/sub", "moved"));
  show_folder("moved", 0);
  CHECK(getcwd(text, sizeof text) ? 0 : -1);
  CHECK(chdir("moved/inner"));
  CHECK(getcwd(text, sizeof text) ? (long)strlen(text) : -1);
  CHECK(chdir("../.."));
  CHECK(access("given", F_OK));
  CHECK(link("given/one", "given/two"));
  CHECK(unlink("given/one"));
  show("given/two");
  show("given/pair1");
  CHECK(unlink("given/pair1"));
  show("given/pair2");
  fd = open("given/two", O_WRONLY);
  CHECK(unlink("given/two"));
  CHECK(write(fd, "x", 1));
  close(fd);
  fd = open("given/pair2", O_RDONLY);
  void* mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  CHECK(mapped == MAP_FAILED);
  CHECK(((char*)mapped)[0]);
  ((char*)mapped)[0] = 'Z';
  show("given/pair2");
  close(fd);
  fd = open("given/large", O_RDONLY);
  char* half = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 4096);
  CHECK(half[904]);
  CHECK(half[8191 - 300]);
  CHECK(half[1]);
  close(fd);
  copies();
  CHECK(rmdir("given"));
  CHECK(unlink("given/link"));
  DIR* folder = opendir("given");
  int count = 0;
  // Names that were read are removed while the listing goes on.
  for (struct dirent* entry; (entry = readdir(folder));) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "given/%s", entry->d_name);
    if (unlink(path) == 0) count++;
  }
  closedir(folder);
  CHECK(count);
  show_folder("given", 0);
  show_folder("moved", 0);
}

static void many(void) {
  CHECK(mkdir("many", 0755));
  CHECK(chdir("many"));
  int failed = 0, count = 0;
  for (int i = 0; i < 400; i++) {
    char name[250];
    snprintf(name, sizeof name, "%d%.*s", i, i % 200, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnop"
             "qrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvw"
             "xyzabcdefghijklmnopqrstuvwxyz");
    failed += opens(open(name, O_WRONLY | O_CREAT | O_EXCL, 0600)) != 0;
    if (i % 3 == 0) failed += unlink(name) != 0;
  }
  CHECK(failed);
  for (int rest = 0; rest < 3; rest++) {
    DIR* folder = opendir(".");
    for (struct dirent* entry; (entry = readdir(folder));) {
      if (entry->d_name[0] == '.') continue;
      count++;
      if (strlen(entry->d_name) % 3 == (unsigned)rest) failed += unlink(entry->d_name) != 0;
    }
    closedir(folder);
  }
  CHECK(count);
  CHECK(failed);
  CHECK(chdir(".."));
  int depth = 0, fd = open("sparse", O_RDWR | O_CREAT, 0600);
  CHECK(ftruncate(fd, 1L << 40));
  CHECK(pwrite(fd, "x", 1, 1L << 39));
  CHECK(lseek(fd, 0, SEEK_DATA));
  CHECK(lseek(fd, (1L << 39) + 1, SEEK_HOLE));
  CHECK(ftruncate(fd, LONG_MAX));
  CHECK(pwrite(fd, "x", 1, LONG_MAX));
  CHECK(ftruncate(fd, 0));
  CHECK(close(fd));
  CHECK(unlink("sparse"));
  for (; depth < 100 && mkdir("deep", 0755) == 0 && chdir("deep") == 0; depth++) {}
  char text[PATH_MAX];
  CHECK(depth);
  CHECK(getcwd(text, sizeof text) ? (long)strlen(text) : -1);
  CHECK(getcwd(text, 20) ? 0 : -1);
  for (; depth > 0 && chdir("..") == 0 && rmdir("deep") == 0; depth--) {}
  CHECK(depth);
  CHECK(getxattr("new", "user.x", text, 1) < 0);
  fd = memfd_create("m", 0);
  CHECK(fd >= 0);
  CHECK(write(fd, "in memory", 9));
  CHECK(pread(fd, text, 9, 0));
  CHECK(ftruncate(fd, 4));
  CHECK(lseek(fd, 0, SEEK_END));
  CHECK(close(fd));
  CHECK(memfd_create("m", 0x8000));
}

// ---- random calls

static unsigned long state;
static unsigned next_random(unsigned below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 20) % below;
}
static const char* random_path(void) {
  static const char* const paths[] = {"p",   "q",     "r",     "s",     "p/a",   "p/b",     "p/q",   "q/a", "q/b/c", "r/a/../b",
                                      "p/.", "q/..",  "given", "given/one", "given/sub/x", "given/sub", "given/large",
                                      "l1",  "l1/a",  "l2",    "l2/b",  "p/l",   "given/link", "p/a/b/c", "q/"};
  return paths[next_random(sizeof paths / sizeof *paths)];
}
static void random_calls(long count) {
  int files[6] = {-1, -1, -1, -1, -1, -1};
  for (long i = 0; i < count; i++) {
    const char *path = random_path(), *other = random_path();
    int* file = &files[next_random(6)];
    static unsigned char bytes[20000];
    struct stat status;
    const unsigned size = next_random(4) == 0 ? next_random(20000) : next_random(50), at = next_random(3) ? next_random(200) : next_random(40000);
    long result = 0;
    const unsigned what = next_random(20);
    errno = 0;
    switch (what) {
      case 0:
      case 1:
      case 2: {
        static const int flags[] = {O_RDONLY, O_RDWR | O_CREAT, O_WRONLY | O_CREAT | O_TRUNC, O_RDWR, O_WRONLY | O_APPEND | O_CREAT,
                                    O_RDWR | O_CREAT | O_EXCL, O_RDONLY | O_DIRECTORY, O_PATH, O_RDWR | O_NOFOLLOW};
        if (*file >= 0) close(*file);
        const int how = flags[next_random(9)];
        const unsigned mode = 0600 | next_random(0200);
        *file = open(path, how, mode);
        result = *file >= 0 ? 0 : -1;
        break;
      }
      case 3:
      case 4: memset(bytes, (int)i, size); result = *file < 0 ? 0 : write(*file, bytes, size); break;
      case 5: memset(bytes, (int)i, size); result = *file < 0 ? 0 : pwrite(*file, bytes, size, at); break;
      case 6: result = *file < 0 ? 0 : pread(*file, bytes, size, at); result = result > 0 ? (long)sum_of(bytes, (size_t)result, 1) : result; break;
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
      case 17: result = *file < 0 ? 0 : fstat(*file, &status); if (*file >= 0 && result == 0) result = (long)(S_ISDIR(status.st_mode) ? 0 : status.st_size) * 10 + (long)status.st_nlink; break;
      case 18: if (*file >= 0) { result = close(*file); *file = -1; } break;
      case 19: result = lstat(path, &status); if (result == 0) result = status.st_mode; break;
    }
    printf("%ld %u %s %s: %ld %s\n", i, what, path, other, result, result < 0 ? strerrorname_np(errno) : "");
    if (i % 100 == 99) show_folder(".", 0);
  }
}

int main(int argc, char** argv) {
  umask(022);
  if (argc > 2) {
    state = strtoul(argv[1], NULL, 0) * 0x9e3779b97f4a7c15 | 1;
    random_calls(atol(argv[2]));
    return 0;
  }
  make_and_write();
  names();
  attributes();
  unlinked();
  given();
  many();
  show_folder(".", 0);
  return 0;
}
