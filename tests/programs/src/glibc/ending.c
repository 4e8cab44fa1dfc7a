// SPDX-License-Identifier: Apache-2.0
// How a process ends, and what it may ask about itself: exit with its handlers, abort, raise, signals that are blocked
// or ignored, a failed assertion; descriptors, limits, clocks.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

static void last(void) { puts("an exit handler"); }
static void first(void) { puts("another"); }
static int error_of(long result) { return result < 0 ? errno : 0; }

static void descriptors(void) {
  struct stat status;
  printf("terminals %d %d %d\n", isatty(0), isatty(1), isatty(2));
  for (int fd = 0; fd < 3; fd++) printf("%d %d ", error_of(fstat(fd, &status)), S_ISFIFO(status.st_mode));
  printf("%d\n", error_of(fstat(9, &status)));
  printf("seek %d %d\n", error_of(lseek(0, 0, SEEK_CUR)), error_of(lseek(7, 0, SEEK_CUR)));
  printf("flags %d %d %d\n", fcntl(1, F_GETFL) & O_ACCMODE, fcntl(0, F_GETFL) & O_ACCMODE, error_of(fcntl(5, F_GETFL)));
  fflush(stdout);
  int copy = dup(1);
  dprintf(copy, "through descriptor %d\n", copy);
  int far = dup2(1, 77);
  dprintf(far, "through descriptor %d\n", far);
  printf("close %d %d %d\n", close(copy), error_of(close(copy)), error_of(write(copy, "x", 1)));
  printf("duplicate %d %d\n", fcntl(0, F_DUPFD, 20), error_of(dup3(1, 1, 0)));
}

static void itself(void) {
  struct timespec time, later;
  printf("clocks %d ", clock_gettime(CLOCK_MONOTONIC, &time));
  struct timespec pause = {0, 3000500};
  printf("%d ", nanosleep(&pause, NULL));
  clock_gettime(CLOCK_MONOTONIC, &later);
  printf("%d ", (later.tv_sec - time.tv_sec) * 1000000000 + later.tv_nsec - time.tv_nsec >= pause.tv_nsec);
  pause.tv_nsec = 1000000000;
  printf("%d %d\n", error_of(nanosleep(&pause, NULL)), error_of(clock_gettime(99, &time)));
  struct rlimit limit;
  printf("limits %d %d %d\n", getrlimit(RLIMIT_STACK, &limit), limit.rlim_cur >= 65536,
         error_of(getrlimit(99, &limit)));
  cpu_set_t set;
  printf("processors %d %d\n", sched_getaffinity(0, sizeof set, &set), CPU_COUNT(&set) >= 1);
  printf("%d %d %ld\n", getpid() > 0, getpid() == gettid(), sysconf(_SC_PAGESIZE));
  char path[4096];
  ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  printf("path %d\n", size > 0 && path[0] == '/');
}

static void quiet_signals(void) {
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  printf("mask %d ", sigprocmask(SIG_BLOCK, &set, &old));
  printf("%d ", raise(SIGUSR1));
  sigpending(&old);
  printf("pending %d ", sigismember(&old, SIGUSR1));
  signal(SIGUSR1, SIG_IGN);
  sigpending(&old);
  printf("%d %d ", sigismember(&old, SIGUSR1), sigprocmask(SIG_UNBLOCK, &set, NULL));
  printf("%d %d ", raise(SIGUSR1), raise(SIGCHLD));
  printf("%d %d %d\n", error_of(kill(getpid(), 99)), kill(getpid(), 0), signal(SIGUSR1, SIG_DFL) == SIG_IGN);
}

int main(int argc, char** argv) {
  const char* how = argc > 2 ? argv[2] : "";
  descriptors();
  quiet_signals();
  if (strcmp(how, "sleep") == 0 || argc < 3) itself();
  atexit(last);
  atexit(first);
  fflush(stdout);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "assert") == 0) assert(argc == 1);
  if (strcmp(how, "raise") == 0) raise(SIGTERM);
  if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(how, "blocked") == 0) {
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    raise(SIGFPE);
    puts("still here");
    fflush(stdout);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
  }
  if (strcmp(how, "quick") == 0) _exit(9);
  return (int)(seed_of(argc, argv) % 100);
}
