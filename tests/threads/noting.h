// SPDX-License-Identifier: Apache-2.0
// What the checks of threads.c share: how they print, threads, and futexes.
#pragma once

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int number;
static void say(const char* what, long result) {
  if (result == -1) printf("%d %s: %s\n", ++number, what, strerrorname_np(errno));
  else printf("%d %s: %ld\n", ++number, what, result);
}
#define CHECK(call) (errno = 0, say(#call, (long)(call)))
// A value of which -1 is no error.
#define SHOW(value) printf("%d %s: %ld\n", ++number, #value, (long)(value))
// Of the pthread functions, which return their error.
#define GIVES(call)                                                                           \
  do {                                                                                        \
    const int gives_error = (call);                                                           \
    printf("%d %s: %s\n", ++number, #call, gives_error ? strerrorname_np(gives_error) : "0"); \
  } while (0)

static void* const nowhere = (void*)8;
static pid_t thread_id(void) { return (pid_t)syscall(SYS_gettid); }
static long futex(void* word, int operation, uint32_t value, const void* time, void* second, uint32_t third) {
  return syscall(SYS_futex, word, operation, value, time, second, third);
}
static struct timespec after(clockid_t clock, long nanoseconds) {
  struct timespec now;
  clock_gettime(clock, &now);
  now.tv_nsec += nanoseconds;
  now.tv_sec += now.tv_nsec / 1000000000;
  now.tv_nsec %= 1000000000;
  return now;
}
static const struct timespec short_time = {0, 2000000};
static void pause_for(long milliseconds) { nanosleep(&(struct timespec){0, milliseconds * 1000000}, NULL); }
/// Whether all other threads wait; where there is no /proc, after a while: time passes there when they do.
static int others_wait(void) {
  DIR* const tasks = opendir("/proc/self/task");
  int wait = 1;
  for (struct dirent* task; tasks && (task = readdir(tasks)) != NULL;) {
    char path[300], text[400] = "";
    if (task->d_name[0] == '.' || atoi(task->d_name) == thread_id()) continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
    FILE* const file = fopen(path, "r");
    if (!file) continue;
    if (fgets(text, sizeof text, file)) {
      const char* const name = strrchr(text, ')');
      wait &= name && name[2] != 'R';
    }
    fclose(file);
  }
  if (tasks) closedir(tasks);
  return wait;
}
/// Lets the other threads come to where they wait.
static void let_others_wait(void) {
  for (int i = 0, quiet = 0; i < 50 && quiet < 3; i++) {
    pause_for(2);
    quiet = others_wait() ? quiet + 1 : 0;
  }
}

static pthread_t start(void* (*run)(void*), void* argument) {
  pthread_t thread;
  const int failed = pthread_create(&thread, NULL, run, argument);
  if (failed) {
    printf("pthread_create: %s\n", strerrorname_np(failed));
    exit(9);
  }
  return thread;
}
static long finish(pthread_t thread) {
  void* result;
  pthread_join(thread, &result);
  return (long)result;
}

/// Waits until no thread has the number: pthread_join() returns when the kernel has cleared the thread's word, a little before
/// the thread is gone.
static void wait_until_gone(pid_t id) {
  while (syscall(SYS_tgkill, getpid(), id, 0) == 0) pause_for(1);
}

// A thread that makes one futex call, and what came of it.
struct waiter {
  _Atomic uint32_t* word;
  int operation;
  uint32_t value, bits;
  const struct timespec* time;
  pthread_t thread;
  long result;
  int error;
  _Atomic pid_t id;
};
static _Atomic int order[64], orders;
static void* wait_once(void* argument) {
  struct waiter* waiter = argument;
  waiter->id = thread_id();
  errno = 0;
  waiter->result = futex((void*)waiter->word, waiter->operation, waiter->value, waiter->time, NULL, waiter->bits);
  waiter->error = errno;
  return NULL;
}
static void begin(struct waiter* waiter, _Atomic uint32_t* word, int operation, uint32_t value, uint32_t bits) {
  *waiter = (struct waiter){.word = word, .operation = operation, .value = value, .bits = bits};
  waiter->thread = start(wait_once, waiter);
  let_others_wait();
}
static void end(struct waiter* waiter) {
  finish(waiter->thread);
  errno = waiter->error;
  say("the thread that waited", waiter->result);
}
