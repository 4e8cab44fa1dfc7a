// SPDX-License-Identifier: Apache-2.0
// Numbered checks of /proc/self/fd, /dev/fd and /dev/stdin, and of links to descriptors, each effect and each error,
// printed with their results: moves_test.py runs the program natively on the host's Linux and here.
#include "checks.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#define SHOW(value) CHECK(value)
static char got[1 << 16];

static char* path_of(const char* folder, int fd) {
  static char paths[4][100];
  static int next;
  char* path = paths[next++ % 4];
  snprintf(path, 100, "%s/%d", folder, fd);
  return path;
}
static char* link_to(int fd) { return path_of("/proc/self/fd", fd); }
/// Where the link of a descriptor leads; the number of a pipe or socket is N if it is that of fstat().
static void show_link(int fd) {
  char target[PATH_MAX + 1] = "", expected[100];
  struct stat status, link;
  const ssize_t size = readlink(link_to(fd), target, PATH_MAX);
  if (size < 0) {
    printf("  %d: %s\n", fd, strerrorname_np(errno));
    return;
  }
  fstat(fd, &status);
  lstat(link_to(fd), &link);
  snprintf(expected, sizeof expected, "[%lu]", (unsigned long)status.st_ino);
  char* number = strstr(target, expected);
  if (number != NULL) strcpy(number, "[N]");
  printf("  %d -> %s %o\n", fd, target, link.st_mode);
}
/// The names in a folder of descriptors, in order.
static void list(const char* path) {
  DIR* folder = opendir(path);
  printf("  %s:", path);
  for (struct dirent* entry; folder && (entry = readdir(folder));)
    printf(" %s%s", entry->d_name, entry->d_type == DT_LNK ? "@" : entry->d_type == DT_DIR ? "/" : "?");
  printf("\n");
  if (folder) closedir(folder);
}

static void names(void) {
  char text[100];
  struct stat status;
  list("/proc/self/fd");
  const int one = open("given/one", O_RDONLY), copy = dup2(one, 20), far = dup2(one, 1000);
  list("/proc/self/fd");
  show_link(one);
  show_link(20);
  show_link(21);
  close(1000);
  CHECK(readlink("/proc/self/fd/20", text, 5));
  CHECK(memcmp(text, "/own/", 5));
  CHECK(readlink("/proc/self/fd/20", text, 0));
  CHECK(readlink("/proc/self/fd/21", text, 100));
  CHECK(readlink("/proc/self/fd/", text, 100));
  CHECK(readlink("/proc/self/fd/020", text, 100));
  CHECK(readlink("/proc/self/fd/x", text, 100));
  CHECK(readlink("/proc/self/fd/20x", text, 100));
  CHECK(readlink("/proc/self/fd/-1", text, 100));
  CHECK(readlink("/proc/self/fd/+20", text, 100));
  CHECK(readlink("/proc/self/fd/4294967316", text, 100));
  CHECK(readlink("/proc/self/fd/99999999999999999999", text, 100));
  CHECK(readlink("/proc/self/fd/20/", text, 100));
  CHECK(readlink("/proc/self/fd/20/x", text, 100));
  CHECK(readlink("/proc/self/fd/../fd/./20", text, 100));
  CHECK(lstat("/proc/self/fd/20", &status));
  printf("  %o %ld %d\n", status.st_mode, (long)status.st_size, S_ISLNK(status.st_mode));
  CHECK(stat("/proc/self/fd/20", &status));
  printf("  %o %ld\n", status.st_mode, (long)status.st_size);
  CHECK(lstat("/proc/self/fd/21", &status));
  CHECK(stat("/proc/self/fd/21", &status));
  CHECK(stat("/proc/self/fd", &status));
  SHOW(S_ISDIR(status.st_mode));
  SHOW(status.st_mode & 0500);
  CHECK(access("/proc/self/fd", R_OK | X_OK));
  CHECK(access("/proc/self/fd/20", R_OK));
  CHECK(access("/proc/self/fd/20", X_OK));
  CHECK(access("/proc/self/fd/21", F_OK));
  CHECK(unlink("/proc/self/fd/21") < 0);
  CHECK(symlink("x", "/proc/self/fd/500") < 0);
  CHECK(mkdir("/proc/self/fd/500", 0700) < 0);
  CHECK(open("/proc/self/fd/500", O_CREAT | O_RDWR, 0600) < 0);
  OPENS("/proc/self/fd/20", O_CREAT | O_RDONLY, 0600);
  OPENS("/proc/self/fd/20", O_CREAT | O_EXCL | O_RDONLY, 0600);
  OPENS("/proc/self/fd/20", O_RDONLY | O_NOFOLLOW);
  OPENS("/proc/self/fd/20", O_PATH | O_NOFOLLOW);
  OPENS("/proc/self/fd/20", O_RDONLY | O_DIRECTORY);
  OPENS("/proc/self/fd", O_RDONLY | O_DIRECTORY);
  OPENS("/proc/self/fd", O_RDWR);
  OPENS("/proc/self/fd/21", O_RDONLY);
  CHECK(chdir("/proc/self/fd"));
  SHOW(getcwd(got, sizeof got) != NULL);
  SHOW(readlink("20", text, 100));
  CHECK(chdir("20"));
  CHECK(chdir("/own"));
  const int folder = open("given/sub", O_RDONLY);
  CHECK(chdir(link_to(folder)));
  puts(getcwd(text, sizeof text));
  CHECK(chdir("/own"));
  snprintf(text, sizeof text, "%s/x", link_to(folder));
  OPENS(text, O_RDONLY);
  snprintf(text, sizeof text, "%s/../one", link_to(folder));
  OPENS(text, O_RDONLY);
  snprintf(text, sizeof text, "%s/none", link_to(folder));
  OPENS(text, O_RDONLY);
  snprintf(text, sizeof text, "%s/x", link_to(20));
  OPENS(text, O_RDONLY);
  show_link(folder);
  CHECK(symlink("/proc/self/fd/20", "to20"));
  OPENS("to20", O_RDONLY);
  CHECK(stat("to20", &status));
  SHOW(status.st_size);
  CHECK(unlink("to20"));
  // Links that lead to each other, or to themselves.
  const int link = open("/proc/self/fd/20", O_PATH | O_NOFOLLOW);
  OPENS(link_to(link), O_RDONLY);
  CHECK(dup2(link, 20));
  OPENS(link_to(20), O_RDONLY);
  OPENS(link_to(20), O_PATH);
  CHECK(chdir(link_to(20)));
  CHECK(execl(link_to(20), "x", NULL));
  CHECK(stat(link_to(20), &status));
  SHOW(S_ISLNK(status.st_mode));
  CHECK(fstat(20, &status));
  SHOW(S_ISLNK(status.st_mode));
  CHECK(readlink(link_to(20), text, 100) > 0);
  const int second = open("/proc/self/fd/20", O_PATH | O_NOFOLLOW);
  CHECK(dup2(second, 20));
  CHECK(stat(link_to(20), &status));
  CHECK(close(second) | close(link));
  CHECK(close(one) | close(copy) | close(folder));
  // Another number of the process.
  snprintf(text, sizeof text, "/proc/%d/fd", getpid());
  DIR* folder_by_number = opendir(text);
  SHOW(folder_by_number != NULL);
  closedir(folder_by_number);
  CHECK(readlink("/proc/self", text, 100) > 0);
  snprintf(got, sizeof got, "%d", getpid());
  SHOW(strncmp(got, text, strlen(got)));
}

static void kinds(void) {
  int p[2], pair[2];
  sigset_t set;
  sigemptyset(&set);
  pipe(p);
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  const int fds[] = {p[0],
                     p[1],
                     pair[0],
                     eventfd(0, 0),
                     timerfd_create(CLOCK_MONOTONIC, 0),
                     signalfd(-1, &set, 0),
                     epoll_create1(0),
                     open("/dev/null", O_RDWR),
                     open("/own", O_RDONLY),
                     open("given/one", O_PATH),
                     open("given/link", O_PATH | O_NOFOLLOW),
                     open("new file", O_RDWR | O_CREAT | O_APPEND, 0600)};
  for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++) {
    struct stat status, same;
    show_link(fds[i]);
    CHECK(stat(link_to(fds[i]), &status));
    CHECK(fstat(fds[i], &same));
    SHOW(status.st_ino == same.st_ino && status.st_mode == same.st_mode);
    CHECK(access(link_to(fds[i]), R_OK));
    if (fds[i] != p[0] && fds[i] != p[1]) OPENS(link_to(fds[i]), O_RDONLY);
    if (i > 6) OPENS(link_to(fds[i]), O_PATH);
    OPENS(link_to(fds[i]), O_RDONLY | O_DIRECTORY);
    OPENS(link_to(fds[i]), O_RDONLY | O_NOFOLLOW);
    CHECK(chdir(link_to(fds[i])));
    CHECK(chdir("/own"));
    CHECK(truncate(link_to(fds[i]), 0));
  }
  for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++) CHECK(close(fds[i]));
  close(pair[1]);
  CHECK(unlink("new file"));
}

static void files(void) {
  int fd = open("data", O_RDWR | O_CREAT, 0600);
  write(fd, "0123456789", 10);
  int again = open(link_to(fd), O_RDWR);
  CHECK(read(again, got, 4));  // a position of its own
  CHECK(lseek(fd, 0, SEEK_CUR));
  CHECK(write(again, "xy", 2));
  CHECK(pread(fd, got, 10, 0));
  CHECK(memcmp(got, "0123xy6789", 10));
  CHECK(fcntl(again, F_GETFL) & O_ACCMODE);
  CHECK(close(again));
  again = open(link_to(fd), O_WRONLY | O_TRUNC | O_APPEND);
  CHECK(read(again, got, 1));
  CHECK(write(again, "abc", 3));
  CHECK(lseek(fd, 0, SEEK_END));
  CHECK(close(again));
  CHECK(chmod(link_to(fd), 0400));
  show("data");
  OPENS(link_to(fd), O_RDWR);
  OPENS(link_to(fd), O_RDONLY);
  const int path = open("data", O_PATH);
  again = open(link_to(path), O_RDONLY);
  CHECK(read(again, got, 3));
  CHECK(close(again));
  CHECK(rename("data", "other"));
  show_link(fd);
  CHECK(rename("other", "given/sub/another"));
  show_link(fd);
  CHECK(unlink("given/sub/another"));
  CHECK(readlink(link_to(fd), got, 1000) > 0);
  again = open(link_to(fd), O_RDONLY);
  CHECK(read(again, got, 3));
  CHECK(close(again));
  struct stat status;
  CHECK(stat(link_to(fd), &status));
  SHOW(status.st_nlink);
  CHECK(close(fd));
  OPENS(link_to(fd), O_RDONLY);
  CHECK(stat(link_to(path), &status));
  CHECK(close(path));
  // A folder that is gone.
  CHECK(mkdir("gone", 0700));
  fd = open("gone", O_RDONLY);
  CHECK(rmdir("gone"));
  CHECK(readlink(link_to(fd), got, 1000) > 0);
  CHECK(close(fd));
  // A new name for what is open.
  fd = open("one name", O_RDWR | O_CREAT, 0600);
  CHECK(linkat(AT_FDCWD, link_to(fd), AT_FDCWD, "two names", AT_SYMLINK_FOLLOW));
  show("two names");
  CHECK(unlink("two names"));
  CHECK(unlink("one name"));
  CHECK(close(fd));
}

static void pipes(void) {
  int p[2];
  pipe(p);
  const int writer = open(link_to(p[0]), O_WRONLY), reader = open(link_to(p[1]), O_RDONLY | O_NONBLOCK);
  const int both = open(link_to(p[0]), O_RDWR);
  SHOW(writer >= 0 && reader >= 0 && both >= 0);
  CHECK(fcntl(writer, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
  CHECK(fcntl(reader, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
  CHECK(fcntl(p[0], F_GETFL) & (O_ACCMODE | O_NONBLOCK));
  CHECK(fcntl(both, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
  CHECK(write(writer, "hello", 5));
  CHECK(read(p[0], got, 2));
  CHECK(read(reader, got, 100));
  CHECK(read(reader, got, 100));
  CHECK(write(both, "abc", 3));
  CHECK(read(both, got, 100));
  CHECK(close(p[1]) | close(writer));
  CHECK(read(reader, got, 100));
  CHECK(close(both));
  CHECK(read(reader, got, 100));
  OPENS(link_to(reader), O_RDONLY);  // a pipe waits for nobody
  const int late = open(link_to(reader), O_WRONLY);
  CHECK(write(late, "late", 4));
  CHECK(close(p[0]));
  CHECK(read(reader, got, 100));
  CHECK(close(reader) | close(late));
}

static void standard(void) {
  char target[100] = "";
  struct stat status;
  CHECK(readlink("/dev/fd", target, 100));
  printf("  %s\n", target);
  const char* names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
  for (int i = 0; i < 3; i++) {
    memset(target, 0, sizeof target);
    CHECK(readlink(names[i], target, 100));
    printf("  %s -> %s\n", names[i], target);
    show_link(i);
    CHECK(stat(names[i], &status));
    printf("  %o\n", status.st_mode & S_IFMT);
    struct stat same;
    fstat(i, &same);
    SHOW(same.st_ino == status.st_ino);
  }
  const int in = open("/dev/stdin", O_RDONLY), out = open("/dev/stdout", O_WRONLY),
            too = open("/dev/fd/1", O_WRONLY | O_APPEND);
  SHOW(in >= 0 && out >= 0 && too >= 0);
  CHECK(read(in, target, 3));
  CHECK(read(0, target + 3, 3));
  printf("  %s\n", target);
  fflush(stdout);
  write(out, "  out\n", 6);
  write(too, "  too\n", 6);
  CHECK(fcntl(out, F_GETFL) & O_ACCMODE);
  CHECK(close(in) | close(out) | close(too));
  OPENS("/dev/fd/0", O_RDONLY);
  OPENS("/dev/fd/77", O_RDONLY);
  OPENS("/dev/fd", O_RDONLY | O_DIRECTORY);
  list("/dev/fd");
}

/// A child has a folder of its own, with its own number.
static void children(void) {
  int p[2], done[2];
  char name[100], text[100];
  pipe(p);
  pipe(done);
  fflush(stdout);
  if (fork() == 0) {
    const int more = open("given/one", O_RDONLY);
    list("/proc/self/fd");
    show_link(more);
    snprintf(name, sizeof name, "/proc/%d/fd/%d", getpid(), more);
    OPENS(name, O_RDONLY);
    memset(text, 0, sizeof text);
    CHECK(readlink("/proc/self", text, 100) > 0);
    SHOW(atoi(text) == getpid());
    OPENS("/dev/fd/0", O_RDONLY);
    fflush(stdout);
    execl("/proc/self/exe", "descriptors", link_to(p[1]), NULL);
    _exit(1);
  }
  close(p[1]);
  number += 4;
  CHECK(read(p[0], got, 100));
  CHECK(memcmp(got, "written", 7));
  int status;
  wait(&status);
  SHOW(status);
  close(p[0]);
  close(done[0]);
  close(done[1]);
}

int main(int count, char** words) {
  if (count > 1) {  // as a program to which bash gives >(...)
    const int fd = open(words[1], O_WRONLY);
    write(fd, "written", 7);
    return 0;
  }
  setvbuf(stdout, NULL, _IOFBF, 4096);
  syscall(SYS_close_range, 3, ~0u, 0);
  names();
  kinds();
  files();
  pipes();
  standard();
  children();
  return 0;
}
