// SPDX-License-Identifier: Apache-2.0
// A guest of files_test.py: what it keeps, and what it tries to reach or to use up. An attempt that succeeds prints its name.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void put(const char* path, int flags, const char* text) {
  const int fd = open(path, O_WRONLY | O_CREAT | flags, 0640);
  if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) printf("%s: cannot be written\n", path);
  close(fd);
}

static int keep(void) {
  char line[100];
  if (!fgets(line, sizeof line, stdin)) return 1;
  put("/own/text", O_APPEND, line);
  put("/tmp/own", O_EXCL, line);
  return access("/tmp/other", F_OK) == 0;
}

static int tries;
static void refused(const char* what, int is_refused) {
  tries++;
  printf("%s %s: %d\n", is_refused ? "refused" : "SUCCEEDED", what, is_refused ? errno : 0);
}
#define REFUSED(call) (errno = 0, refused(#call, (call) < 0))
#define NOT(what) refused(#what, !(what))

static void paths(void) {
  NOT(open("/../../../../../../../etc/hostname", O_RDONLY) >= 0);
  NOT(open("../../../../../../../etc/passwd", O_RDONLY) >= 0);
  NOT(open("way-out/passwd", O_RDONLY) >= 0);
  NOT(open("/proc/self/root", O_RDONLY) >= 0);
  NOT(open("/proc/self/cwd/..", O_RDONLY) >= 0);
  NOT(open("/proc/self/fd/0", O_RDWR) >= 0);
  NOT(open("/proc/self/fd/1", O_RDONLY) >= 0);
  NOT(open("/proc/self/fd/0/../..", O_RDONLY) >= 0);
  NOT(open("/proc/self/fd/900", O_RDONLY) >= 0);
  NOT(open("/proc/1/root", O_RDONLY) >= 0);
  NOT(open("/dev/mem", O_RDONLY) >= 0);
  NOT(open("/dev/sda", O_RDONLY) >= 0);
  NOT(open("/dev/stdout", O_RDWR) >= 0);
  NOT(open("/dev/stdin", O_WRONLY) >= 0);
  REFUSED(symlink("/etc", "/proc/self/exe"));
  REFUSED(unlink("/proc/self/exe"));
  REFUSED(rename("/dev", "/tmp/dev"));
  REFUSED(unlink("/dev/null"));
  REFUSED(mkdir("/dev/new", 0777));
  REFUSED(rename("/own", "/elsewhere"));
  REFUSED(rmdir("/tmp"));
  REFUSED(unlink("/guest"));
  REFUSED(rename("/guest", "/tmp/guest"));
  REFUSED(link("/guest", "/tmp/guest"));
  REFUSED(chmod("/guest", 0777));
  REFUSED(chmod("/", 0777));
  REFUSED(chmod("/tmp", 0777));
  REFUSED(chown("text", 0, 0));
  REFUSED(truncate("/guest", 0));
  REFUSED(open("/guest", O_RDWR));
  REFUSED(open("/new", O_CREAT | O_WRONLY, 0666));
  REFUSED(mknod("/tmp/device", S_IFCHR | 0666, 0x103));
  REFUSED(mknod("/tmp/disk", S_IFBLK | 0666, 0x800));
  REFUSED(mknod("/tmp/socket", S_IFSOCK | 0666, 0));
  REFUSED(chroot("/tmp"));
  REFUSED(syscall(SYS_mount, "/", "/tmp", "none", 4096, 0));
  REFUSED(syscall(SYS_open_by_handle_at, AT_FDCWD, "", O_RDONLY));
  REFUSED(symlink("x", "/tmp/a/b"));
  symlink("/tmp/loop2", "/tmp/loop1");
  symlink("/tmp/loop1", "/tmp/loop2");
  REFUSED(open("/tmp/loop1/x", O_CREAT | O_WRONLY, 0666));
  symlink("../../../../../../../..", "/tmp/up");
  NOT(open("/tmp/up/etc/hostname", O_RDONLY) >= 0);
  struct stat root, up;
  stat("/", &root);
  stat("/tmp/up", &up);
  NOT(root.st_ino != up.st_ino);
  // A folder that a lookup has come through is moved away, and ".." used.
  mkdir("/tmp/from", 0777), mkdir("/tmp/from/in", 0777), mkdir("/tmp/to", 0777);
  const int in = open("/tmp/from/in", O_RDONLY | O_DIRECTORY);
  rename("/tmp/from", "/tmp/to/from");
  NOT(openat(in, "../../../../etc", O_RDONLY) >= 0);
  rmdir("/tmp/to/from/in"), rmdir("/tmp/to/from"), rmdir("/tmp/to");
  NOT(openat(in, "../x", O_CREAT | O_WRONLY, 0666) >= 0);
  NOT(openat(in, "..", O_RDONLY) < 0 && errno != ENOENT);
  close(in);
}

static void wild_pointers(void) {
  const int fd = open("/tmp/wild", O_RDWR | O_CREAT, 0600);
  void* const bad[] = {NULL, (void*)1, (void*)-1, (void*)-4096, (void*)0x7fffffffffff};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct iovec part = {bad[i], (size_t)-1 >> 1};
    NOT(syscall(SYS_read, fd, bad[i], -1L) > 0);
    NOT(open(bad[i], O_CREAT | O_RDWR, 0666) >= 0);
    NOT(pwritev(fd, &part, 1, 0) > 100 * 1024 * 1024);
    NOT(syscall(SYS_getdents64, fd, bad[i], -1) >= 0);
    NOT(syscall(SYS_renameat2, AT_FDCWD, bad[i], AT_FDCWD, bad[i], 0) >= 0);
    NOT(syscall(SYS_utimensat, AT_FDCWD, bad[i], bad[i], 0) >= 0);
  }
  NOT(read(fd, (void*)paths, 10) > 0);
  NOT(pwrite(fd, "x", 1, -1) >= 0);
  NOT(lseek(fd, 0x7fffffffffffffff, SEEK_SET) >= 0 && write(fd, "xx", 2) > 0);
  NOT(ftruncate(fd, -1) == 0);
  NOT(fallocate(fd, 0, 0, 1L << 50) == 0);
  NOT(mmap(NULL, 1L << 40, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED);
  NOT(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 1L << 62) != MAP_FAILED);
  NOT(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0) != MAP_FAILED);
  close(fd);
  unlink("/tmp/wild");
}

static void floods(void) {
  static char block[65536];
  char name[300];
  long count = 0, made = 0;
  int fd = open("/tmp/flood", O_WRONLY | O_CREAT, 0600);
  for (; write(fd, block, sizeof block) > 0; count++) {
  }
  NOT(errno != ENOSPC || count > 32);
  close(fd), unlink("/tmp/flood");
  for (; sprintf(name, "/tmp/%ld", made), (fd = open(name, O_WRONLY | O_CREAT, 0600)) >= 0 && made < 100000; made++)
    close(fd);
  NOT(errno != ENOSPC || made < 1000 || made > 20000);
  for (long i = 0; i < made; i++) sprintf(name, "/tmp/%ld", i), unlink(name);
  mkdir("/tmp/d", 0777), chdir("/tmp/d");
  for (count = 0; mkdir("d", 0777) == 0 && chdir("d") == 0 && count < 100000; count++) {
  }
  NOT(errno != ENOSPC);
  static char path[1 << 16];
  NOT(count > 2100 && getcwd(path, sizeof path) != NULL);
  for (; count > 0 && chdir("..") == 0; count--) rmdir("d");
  chdir("/own");
  NOT(rmdir("/tmp/d") != 0);
  for (count = 0; count < 2000 && open("/tmp/same", O_RDWR | O_CREAT, 0600) >= 0; count++) {
  }
  NOT(errno != EMFILE || count > 1024);
  for (fd = 3; fd < 1024; fd++) close(fd);
  unlink("/tmp/same");
  fd = open("/tmp/sparse", O_RDWR | O_CREAT, 0600);
  for (count = 0; pwrite(fd, "x", 1, count << 40) == 1 && count < 1 << 20; count++) {
  }
  NOT(errno != ENOSPC);
  NOT(ftruncate(fd, 0x7fffffffffffffff) != 0 || ftruncate(fd, 0) != 0);
  close(fd), unlink("/tmp/sparse");
  // After all of this the lane has the room that it had.
  fd = open("/tmp/flood", O_WRONLY | O_CREAT, 0600);
  for (count = 0; write(fd, block, sizeof block) > 0; count++) {
  }
  NOT(count < 24);
  close(fd), unlink("/tmp/flood");
}

static int look(void) {
  char text[100];
  DIR* folder = opendir("/own");
  printf("%s", fgets(text, sizeof text, fopen("text", "r")));
  printf("and nothing else:");
  for (struct dirent* entry; (entry = readdir(folder));) printf(" %s", entry->d_name);
  printf("\n");
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "keep") == 0) return keep();
  if (strcmp(what, "fault") == 0) {
    put("/tmp/last", 0, "words");
    *(volatile int*)16 = 1;
  }
  if (strcmp(what, "fifo") == 0) return mkfifo("/tmp/fifo", 0620) != 0 || chmod("/tmp/fifo", 0620) != 0;
  if (strcmp(what, "giant") == 0) {
    put("/tmp/small", 0, "small");
    return truncate("/tmp/small", 5) | close(open("/tmp/giant", O_CREAT | O_WRONLY, 0600)) |
           truncate("/tmp/giant", 1L << 60);
  }
  if (strcmp(getenv("MYRIARM_LANE"), "0") != 0) return look();
  paths();
  wild_pointers();
  floods();
  printf("done\n");
  return 0;
}
