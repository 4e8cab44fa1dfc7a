// SPDX-License-Identifier: Apache-2.0
// Numbered checks of FIFOs, by fifo(7), mkfifo(3), mknod(2) and open(2), each effect and each error, printed with
// their results: moves_test.py runs the program natively on the host's Linux and here.
#include "checks.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "../pipes/counting.h"

#define SHOW(value) CHECK(value)
static char got[1 << 17];

static void making(void) {
  struct stat status;
  CHECK(mkfifo("fifo", 0666));
  show("fifo");
  CHECK(mkfifo("fifo", 0600));
  CHECK(mkfifo("given/one", 0600));
  CHECK(mkfifo("none/fifo", 0600));
  CHECK(mkfifo("given/one/fifo", 0600));
  CHECK(mkfifo("", 0600));
  CHECK(mkfifo("/fifo", 0600));
  CHECK(mkfifo("slash/", 0600));
  CHECK(mknod("second", S_IFIFO | 0640, 77));
  show("second");
  CHECK(mknod("third", S_IFIFO | 07777, 0));
  show("third");
  CHECK(mknod("device", S_IFCHR | 0600, 0x103));
  CHECK(mknod("device", S_IFBLK | 0600, 0x103));
  umask(077);
  CHECK(mkfifo("fourth", 0777));
  umask(022);
  show("fourth");
  CHECK(stat("fifo", &status));
  SHOW(S_ISFIFO(status.st_mode));
  SHOW(status.st_size);
  SHOW(status.st_blocks);
  SHOW(status.st_rdev);
  CHECK(access("fifo", R_OK | W_OK));
  CHECK(access("fifo", X_OK));
  CHECK(truncate("fifo", 0));
  CHECK(readlink("fifo", got, 10));
  CHECK(chdir("fifo"));
  OPENS("fifo", O_RDONLY | O_DIRECTORY);
  OPENS("fifo", O_PATH);
  OPENS("fifo", O_RDWR | O_CREAT | O_EXCL, 0600);
  OPENS("fifo/", O_RDWR);
  OPENS("fifo/x", O_RDWR);
  CHECK(chmod("fourth", 0400));
  OPENS("fourth", O_WRONLY | O_NONBLOCK);
  OPENS("fourth", O_RDWR | O_NONBLOCK);
  OPENS("fourth", O_RDONLY | O_NONBLOCK);
  CHECK(link("second", "other"));
  show("other");
  CHECK(rename("third", "moved"));
  show("moved");
  CHECK(symlink("moved", "to it"));
  OPENS("to it", O_RDWR);
  CHECK(unlink("moved") | unlink("to it") | unlink("other") | unlink("second") | unlink("fourth"));
  DIR* folder = opendir(".");
  for (struct dirent* entry; (entry = readdir(folder));)
    if (strcmp(entry->d_name, "fifo") == 0) SHOW(entry->d_type == DT_FIFO);
  closedir(folder);
}

static void opening(void) {
  OPENS("fifo", O_WRONLY | O_NONBLOCK);
  int in = open("fifo", O_RDONLY | O_NONBLOCK);
  SHOW(in >= 0);
  SHOW(events_of(in, POLLIN));  // nobody has ever written
  CHECK(read(in, got, 10));
  int out = open("fifo", O_WRONLY | O_NONBLOCK);
  SHOW(out >= 0);
  CHECK(fcntl(in, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
  CHECK(fcntl(out, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
  CHECK(read(in, got, 10));
  SHOW(events_of(in, POLLIN));
  SHOW(events_of(out, POLLOUT));
  CHECK(write(out, "hello", 5));
  CHECK(write(in, "hello", 5));
  CHECK(read(out, got, 10));
  int ready = -1;
  CHECK(ioctl(in, FIONREAD, &ready));
  SHOW(ready);
  SHOW(events_of(in, POLLIN));
  CHECK(read(in, got, 3));
  CHECK(close(out));
  SHOW(events_of(in, POLLIN));
  CHECK(read(in, got, 10));
  CHECK(read(in, got, 10));
  SHOW(events_of(in, POLLIN));
  OPENS("fifo", O_WRONLY);  // with a reader it does not wait
  SHOW(events_of(in, POLLIN));
  int other = open("fifo", O_RDONLY | O_NONBLOCK);
  SHOW(events_of(other, POLLIN));
  out = open("fifo", O_WRONLY);
  CHECK(write(out, "x", 1));
  SHOW(events_of(other, POLLIN));
  CHECK(read(other, got, 10));
  CHECK(close(out));
  SHOW(events_of(other, POLLIN));
  CHECK(close(other));
  CHECK(close(in));
  // What nobody has read is gone.
  in = open("fifo", O_RDONLY | O_NONBLOCK);
  out = open("fifo", O_WRONLY | O_NONBLOCK);
  CHECK(write(out, "abc", 3));
  CHECK(close(in));
  on_signal(SIGPIPE, 0);
  SHOW(events_of(out, POLLOUT));
  CHECK(write(out, "abc", 3));
  SHOW(runs);
  in = open("fifo", O_RDONLY | O_NONBLOCK);
  CHECK(read(in, got, 10));
  CHECK(close(in) | close(out));
  in = open("fifo", O_RDONLY | O_NONBLOCK);
  CHECK(read(in, got, 10));
  CHECK(close(in));
  // For both.
  int both = open("fifo", O_RDWR);
  SHOW(both >= 0);
  CHECK(fcntl(both, F_GETFL) & O_ACCMODE);
  CHECK(write(both, "both", 4));
  SHOW(events_of(both, POLLIN | POLLOUT));
  CHECK(read(both, got, 10));
  SHOW(events_of(both, POLLIN | POLLOUT));
  in = open("fifo", O_RDONLY);
  out = open("fifo", O_WRONLY);
  CHECK(write(out, "one", 3));
  CHECK(read(both, got, 10));
  CHECK(close(out));
  fcntl(in, F_SETFL, O_NONBLOCK);
  CHECK(read(in, got, 10));
  CHECK(close(both));
  CHECK(read(in, got, 10));
  CHECK(close(in));
  // Flags.
  both = open("fifo", O_RDWR | O_TRUNC | O_APPEND | O_CLOEXEC | O_CREAT, 0600);
  CHECK(fcntl(both, F_GETFL) & (O_ACCMODE | O_APPEND));
  CHECK(fcntl(both, F_GETFD));
  CHECK(fcntl(both, F_GETPIPE_SZ));
  CHECK(fcntl(both, F_SETPIPE_SZ, 8192));
  CHECK(fcntl(both, F_SETFL, O_NONBLOCK));
  long written = write(both, got, sizeof got);
  SHOW(written);
  CHECK(write(both, got, 1));
  CHECK(close(both));
  both = open("fifo", O_RDWR | O_NONBLOCK);
  CHECK(fcntl(both, F_GETPIPE_SZ));
  CHECK(read(both, got, 10));
  CHECK(close(both));
}

static void statuses(void) {
  struct stat status, same;
  int in = open("fifo", O_RDONLY | O_NONBLOCK);
  CHECK(fstat(in, &status));
  CHECK(stat("fifo", &same));
  SHOW(status.st_ino == same.st_ino && status.st_mode == same.st_mode && status.st_nlink == same.st_nlink);
  CHECK(fchmod(in, 0640));
  show("fifo");
  CHECK(fchown(in, -1, 1000));
  CHECK(futimens(in, (struct timespec[]){{5, 6}, {7, 8}}));
  CHECK(stat("fifo", &same));
  SHOW(same.st_mtime);
  CHECK(lseek(in, 0, SEEK_SET));
  CHECK(pread(in, got, 1, 0));
  CHECK(ftruncate(in, 0));
  CHECK(fsync(in));
  CHECK(fchdir(in));
  CHECK(flock(in, LOCK_EX));
  CHECK(syscall(SYS_getdents64, in, got, 100));
  CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, in, 0) == MAP_FAILED ? -1 : 0);
  CHECK(copy_file_range(in, NULL, in, NULL, 1, 0));
  // A name that goes.
  CHECK(unlink("fifo"));
  CHECK(fstat(in, &status));
  SHOW(status.st_nlink);
  CHECK(stat("fifo", &same));
  OPENS("fifo", O_WRONLY | O_NONBLOCK);
  CHECK(mkfifo("fifo", 0600));
  OPENS("fifo", O_WRONLY | O_NONBLOCK);  // another one
  char name[100];
  snprintf(name, sizeof name, "/proc/self/fd/%d", in);
  const int out = open(name, O_WRONLY | O_NONBLOCK);
  CHECK(write(out, "abc", 3));
  CHECK(read(in, got, 10));
  CHECK(close(out) | close(in));
  in = open("fifo", O_RDONLY | O_NONBLOCK);
  snprintf(name, sizeof name, "/proc/self/fd/%d", in);
  memset(got, 0, 100);
  CHECK(readlink(name, got, 100));
  puts(got);
  OPENS(name, O_RDONLY | O_NONBLOCK);
  OPENS(name, O_RDWR);
  CHECK(close(in));
}

/// A call that a signal ends, however late it begins to wait.
static long interrupted;
#define INTERRUPTED(call) (interrupted = AMID_ALARMS(0, call), say(#call, interrupted), CHECK(runs != 0))
static void waits(void) {
  INTERRUPTED(open("fifo", O_RDONLY));
  INTERRUPTED(open("fifo", O_WRONLY));
  OPENS("fifo", O_WRONLY | O_NONBLOCK);  // who has waited has gone
  const int both = open("fifo", O_RDWR);
  OPENS("fifo", O_RDONLY);
  OPENS("fifo", O_WRONLY);
  INTERRUPTED(read(both, got, 1));
  CHECK(close(both));
}

/// Each end waits for the other, in a thread and in a process.
static void* read_all(void* name) {
  const int in = open(name, O_RDONLY);
  long total = 0, size;
  while ((size = read(in, got, sizeof got)) > 0) total += size;
  close(in);
  return (void*)total;
}
static void* open_and_leave(void* name) {
  close(open(name, O_RDONLY));
  return NULL;
}
static void* open_to_write(void* name) {
  const int out = open(name, O_WRONLY);
  write(out, "written", 7);
  close(out);
  return NULL;
}
static void threads(void) {
  static char block[10000];
  pthread_t other;
  void* total;
  for (int i = 0; i < 3; i++) {
    pthread_create(&other, NULL, read_all, "fifo");
    const int out = open("fifo", O_WRONLY);
    for (int k = 0; k < 20; k++) write(out, block, sizeof block);
    CHECK(close(out));
    pthread_join(other, &total);
    SHOW((long)total);
  }
  for (int i = 0; i < 3; i++) {
    pthread_create(&other, NULL, open_to_write, "fifo");
    const int in = open("fifo", O_RDONLY);
    CHECK(read(in, got, 7));
    CHECK(read(in, got, 7));
    CHECK(close(in));
    pthread_join(other, NULL);
  }
  // A reader that opens and leaves lets a writer go on.
  signal(SIGPIPE, SIG_IGN);
  pthread_create(&other, NULL, open_and_leave, "fifo");
  const int out = open("fifo", O_WRONLY);
  pthread_join(other, NULL);
  CHECK(write(out, "x", 1));
  CHECK(close(out));
}
static void processes(void) {
  int status, p[2];
  pipe(p);
  fflush(stdout);
  if (fork() == 0) {
    const int in = open("fifo", O_RDONLY);
    long total = 0, size;
    while ((size = splice(in, NULL, p[1], NULL, 1000, 0)) > 0) total += size;
    _exit(total == 7 ? 5 : 6);
  }
  const int out = open("fifo", O_WRONLY);
  CHECK(write(out, "written", 7));
  CHECK(close(out));
  wait(&status);
  SHOW(WEXITSTATUS(status));
  close(p[1]);
  CHECK(read(p[0], got, 100));
  close(p[0]);
  // A process that is killed while it waits is nobody.
  const pid_t child = fork();
  if (child == 0) {
    open("fifo", O_RDONLY);
    _exit(1);
  }
  int writer;
  while ((writer = open("fifo", O_WRONLY | O_NONBLOCK)) < 0) sched_yield();  // until it waits
  SHOW(writer >= 0);
  wait(&status);
  SHOW(WEXITSTATUS(status));
  CHECK(close(writer));
  OPENS("fifo", O_WRONLY | O_NONBLOCK);
}

int main(void) {
  setvbuf(stdout, NULL, _IOFBF, 4096);
  making();
  opening();
  statuses();
  waits();
  threads();
  processes();
  CHECK(unlink("fifo"));
  return 0;
}
