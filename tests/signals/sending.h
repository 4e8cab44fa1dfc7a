// SPDX-License-Identifier: Apache-2.0
// Checks of signals.c: actions, senders, masks, and what waits.
#pragma once

#include "noting.h"

// ---- sigaction(2)

static void change_own_mask(int signal, siginfo_t* information, void* context) {
  (void)information;
  note(signal);
  sigaddset(&((ucontext_t*)context)->uc_sigmask, SIGUSR2);
}
static void raise_again(int signal) {
  depth++;
  if (depth > deepest) deepest = depth;
  runs++;
  if (runs < 3) raise(signal);
  depth--;
}

static void actions(void) {
  struct sigaction action = {0}, old;
  CHECK(sigaction(SIGUSR1, NULL, &old));
  SHOW(old.sa_handler == SIG_DFL);
  set(SIGUSR1, note, SA_NODEFER | SA_RESTART, SIGNALS(SIGTERM));
  CHECK(sigaction(SIGUSR1, NULL, &old));
  SHOW(old.sa_handler == note);
  SHOW((old.sa_flags & ~0x4000000) == (SA_NODEFER | SA_RESTART));
  SHOW(sigismember(&old.sa_mask, SIGTERM));
  SHOW(sigismember(&old.sa_mask, SIGINT));
  CHECK(sigaction(SIGKILL, &action, NULL));
  CHECK(sigaction(SIGSTOP, &action, NULL));
  CHECK(sigaction(SIGKILL, NULL, &old));
  CHECK(sigaction(0, &action, NULL));
  CHECK(sigaction(65, &action, NULL));
  CHECK(sigaction(-1, NULL, &old));
  struct kernel_action raw = {(uint64_t)(uintptr_t)note, 0x400 | SA_RESTART, 0, ~0ull}, known;
  CHECK(raw_action(SIGUSR1, nowhere, NULL, 8));
  CHECK(raw_action(SIGUSR1, NULL, nowhere, 8));
  CHECK(raw_action(SIGUSR1, &raw, NULL, 4));
  CHECK(raw_action(SIGUSR1, &raw, NULL, 16));
  CHECK(raw_action(65, &raw, NULL, 8));
  CHECK(raw_action(65, nowhere, NULL, 8));
  CHECK(raw_action(SIGUSR1, &raw, nowhere, 8));  // the new action is set nevertheless
  CHECK(raw_action(SIGUSR1, NULL, &known, 8));
  SHOW(known.handler == raw.handler);
  SHOW(known.flags == SA_RESTART);  // a flag that the kernel does not know is cleared
  SHOW(known.mask == ~(1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1)));

  clear();
  set(SIGUSR1, note, 0, SIGNALS(SIGTERM));
  CHECK(raise(SIGUSR1));
  SHOW(runs);
  SHOW(order[0]);
  SHOW(sigismember(&mask_in_handler, SIGUSR1));
  SHOW(sigismember(&mask_in_handler, SIGTERM));
  SHOW(sigismember(&mask_in_handler, SIGUSR2));
  sigset_t mask;
  sigprocmask(SIG_SETMASK, NULL, &mask);
  SHOW(sigismember(&mask, SIGUSR1));
  SHOW(sigismember(&mask, SIGTERM));

  clear();
  set(SIGUSR1, raise_again, 0, NULL);
  raise(SIGUSR1);
  SHOW(deepest);
  SHOW(runs);
  clear();
  set(SIGUSR1, raise_again, SA_NODEFER, NULL);
  raise(SIGUSR1);
  SHOW(deepest);
  SHOW(runs);

  clear();
  set(SIGUSR1, note, SA_RESETHAND | SA_NODEFER, SIGNALS(SIGHUP));
  raise(SIGUSR1);
  SHOW(runs);
  sigaction(SIGUSR1, NULL, &old);
  SHOW(old.sa_handler == SIG_DFL);
  SHOW((old.sa_flags & ~0x4000000) == (int)(SA_RESETHAND | SA_NODEFER));
  SHOW(sigismember(&old.sa_mask, SIGHUP));
  CHECK(kill(getpid(), SIGCHLD));
  CHECK(kill(getpid(), SIGURG));
  CHECK(kill(getpid(), SIGWINCH));
  CHECK(kill(getpid(), SIGCONT));

  clear();
  set(SIGUSR1, note, 0, NULL);
  for (int i = 0; i < 1000; i++) raise(SIGUSR1);
  SHOW(runs);
  clear();
  set_information(SIGUSR1, change_own_mask, 0);
  raise(SIGUSR1);
  sigprocmask(SIG_SETMASK, NULL, &mask);
  SHOW(sigismember(&mask, SIGUSR2));
  unblock(SIGNALS(SIGUSR2));
}

// ---- who has sent a signal, and with what

static void senders(void) {
  set_information(SIGUSR1, note_information, 0);
  const char* names[] = {"kill", "raise", "sigqueue", "tkill"};
  for (int i = 0; i < 4; i++) {
    clear();
    if (i == 0) kill(getpid(), SIGUSR1);
    if (i == 1) raise(SIGUSR1);
    if (i == 2) sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 4711});
    if (i == 3) syscall(SYS_tkill, getpid(), SIGUSR1);
    printf("%d %s: code %d, from me %d, my user %d, value %d\n", ++number, names[i], (int)last_code, (int)sender_is_me,
           (int)user_is_me, i == 2 ? (int)value : 0);
  }
  clear();
  set_information(SIGALRM, note_information, 0);
  set_timer(ITIMER_REAL, 1000, 0);
  while (runs == 0) pause();
  printf("%d alarm: code %d, from me %d\n", ++number, (int)last_code, (int)sender_is_me);
  clear();
  siginfo_t information;
  memset(&information, 0, sizeof information);
  information.si_code = -42;
  information.si_pid = 12;
  information.si_value.sival_int = 77;
  CHECK(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &information));
  SHOW(last_code);
  SHOW(value);
  information.si_code = SI_USER;  // to itself a process may pretend
  CHECK(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &information));
  SHOW(runs);
  CHECK(syscall(SYS_rt_sigqueueinfo, 1, SIGUSR1, &information));
  CHECK(syscall(SYS_rt_sigqueueinfo, getpid(), 65, &information));
  CHECK(syscall(SYS_rt_sigqueueinfo, getpid(), 0, &information));
  CHECK(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, nowhere));
  CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), SIGUSR1, &information));
  CHECK(syscall(SYS_rt_tgsigqueueinfo, 0, getpid(), SIGUSR1, &information));
  CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), 0, SIGUSR1, &information));
  SHOW(runs);
  CHECK(kill(getpid(), 0));
  CHECK(kill(getpid(), 65));
  CHECK(kill(getpid(), -1));
  CHECK(kill(0x7ffffff0, 0));
  CHECK(kill(0x7ffffff0, 65));
  CHECK(syscall(SYS_tkill, getpid(), 0));
  CHECK(syscall(SYS_tkill, 0, SIGUSR1));
  CHECK(syscall(SYS_tkill, -1, SIGUSR1));
  CHECK(syscall(SYS_tkill, 0x7ffffff0, SIGUSR1));
  CHECK(syscall(SYS_tkill, 0x7ffffff0, 65));
  CHECK(syscall(SYS_tkill, getpid(), 65));
  CHECK(syscall(SYS_tgkill, getpid(), getpid(), 0));
  CHECK(syscall(SYS_tgkill, getpid(), 0, 0));
  CHECK(syscall(SYS_tgkill, 0, getpid(), 0));
  CHECK(syscall(SYS_tgkill, getpid(), 0x7ffffff0, 0));
  CHECK(syscall(SYS_tgkill, 0x7ffffff0, getpid(), 0));
  CHECK(syscall(SYS_tgkill, getpid(), getpid(), 65));
}

// ---- masks and waiting signals

static void masks(void) {
  sigset_t mask, old;
  set(SIGUSR1, note, 0, NULL);
  set(SIGUSR2, note, 0, NULL);
  set(SIGTERM, note, 0, NULL);
  mask_of(&mask, SIGNALS(SIGUSR1, SIGKILL, SIGSTOP));
  CHECK(sigprocmask(SIG_BLOCK, &mask, &old));
  SHOW(sigismember(&old, SIGUSR1));
  CHECK(sigprocmask(SIG_BLOCK, NULL, &old));
  SHOW(sigismember(&old, SIGUSR1));
  SHOW(sigismember(&old, SIGKILL));
  SHOW(sigismember(&old, SIGSTOP));
  CHECK(sigprocmask(77, NULL, &old));
  CHECK(sigprocmask(77, &mask, &old));
  CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, 4));
  CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, nowhere, NULL, 8));
  CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, nowhere, 8));
  CHECK(syscall(SYS_rt_sigpending, nowhere, 8));
  CHECK(syscall(SYS_rt_sigpending, &old, 9));
  CHECK(syscall(SYS_rt_sigpending, &old, 0));

  clear();
  raise(SIGUSR1);
  raise(SIGUSR1);
  kill(getpid(), SIGUSR1);
  SHOW(runs);
  SHOW(is_pending(SIGUSR1));
  SHOW(is_pending(SIGUSR2));
  unblock(SIGNALS(SIGUSR1));
  SHOW(runs);  // once for the thread, once for the process
  SHOW(is_pending(SIGUSR1));

  clear();
  block(SIGNALS(SIGUSR1, SIGUSR2, SIGTERM));
  kill(getpid(), SIGTERM);
  kill(getpid(), SIGUSR2);
  kill(getpid(), SIGUSR1);
  unblock(SIGNALS(SIGUSR1, SIGUSR2, SIGTERM));
  show_order("order of waiting signals");
  clear();
  set(SIGUSR1, note, 0, SIGNALS(SIGUSR2, SIGTERM));
  set(SIGUSR2, note, 0, SIGNALS(SIGUSR1, SIGTERM));
  set(SIGTERM, note, 0, SIGNALS(SIGUSR1, SIGUSR2));
  block(SIGNALS(SIGUSR1, SIGUSR2, SIGTERM));
  kill(getpid(), SIGTERM);
  kill(getpid(), SIGUSR2);
  kill(getpid(), SIGUSR1);
  unblock(SIGNALS(SIGUSR1, SIGUSR2, SIGTERM));
  show_order("the same with handlers that block the others");
  clear();
  block(SIGNALS(SIGUSR1, SIGUSR2));
  kill(getpid(), SIGUSR1);
  raise(SIGUSR2);
  unblock(SIGNALS(SIGUSR1, SIGUSR2));
  show_order("the thread's come before the process's");

  clear();
  block(SIGNALS(SIGUSR1));
  raise(SIGUSR1);
  set(SIGUSR1, SIG_IGN, 0, NULL);
  SHOW(is_pending(SIGUSR1));  // dropped
  raise(SIGUSR1);
  SHOW(is_pending(SIGUSR1));  // blocked signals wait even if they are ignored
  set(SIGUSR1, note, 0, NULL);
  unblock(SIGNALS(SIGUSR1));
  SHOW(runs);
  clear();
  block(SIGNALS(SIGCHLD));
  set(SIGCHLD, note, 0, NULL);
  raise(SIGCHLD);
  SHOW(is_pending(SIGCHLD));
  set(SIGCHLD, SIG_DFL, 0, NULL);
  SHOW(is_pending(SIGCHLD));
  raise(SIGCHLD);
  SHOW(is_pending(SIGCHLD));
  unblock(SIGNALS(SIGCHLD));
  SHOW(is_pending(SIGCHLD));
  set(SIGUSR1, SIG_IGN, 0, NULL);
  raise(SIGUSR1);
  SHOW(is_pending(SIGUSR1));

  block(SIGNALS(SIGTSTP, SIGCONT));
  raise(SIGTSTP);
  SHOW(is_pending(SIGTSTP));
  raise(SIGCONT);
  SHOW(is_pending(SIGTSTP));
  SHOW(is_pending(SIGCONT));
  raise(SIGTSTP);
  SHOW(is_pending(SIGCONT));
  set(SIGTSTP, SIG_IGN, 0, NULL);
  unblock(SIGNALS(SIGTSTP, SIGCONT));
}

// ---- real-time signals

static volatile int values[64];
static void note_value(int signal, siginfo_t* information, void* context) {
  (void)context;
  if (runs < 64) values[runs] = information->si_value.sival_int;
  note(signal);
}
static void real_time(void) {
  clear();
  for (int i = 0; i < 4; i++) set_information(SIGRTMIN + i, note_value, 0);
  block(SIGNALS(SIGRTMIN, SIGRTMIN + 1, SIGRTMIN + 2, SIGRTMIN + 3));
  for (int i = 0; i < 12; i++) {
    CHECK(sigqueue(getpid(), SIGRTMIN + (12 - i) % 4, (union sigval){.sival_int = i}));
  }
  SHOW(is_pending(SIGRTMIN + 2));
  siginfo_t taken;
  sigset_t one;
  mask_of(&one, SIGNALS(SIGRTMIN + 2));
  SHOW(sigwaitinfo(&one, &taken) == SIGRTMIN + 2);
  SHOW(taken.si_value.sival_int);
  SHOW(taken.si_code);
  SHOW(is_pending(SIGRTMIN + 2));
  for (int i = 3; i >= 0; i--) unblock(SIGNALS(SIGRTMIN + i));
  show_order("real-time signals, highest first let through");
  printf("%d their values:", ++number);
  for (int i = 0; i < runs; i++) printf(" %d", values[i]);
  printf("\n");
  clear();
  block(SIGNALS(SIGRTMIN, SIGUSR1));
  set(SIGUSR1, note, 0, SIGNALS(SIGRTMIN));
  set_information(SIGRTMIN, note_value, 0);
  for (int i = 0; i < 20; i++) kill(getpid(), SIGRTMIN);
  kill(getpid(), SIGUSR1);
  unblock(SIGNALS(SIGRTMIN, SIGUSR1));
  show_order("twenty times the same, and a standard signal");
}
