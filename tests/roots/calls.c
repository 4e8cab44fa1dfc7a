// SPDX-License-Identifier: Apache-2.0
// Numbered checks of calls on paths and descriptors on a read-only file system, each printed with its result: the same
// program runs natively on the host's Linux. Its root has what calls_test.py puts there.
#include "checks.h"

static void paths(void) {
  static const char* const names[] = {
      "/",        "/a",        "/a/",    "/a/.",    "/a/..",     "/../a",      "/a/f",    "/a/f/",
      "/a/f/.",   "/a/f/..",   "//a//f", "/l",      "/l/",       "/la",        "/la/",    "/la/f",
      "/la/../l", "/loop",     "/loop/", "/loop/x", "/dangling", "/dangling/", "/up",     "/locked",
      "/locked/", "/locked/x", "/none",  "/none/",  "/none/x",   "/a/new",     "/a/new/", "/a/hidden",
      "",         "a/f",       "./a/f",  "../a/f",  "/self/a/f", "/empty",     "/tool",   "/a/b/c/../../f",
      "/chain1",  "/chain0"};
  static const int flags[] = {O_RDONLY,
                              O_WRONLY,
                              O_RDWR,
                              O_RDONLY | O_CREAT,
                              O_WRONLY | O_CREAT,
                              O_RDONLY | O_TRUNC,
                              O_WRONLY | O_CREAT | O_EXCL,
                              O_RDONLY | O_NOFOLLOW,
                              O_RDONLY | O_DIRECTORY,
                              O_PATH,
                              O_PATH | O_NOFOLLOW,
                              O_PATH | O_DIRECTORY,
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
                              O_WRONLY | O_APPEND};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct stat status;
    char text[PATH_MAX];
    printf("path %s\n", names[i]);
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) OPENS(names[i], flags[k], 0644);
    CHECK(stat(names[i], &status));
    if (errno == 0) printf("%o\n", status.st_mode);
    CHECK(lstat(names[i], &status));
    if (errno == 0) printf("%o %ld\n", status.st_mode, S_ISREG(status.st_mode) ? (long)status.st_size : 0L);
    CHECK(access(names[i], F_OK));
    CHECK(access(names[i], R_OK));
    CHECK(access(names[i], W_OK));
    CHECK(access(names[i], X_OK));
    CHECK(readlink(names[i], text, sizeof text));
    CHECK(chdir(names[i]));
    CHECK(getcwd(text, sizeof text) ? (long)strlen(text) : -1);
    CHECK(chdir("/"));
    CHECK(mkdir(names[i], 0755));
    CHECK(mknod(names[i], S_IFREG | 0644, 0));
    CHECK(symlink("target", names[i]));
    CHECK(link("/a/f", names[i]));
    CHECK(chmod(names[i], 0600));
    CHECK(chown(names[i], 1000, 1000));
    CHECK(truncate(names[i], 0));
    CHECK(utimensat(AT_FDCWD, names[i], NULL, 0));
  }
}

static void descriptors(void) {
  char text[100];
  struct iovec parts[2] = {{text, 3}, {text + 3, 4}};
  int file = open("/a/f", O_RDONLY), folder = open("/a", O_RDONLY | O_DIRECTORY), path = open("/a/f", O_PATH);
  CHECK(read(file, text, 4));
  CHECK(lseek(file, 0, SEEK_CUR));
  CHECK(lseek(file, -1, SEEK_SET));
  CHECK(lseek(file, -2, SEEK_END));
  CHECK(read(file, text, 100));
  CHECK(read(file, text, 100));
  CHECK(lseek(file, 0, 99));
  CHECK(lseek(file, 3, SEEK_DATA));
  CHECK(lseek(file, 3, SEEK_HOLE));
  CHECK(lseek(file, 100, SEEK_DATA));
  CHECK(lseek(file, 0, SEEK_SET));
  CHECK(readv(file, parts, 2));
  CHECK(pread(file, text, 5, 8));
  CHECK(pread(file, text, 5, -1));
  CHECK(write(file, text, 1));
  CHECK(read(file, NULL, 5));
  CHECK(ftruncate(file, 0));
  CHECK(fchmod(file, 0600));
  CHECK(fsync(file));
  CHECK(posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL));
  CHECK(read(folder, text, 1));
  CHECK(pread(folder, text, 1, 0));
  CHECK(write(folder, text, 1));
  CHECK(openat(folder, "f", O_RDONLY) >= 0);
  CHECK(openat(folder, "../a/f", O_RDONLY) >= 0);
  CHECK(openat(file, "f", O_RDONLY));
  CHECK(openat(99, "f", O_RDONLY));
  CHECK(openat(99, "/a/f", O_RDONLY) >= 0);
  CHECK(fchdir(folder));
  CHECK(access("f", R_OK));
  CHECK(fchdir(file));
  CHECK(fchdir(99));
  CHECK(chdir("/"));
  CHECK(read(path, text, 1));
  CHECK(lseek(path, 0, SEEK_SET));
  CHECK(fchmod(path, 0600));
  CHECK(ftruncate(path, 0));
  CHECK(fsync(path));
  CHECK(fstat(path, &(struct stat){0}));
  CHECK(syscall(SYS_getdents64, file, text, 100));
  CHECK(syscall(SYS_getdents64, folder, text, 10));
  CHECK(syscall(SYS_getdents64, 99, text, 100));
  CHECK(syscall(SYS_getdents64, path, text, 100));
  CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED ? -1 : 0);
  CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED ? -1 : 0);
  CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, folder, 0) == MAP_FAILED ? -1 : 0);
  CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, path, 0) == MAP_FAILED ? -1 : 0);
  CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 1) == MAP_FAILED ? -1 : 0);
  CHECK(unlink("/a/f"));
  CHECK(unlink("/none/f"));
  CHECK(rename("/a/f", "/a/g"));
  CHECK(rename("/a/f", "/none/g"));
  CHECK(rename("/none/f", "/a/g"));
  CHECK(fcntl(path, F_GETFL) & ~O_CLOEXEC);
  CHECK(fcntl(folder, F_GETFL) & O_ACCMODE);
  CHECK(close(path));
  CHECK(close(path));
}

static void folders(void) {
  DIR* folder = opendir("/a");
  char names[500] = "";
  long links = 0;
  for (const struct dirent* entry; folder && (entry = readdir(folder));) {
    if (entry->d_name[0] != '.') links += entry->d_type == DT_LNK;
    if (strcmp(entry->d_name, "f") == 0) {
      struct stat status;
      CHECK(stat("/a/f", &status) == 0 && status.st_ino == entry->d_ino);
    }
  }
  CHECK(links);
  rewinddir(folder);
  CHECK(readdir(folder) != NULL);
  closedir(folder);
  char* real = realpath("/la/b/../../up", NULL);
  printf("%s %s\n", real ? real : "none", names);
}

int main(void) {
  paths();
  descriptors();
  folders();
  return 0;
}
