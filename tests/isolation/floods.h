// SPDX-License-Identifier: Apache-2.0
// Attempts to use up: processes, threads, signals, memory, output, files, time.
#pragma once
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "trying.h"
#include "wild.h"

static void fork_bomb(void) {
  while (1) fork();
}
static void fork_chain(void) {
  for (int depth = 0;; depth++) {
    const pid_t child = fork();
    if (child < 0) printf("%s after %d\n", strerrorname_np(errno), depth);
    if (child != 0) break;
  }
  while (wait(NULL) > 0) {
  }
}
static void zombies(void) {
  int made = 0;
  for (pid_t child; (child = fork()) >= 0; made++) {
    if (child == 0) _exit(0);
  }
  printf("%s after %d\n", strerrorname_np(errno), made);
}
static void orphans(void) {
  for (int i = 0; i < 500; i++) {
    const pid_t child = fork();
    if (child < 0) printf("SUCCEEDED: %d\n", i);
    if (child == 0) {
      if (fork() == 0) _exit(0);
      _exit(0);
    }
    waitpid(child, NULL, 0);
    sched_yield(), sched_yield();
  }
  printf("none is left\n");
}
static void* wait_for_ever(void* unused) {
  pause();
  return unused;
}
static void thread_bomb(void) {
  int made = 0, error;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
  for (pthread_t thread; (error = pthread_create(&thread, &small, wait_for_ever, NULL)) == 0;) made++;
  printf("%s after %d\n", strerrorname_np(error), made);
}
static void* start_more(void* unused) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
  for (;;) {
    pthread_t thread;
    pthread_create(&thread, &small, start_more, NULL);
    fork();
  }
  return unused;
}
static void mixed_bomb(void) { start_more(NULL); }
static void exec_for_ever(void) { execl("/bin/isolation", "isolation", "exec_for_ever", NULL); }
static void signal_flood(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  int sent = 0;
  while (sigqueue(getpid(), SIGRTMIN, (union sigval){0}) == 0) sent++;
  printf("%s after %d\n", strerrorname_np(errno), sent);
}
static void none(int number) { (void)number; }
static void signal_storm(void) {
  struct sigaction action = {.sa_handler = none, .sa_flags = SA_NODEFER};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 1}, {0, 1}}, NULL);
  while (1) raise(SIGALRM);
}

static void map_flood(void) {
  long mapped = 0;
  while (mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) mapped++;
  printf("%s after %s\n", strerrorname_np(errno), mapped < 64 ? "less than the window" : "MORE");
}
static void touch_flood(void) {
  char* at;
  long touched = 0;
  while ((at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED) {
    for (int i = 0; i < 1 << 20; i += 4096) at[i] = 1;
    touched++;
  }
  printf("%s after %s\n", strerrorname_np(errno), touched < 64 ? "less than the window" : "MORE");
}
static void break_flood(void) {
  while (sbrk(1 << 20) != (void*)-1) {
  }
  TRY(sbrk(1 << 20) == (void*)-1 ? -1 : 0);
  TRY(sbrk(1l << 46) == (void*)-1 ? -1 : 0);
  report();
}
static void range_flood(void) {
  char* at = mmap(NULL, 24 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int made = 0;
  for (; made < 6000 && mprotect(at + made * 4096l, 4096, made % 2 ? PROT_READ : PROT_NONE) == 0; made++) {
  }
  printf("%s after %s\n", strerrorname_np(errno), made < 4097 ? "at most 4096" : "MORE");
}
static void absurd_sizes(void) {
  static const size_t sizes[] = {0, 1ul << 40, 1ul << 47, 1ul << 63, ~0ul, ~0ul - 4095};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    TRY(mmap(NULL, sizes[i], PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
    TRY(mmap((void*)sizes[i], ~0ul << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1
                                                                                                                   : 0);
  }
  report();
}
static void recursion(void) { printf("%d\n", recurse(0)); }
/// More processes than the pool has memory for, each with all that it can touch.
static void memory_of_processes(void) {
  for (int i = 0; i < 60; i++) {
    if (fork() == 0) {
      for (char* at;
           (at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED;) {
        for (int k = 0; k < 1 << 20; k += 4096) at[k] = (char)i;
      }
      pause();
    }
  }
  while (wait(NULL) > 0) {
  }
}
static void code_flood(void) {
  for (;;) {
    uint32_t* at = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) break;
    for (int i = 0; i < 1 << 14; i += 1024) {
      at[i] = 0xd65f03c0;
      ((void (*)(void))(at + i))();
    }
  }
  TRY(mmap(NULL, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
  report();
}

static char block[1 << 16];
static void output_flood(int fd) {
  fflush(stdout);
  memset(block, 'x', sizeof block);
  while (write(fd, block, sizeof block) > 0) {
  }
  _exit(errno == ENOSPC ? 28 : 1);
}
static void stdout_flood(void) { output_flood(1); }
static void stderr_flood(void) { output_flood(2); }
static int calls_that_miss = 20000;
static void missing_calls(void) {
  for (int i = 0; i < calls_that_miss; i++) TRY(syscall(1000 + i, 0));
  report();
}

static void giant_file(void) {
  const int fd = make_file("/tmp/giant", "");
  long blocks = 0;
  while (write(fd, block, sizeof block) > 0) blocks++;
  printf("%s after %s\n", strerrorname_np(errno), blocks <= 32 ? "at most 2 MiB" : "MORE");
}
static void far_writes(void) {
  const int fd = make_file("/tmp/sparse", "");
  TRY(pwrite(fd, "x", 1, 0x7fffffffffffffff));
  TRY(ftruncate(fd, -1));
  TRY(lseek(fd, -1, SEEK_SET));
  for (long at = 0; at < 1l << 30; at++) {
    if (pwrite(fd, "x", 1, at << 30) < 0) break;
  }
  keep_error(errno);
  report();
}
static void allocations(void) {
  const int fd = make_file("/tmp/file", "");
  TRY(fallocate(fd, 0, 0, 1l << 50));
  TRY(fallocate(fd, 0, 1l << 62, 1l << 62));
  TRY(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1));
  report();
}
/// A new name of 200 characters in /tmp.
static const char* next_name(void) {
  static char name[] = "/tmp/0000000000";
  static char path[220];
  if (path[0] == 0) memset(path, 'x', sizeof path - 20), memcpy(path, "/tmp/", 5);
  for (int i = sizeof name - 2; ++name[i] > '9'; i--) name[i] = '0';
  strcpy(path + sizeof path - 20, name + 5);
  return path;
}
static void many_files(void) {
  for (int fd; (fd = open(next_name(), O_WRONLY | O_CREAT, 0600)) >= 0;) close(fd);
  keep_error(errno);
  TRY(mkdir(next_name(), 0700));
  TRY(symlink("x", next_name()));
  report();
}
static void deep_folders(void) {
  chdir("/tmp");
  while (mkdir("d", 0700) == 0 && chdir("d") == 0) {
  }
  keep_error(errno);
  report();
}
static void copies(void) {
  const int from = open("/bin/isolation", O_RDONLY);
  for (int i = 0;; i++) {
    char name[40];
    snprintf(name, sizeof name, "/tmp/copy%d", i);
    const int to = open(name, O_WRONLY | O_CREAT, 0600);
    if (to < 0) break;
    loff_t at = 0;
    long now;
    while ((now = copy_file_range(from, &at, to, NULL, 1 << 20, 0)) > 0) {
    }
    if (now < 0) break;
    close(to);
  }
  keep_error(errno);
  report();
}
static void many_links(void) {
  close(make_file("/tmp/file", "x"));
  while (link("/tmp/file", next_name()) == 0) {
  }
  keep_error(errno);
  report();
}

static void loop(void) {
  while (1) __asm__ volatile("");
}
static void calls(void) {
  while (1) getppid();
}
static void sleep_long(void) {
  nanosleep(&(struct timespec){1l << 40, 0}, NULL);
  printf("the clock has moved on\n");
}
static void wait_for_nothing(void) {
  int ends[2];
  char byte;
  pipe(ends);
  TRY(pause() == -1 && errno == EINTR ? 0 : -1);
  TRY(read(ends[0], &byte, 1));
  TRY(syscall(SYS_futex, block, 0, 0, NULL, NULL, 0));
  TRY(poll(NULL, 0, -1));
  TRY(wait(NULL));
  report();
}
static void priorities(void) {
  TRY(setpriority(PRIO_PROCESS, 0, -20));
  TRY(sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){99}));
  TRY(setrlimit(RLIMIT_NOFILE, &(struct rlimit){1 << 20, 1 << 20}));
  report();
}
