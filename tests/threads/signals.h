// SPDX-License-Identifier: Apache-2.0
// Signals of threads: tgkill(2), pthreads(7), signal(7).
#pragma once

#include <poll.h>

#include "noting.h"

static _Atomic int handled, last_signal, last_code;
static _Atomic pid_t handler_thread;
static void note(int signal, siginfo_t* information, void* context) {
  (void)context;
  handled++;
  last_signal = signal;
  last_code = information->si_code;
  handler_thread = thread_id();
}
static void set(int signal, int flags) {
  struct sigaction action = {.sa_flags = SA_SIGINFO | flags};
  action.sa_sigaction = note;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, NULL);
}
static void mask(int how, int signal) {
  sigset_t set;
  sigemptyset(&set);
  if (signal) sigaddset(&set, signal);
  pthread_sigmask(how, &set, NULL);
}
static int is_pending(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal);
}

enum kind { kSleep, kFutex, kFutexLimited, kPoll, kPause, kSuspend, kJoinLess, kWaitSignal, kSpin, kLock, kKinds };
struct waits {
  enum kind kind;
  int blocks;
  _Atomic pid_t id;
  _Atomic int go_on;
  long result;
  int error;
  _Atomic uint32_t word;
};
static void* wait_so(void* argument) {
  struct waits* waits = argument;
  struct timespec left = {0, 0};
  sigset_t set;
  if (waits->blocks) mask(SIG_BLOCK, waits->blocks);
  waits->id = thread_id();
  errno = 0;
  switch (waits->kind) {
    case kSleep: waits->result = nanosleep(&(struct timespec){1, 0}, &left); break;
    case kFutex: waits->result = futex((void*)&waits->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0); break;
    case kFutexLimited:
      waits->result = futex((void*)&waits->word, FUTEX_WAIT_PRIVATE, 0, &(struct timespec){1, 0}, NULL, 0);
      break;
    case kPoll: waits->result = ppoll(NULL, 0, &(struct timespec){1, 0}, NULL); break;
    case kPause: waits->result = pause(); break;
    case kSuspend:
      sigfillset(&set);
      sigdelset(&set, SIGUSR1);
      waits->result = sigsuspend(&set);
      break;
    case kWaitSignal: {
      siginfo_t information;
      sigemptyset(&set);
      sigaddset(&set, SIGUSR2);
      waits->result = sigtimedwait(&set, &information, &(struct timespec){1, 0});
      break;
    }
    case kSpin:
      while (!waits->go_on) sched_yield();
      waits->result = 0;
      break;
    case kLock: waits->result = futex((void*)&waits->word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0); break;
    default: waits->result = 0; break;
  }
  waits->error = errno;
  if (left.tv_sec || left.tv_nsec) waits->result -= 100;  // what is left was stored
  return NULL;
}
static pthread_t begin_waits(struct waits* waits, enum kind kind, int blocks) {
  memset(waits, 0, sizeof *waits);
  waits->kind = kind;
  waits->blocks = blocks;
  if (kind == kLock) waits->word = (uint32_t)thread_id();
  const pthread_t thread = start(wait_so, waits);
  let_others_wait();
  return thread;
}
static void end_waits(pthread_t thread, struct waits* waits) {
  waits->go_on = 1;
  finish(thread);
  errno = waits->error;
  say("it waited", waits->result);
}

static void to_threads(void) {
  struct waits waits;
  puts("tgkill");
  set(SIGUSR1, 0), set(SIGUSR2, 0);
  CHECK(syscall(SYS_tgkill, getpid(), getpid(), 0));
  CHECK(syscall(SYS_tgkill, getpid(), 0x3ffffff0, 0));
  CHECK(syscall(SYS_tgkill, getpid(), 0, 0));
  CHECK(syscall(SYS_tgkill, -1, getpid(), 0));
  CHECK(syscall(SYS_tgkill, getpid(), getpid(), 65));
  CHECK(syscall(SYS_tkill, -1, 0));
  CHECK(syscall(SYS_tkill, 0x3ffffff0, 0));
  for (int kind = 0; kind < kKinds; kind++) {
    if (kind == kJoinLess) continue;
    for (int restarts = 0; restarts < 2; restarts++) {
      printf("kind %d, %s\n", kind, restarts ? "SA_RESTART" : "no flags");
      set(SIGUSR1, restarts ? SA_RESTART : 0);
      handled = 0;
      pthread_t thread = begin_waits(&waits, (enum kind)kind, 0);
      CHECK(syscall(SYS_tgkill, getpid(), waits.id, SIGUSR1));
      let_others_wait();
      SHOW(handled);
      SHOW(last_code);
      SHOW(handler_thread == waits.id);
      if (kind == kFutex) SHOW(futex((void*)&waits.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
      if (kind == kLock) SHOW(futex((void*)&waits.word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0));
      end_waits(thread, &waits);
    }
  }
  // A thread has its own mask, and what waits for it is its own.
  set(SIGUSR1, 0);
  handled = 0;
  pthread_t thread = begin_waits(&waits, kSpin, SIGUSR1);
  CHECK(syscall(SYS_tgkill, getpid(), waits.id, SIGUSR1));
  let_others_wait();
  SHOW(handled);
  SHOW(is_pending(SIGUSR1));
  end_waits(thread, &waits);
  SHOW(handled);
  // It was joined when its id became 0; its id goes a little later.
  while (syscall(SYS_tgkill, getpid(), waits.id, 0) == 0) sched_yield();
  CHECK(syscall(SYS_tgkill, getpid(), waits.id, 0));
  // Ignored signals end no wait.
  signal(SIGUSR1, SIG_IGN);
  thread = begin_waits(&waits, kFutexLimited, 0);
  CHECK(syscall(SYS_tgkill, getpid(), waits.id, SIGUSR1));
  end_waits(thread, &waits);
  // What sigtimedwait() waits for.
  thread = begin_waits(&waits, kWaitSignal, SIGUSR2);
  CHECK(syscall(SYS_tgkill, getpid(), waits.id, SIGUSR2));
  end_waits(thread, &waits);
  set(SIGUSR1, 0);
  siginfo_t information = {.si_code = SI_QUEUE};
  thread = begin_waits(&waits, kSleep, 0);
  CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), waits.id, SIGUSR1, &information));
  end_waits(thread, &waits);
  SHOW(last_code == SI_QUEUE);
  information.si_code = SI_USER;
  CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), 0, &information));
}

static void to_process(void) {
  struct waits waits, more;
  puts("signals sent to the process");
  set(SIGUSR1, 0), set(SIGUSR2, 0);
  // The first thread has it, if it does not block it.
  handled = 0;
  pthread_t thread = begin_waits(&waits, kSleep, 0);
  CHECK(kill(getpid(), SIGUSR1));
  SHOW(handled == 1 && handler_thread == getpid());
  mask(SIG_BLOCK, SIGUSR1);
  CHECK(kill(getpid(), SIGUSR1));
  let_others_wait();
  SHOW(handled == 2 && handler_thread == waits.id);
  end_waits(thread, &waits);
  // All block it: the first one that lets it through.
  thread = begin_waits(&waits, kSpin, SIGUSR1);
  CHECK(kill(getpid(), SIGUSR1));
  let_others_wait();
  SHOW(handled);
  SHOW(is_pending(SIGUSR1));
  end_waits(thread, &waits);
  mask(SIG_UNBLOCK, SIGUSR1);
  SHOW(handled);
  SHOW(is_pending(SIGUSR1));
  // sigtimedwait() of another thread.
  mask(SIG_BLOCK, SIGUSR2);
  thread = begin_waits(&waits, kWaitSignal, SIGUSR2);
  CHECK(kill(getpid(), SIGUSR2));
  end_waits(thread, &waits);
  SHOW(is_pending(SIGUSR2));
  // A timer ends the wait of a thread that does not block it.
  set(SIGALRM, 0);
  mask(SIG_BLOCK, SIGALRM);
  handled = 0;
  thread = begin_waits(&waits, kSleep, 0);
  const pthread_t other = begin_waits(&more, kSleep, SIGALRM);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 1000}}, NULL);
  let_others_wait();
  SHOW(handled);
  end_waits(thread, &waits);
  end_waits(other, &more);
  mask(SIG_UNBLOCK, SIGALRM);
  mask(SIG_UNBLOCK, SIGUSR2);
  // A new thread has the mask of the one that made it, and no pending signals.
  mask(SIG_BLOCK, SIGUSR1);
  syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1);
  handled = 0;
  thread = begin_waits(&waits, kFutexLimited, 0);
  syscall(SYS_tgkill, getpid(), waits.id, SIGUSR1);
  end_waits(thread, &waits);
  SHOW(handled);
  mask(SIG_UNBLOCK, SIGUSR1);
  SHOW(handled);
}

static void* alternative(void* argument) {
  stack_t stack;
  sigaltstack(NULL, &stack);
  return (void*)(stack.ss_flags * 10l + (stack.ss_sp != NULL) + (argument != NULL));
}
static void stacks(void) {
  static char memory[65536];
  puts("signal stacks are a thread's own");
  CHECK(sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = sizeof memory}, NULL));
  SHOW(finish(start(alternative, NULL)));
  SHOW((long)alternative(NULL));
}
