// SPDX-License-Identifier: Apache-2.0
// Numbered checks of signals, by the clauses of signal(7), sigaction(2), sigprocmask(2), sigpending(2), sigsuspend(2), pause(2),
// sigtimedwait(2), sigqueue(3), sigaltstack(2), sigreturn(2), setitimer(2) and alarm(2), each printed with its result: the same
// program runs natively on the host's Linux, under QEMU and under myriarm. Lines that begin with "arm" are about AArch64 alone.
//   signals          all checks
//   signals die N    what ends the process: its status is the result
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static int number;
static void say(const char* what, long result) {
  if (result == -1) printf("%d %s: %s\n", ++number, what, strerrorname_np(errno));
  else printf("%d %s: %ld\n", ++number, what, result);
}
#define CHECK(call) (errno = 0, say(#call, (long)(call)))
// A value of which -1 is no error.
#define SHOW(value) printf("%d %s: %ld\n", ++number, #value, (long)(value))

// ---- what handlers note

static volatile sig_atomic_t runs, order[64], last_code, sender_is_me, user_is_me, on_stack, value;
static volatile uintptr_t fault_address;
static volatile int depth, deepest;
static sigset_t mask_in_handler;
static stack_t stack_in_handler;

static void clear(void) {
  runs = last_code = sender_is_me = user_is_me = on_stack = value = depth = deepest = 0;
  fault_address = 0;
}
static void note(int signal) {
  if (runs < 64) order[runs] = signal;
  runs++;
  if (++depth > deepest) deepest = depth;
  sigprocmask(SIG_SETMASK, NULL, &mask_in_handler);
  depth--;
}
static void note_information(int signal, siginfo_t* information, void* context) {
  (void)context;
  last_code = information->si_signo == signal ? information->si_code : -999;
  sender_is_me = information->si_pid == getpid();
  user_is_me = information->si_uid == getuid();
  value = information->si_value.sival_int;
  note(signal);
}
static void set(int signal, void (*handler)(int), int flags, const int* masked) {
  struct sigaction action = {.sa_flags = flags};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  for (; masked && *masked; masked++) sigaddset(&action.sa_mask, *masked);
  if (sigaction(signal, &action, NULL)) abort();
}
static void set_information(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action = {.sa_flags = flags | SA_SIGINFO};
  action.sa_sigaction = handler;
  sigemptyset(&action.sa_mask);
  if (sigaction(signal, &action, NULL)) abort();
}
static void mask_of(sigset_t* set, const int* signals) {
  sigemptyset(set);
  for (; *signals; signals++) sigaddset(set, *signals);
}
#define SIGNALS(...) ((const int[]){__VA_ARGS__, 0})
static void block(const int* signals) {
  sigset_t mask;
  mask_of(&mask, signals);
  sigprocmask(SIG_BLOCK, &mask, NULL);
}
static void unblock(const int* signals) {
  sigset_t mask;
  mask_of(&mask, signals);
  sigprocmask(SIG_UNBLOCK, &mask, NULL);
}
static int is_pending(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal);
}
static void show_order(const char* what) {
  printf("%d %s:", ++number, what);
  for (int i = 0; i < runs && i < 64; i++) printf(" %d", order[i] >= SIGRTMIN ? order[i] - SIGRTMIN + 100 : order[i]);
  printf(" (%d runs)\n", (int)runs);
}
static void set_timer(int which, long microseconds, long interval) {
  struct itimerval timer = {{interval / 1000000, interval % 1000000}, {microseconds / 1000000, microseconds % 1000000}};
  if (setitimer(which, &timer, NULL)) abort();
}
static long raw_action(int signal, void* next, void* old, size_t size) {
  return syscall(SYS_rt_sigaction, signal, next, old, size);
}
struct kernel_action {
  uint64_t handler, flags, restorer, mask;
};
static void* const nowhere = (void*)8;

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

// ---- calls that wait

static void waits(void) {
  struct timespec sleep = {0, 50 * 1000 * 1000}, left = {0, 0}, none = {0, 0};
  sigset_t mask, empty, pending;
  sigemptyset(&empty);
  set(SIGALRM, note, 0, NULL);
  for (int restarts = 0; restarts < 2; restarts++) {
    set(SIGALRM, note, restarts ? SA_RESTART : 0, NULL);
    clear();
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(nanosleep(&sleep, &left));
    SHOW(left.tv_sec == 0 && left.tv_nsec > 0 && left.tv_nsec < sleep.tv_nsec);
    SHOW(runs);
    set_timer(ITIMER_REAL, 2000, 0);
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, 0, &sleep, &left));
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 5;
    set_timer(ITIMER_REAL, 2000, 0);
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL));
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(pause());
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(poll(NULL, 0, 1000));
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(select(0, NULL, NULL, NULL, &(struct timeval){1, 0}));
    struct timespec second = {1, 0};
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(syscall(SYS_ppoll, NULL, 0, &second, NULL, 8));
    SHOW(second.tv_sec == 0 && second.tv_nsec > 0);
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(sigsuspend(&empty));
    set_timer(ITIMER_REAL, 2000, 0);
    mask_of(&mask, SIGNALS(SIGUSR1));
    CHECK(sigwaitinfo(&mask, NULL));
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(sigtimedwait(&mask, NULL, &sleep));
    int word = 5;
    struct timespec limit = {1, 0};
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(syscall(SYS_futex, &word, 0, 5, &limit, NULL, 0));
    SHOW(runs);
  }
  // Ignored or blocked signals end no wait.
  struct timespec short_sleep = {0, 6000000};
  set(SIGALRM, SIG_IGN, 0, NULL);
  set_timer(ITIMER_REAL, 1000, 0);
  CHECK(nanosleep(&short_sleep, NULL));
  clear();
  set(SIGALRM, note, 0, NULL);
  block(SIGNALS(SIGALRM));
  set_timer(ITIMER_REAL, 1000, 0);
  CHECK(nanosleep(&short_sleep, NULL));
  SHOW(runs);
  SHOW(is_pending(SIGALRM));
  CHECK(sigsuspend(&empty));
  SHOW(runs);
  SHOW(is_pending(SIGALRM));
  sigprocmask(SIG_SETMASK, NULL, &mask);
  SHOW(sigismember(&mask, SIGALRM));  // the mask is what it was

  // A mask for the time of the call.
  clear();
  raise(SIGALRM);
  CHECK(ppoll(NULL, 0, &short_sleep, &empty));
  SHOW(runs);
  sigprocmask(SIG_SETMASK, NULL, &mask);
  SHOW(sigismember(&mask, SIGALRM));
  raise(SIGALRM);
  CHECK(pselect(0, NULL, NULL, NULL, &short_sleep, &empty));
  SHOW(runs);
  raise(SIGALRM);
  CHECK(ppoll(NULL, 0, &none, &empty));
  SHOW(runs);
  raise(SIGALRM);
  struct pollfd out = {1, POLLOUT, 0};
  CHECK(ppoll(&out, 1, &short_sleep, &empty));  // ready: no signal is looked for
  SHOW(runs);
  SHOW(is_pending(SIGALRM));
  CHECK(ppoll(NULL, 0, &short_sleep, NULL));
  SHOW(is_pending(SIGALRM));
  unblock(SIGNALS(SIGALRM));
  SHOW(runs);
  CHECK(syscall(SYS_rt_sigsuspend, &empty, 4));
  CHECK(syscall(SYS_rt_sigsuspend, nowhere, 8));

  // sigtimedwait()
  siginfo_t information;
  block(SIGNALS(SIGUSR1, SIGUSR2, SIGALRM));
  mask_of(&mask, SIGNALS(SIGUSR1, SIGUSR2, SIGALRM));
  CHECK(sigtimedwait(&mask, &information, &none));
  CHECK(sigtimedwait(&mask, &information, &short_sleep));
  CHECK(sigtimedwait(&mask, &information, &(struct timespec){0, -1}));
  CHECK(sigtimedwait(&mask, &information, &(struct timespec){0, 1000000000}));
  CHECK(syscall(SYS_rt_sigtimedwait, &mask, NULL, &none, 4));
  CHECK(syscall(SYS_rt_sigtimedwait, nowhere, NULL, &none, 8));
  CHECK(syscall(SYS_rt_sigtimedwait, &mask, NULL, nowhere, 8));
  clear();
  raise(SIGUSR2);
  sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 5});
  CHECK(sigtimedwait(&mask, &information, &none));
  SHOW(information.si_code);
  SHOW(information.si_signo);
  CHECK(sigtimedwait(&mask, &information, &none));
  SHOW(information.si_value.sival_int);
  raise(SIGUSR1);
  CHECK(syscall(SYS_rt_sigtimedwait, &mask, nowhere, &none, 8));
  SHOW(is_pending(SIGUSR1));  // it is taken nevertheless
  set_timer(ITIMER_REAL, 2000, 0);
  CHECK(sigtimedwait(&mask, &information, &(struct timespec){5, 0}));
  SHOW(information.si_code == SI_KERNEL);
  set_timer(ITIMER_REAL, 2000, 0);
  int taken = 0;
  SHOW(sigwait(&mask, &taken));
  SHOW(taken);
  SHOW(runs);
  sigpending(&pending);
  SHOW(sigisemptyset(&pending));
  unblock(SIGNALS(SIGUSR1, SIGUSR2, SIGALRM));
}

// ---- timers

static void timers(void) {
  struct itimerval timer, old;
  CHECK(getitimer(ITIMER_REAL, &timer));
  SHOW(timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0);
  CHECK(getitimer(3, &timer));
  CHECK(getitimer(ITIMER_REAL, nowhere));
  CHECK(getitimer(3, nowhere));
  CHECK(setitimer(ITIMER_REAL, nowhere, NULL));
  CHECK(syscall(SYS_setitimer, 3, &timer, NULL));
  CHECK(syscall(SYS_setitimer, 3, nowhere, NULL));
  CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 1000000}}, NULL));
  CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, -1}}, NULL));
  CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{-1, 0}, {0, 1}}, NULL));
  CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{3, 4}, {100, 5}}, nowhere));
  CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{7, 8}, {50, 0}}, &old));
  SHOW(old.it_interval.tv_sec * 10 + old.it_interval.tv_usec);
  SHOW(old.it_value.tv_sec == 99 || (old.it_value.tv_sec == 100 && old.it_value.tv_usec <= 5));
  CHECK(getitimer(ITIMER_REAL, &timer));
  SHOW(timer.it_interval.tv_sec * 10 + timer.it_interval.tv_usec);
  CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{7, 8}, {0, 0}}, NULL));
  CHECK(getitimer(ITIMER_REAL, &timer));
  SHOW(timer.it_interval.tv_sec + timer.it_value.tv_sec + timer.it_value.tv_usec);
  CHECK(alarm(10));
  CHECK(alarm(20) >= 9);
  CHECK(alarm(0) >= 19);
  CHECK(alarm(0));

  set_information(SIGALRM, note_information, 0);
  clear();
  set_timer(ITIMER_REAL, 1000, 1000);
  while (runs < 5) pause();
  getitimer(ITIMER_REAL, &timer);
  SHOW(timer.it_interval.tv_usec);
  SHOW(timer.it_value.tv_usec > 0 && timer.it_value.tv_usec <= 1000);
  set_timer(ITIMER_REAL, 0, 0);
  clear();
  set_timer(ITIMER_REAL, 1000, 0);
  for (volatile int i = 0; runs == 0; i++) {}  // without a call
  SHOW(runs);
  // While its signal waits, a timer does not expire again.
  clear();
  block(SIGNALS(SIGALRM));
  set_timer(ITIMER_REAL, 1000, 1000);
  nanosleep(&(struct timespec){0, 10000000}, NULL);
  getitimer(ITIMER_REAL, &timer);
  SHOW(timer.it_value.tv_sec + timer.it_value.tv_usec);
  SHOW(timer.it_interval.tv_usec);
  set_timer(ITIMER_REAL, 0, 0);
  unblock(SIGNALS(SIGALRM));
  SHOW(runs);
  set_information(SIGVTALRM, note_information, 0);
  set_information(SIGPROF, note_information, 0);
  clear();
  set_timer(ITIMER_VIRTUAL, 1000, 0);
  for (volatile int i = 0; runs == 0; i++) {}
  SHOW(order[0] == SIGVTALRM);
  SHOW(last_code == SI_KERNEL);
  clear();
  set_timer(ITIMER_PROF, 1000, 1000);
  for (volatile int i = 0; runs < 3; i++) {}
  set_timer(ITIMER_PROF, 0, 0);
  SHOW(order[2] == SIGPROF);
  CHECK(getitimer(ITIMER_PROF, &timer));
  SHOW(timer.it_interval.tv_usec + timer.it_value.tv_usec);
  clear();
  set_timer(ITIMER_VIRTUAL, 1000000, 0);  // does not count sleep
  nanosleep(&(struct timespec){0, 3000000}, NULL);
  getitimer(ITIMER_VIRTUAL, &timer);
  SHOW(timer.it_value.tv_sec != 0 || timer.it_value.tv_usec > 900000);
  set_timer(ITIMER_VIRTUAL, 0, 0);
  SHOW(runs);
}

// ---- faults

#if defined(__aarch64__)
#define PC(context) ((context)->uc_mcontext.pc)
#define STACK_POINTER(context) ((context)->uc_mcontext.sp)
#define FIRST_ARGUMENT(context) ((context)->uc_mcontext.regs[0])
#define ILLEGAL ".inst 0"
enum { kIllegalBytes = 4 };
#else
#define PC(context) ((context)->uc_mcontext.gregs[REG_RIP])
#define STACK_POINTER(context) ((context)->uc_mcontext.gregs[REG_RSP])
#define FIRST_ARGUMENT(context) ((context)->uc_mcontext.gregs[REG_RDI])
#define ILLEGAL "ud2"
enum { kIllegalBytes = 2 };
#endif

static sigjmp_buf back;
static volatile int fault_signal;
static void jump_back(int signal, siginfo_t* information, void* context) {
  (void)context;
  runs++;
  fault_signal = signal;
  last_code = information->si_code;
  fault_address = (uintptr_t)information->si_addr;
  siglongjmp(back, 1);
}
static void say_fault(const char* what, uintptr_t base) {
  printf("%d %s: signal %d, code %d, address + %ld\n", ++number, what, fault_signal, (int)last_code,
         (long)(fault_address - base));
}
#define FAULT(what, base, ...)                \
  do {                                        \
    fault_signal = last_code = 0;             \
    fault_address = (uintptr_t)(base);        \
    if (sigsetjmp(back, 1) == 0) __VA_ARGS__; \
    say_fault(what, (uintptr_t)(base));       \
  } while (0)

static void skip_illegal(int signal, siginfo_t* information, void* context) {
  ucontext_t* c = context;
  runs++;
  fault_signal = signal;
  fault_address = (uintptr_t)information->si_addr == (uintptr_t)PC(c);
  PC(c) += kIllegalBytes;
}
static volatile int landed;
static void landing(long a) { landed = (int)a; siglongjmp(back, 2); }
static void go_elsewhere(int signal, siginfo_t* information, void* context) {
  (void)signal;
  (void)information;
  ucontext_t* c = context;
  PC(c) = (uintptr_t)landing;
  FIRST_ARGUMENT(c) = 99;
  STACK_POINTER(c) = (STACK_POINTER(c) & ~15ul) - (kIllegalBytes == 2 ? 8 : 0);
}

/// The vector register that the illegal instruction leaves alone, changed by the handler.
static void change_vector(int signal, siginfo_t* information, void* context) {
  (void)signal;
  (void)information;
  ucontext_t* c = context;
#if defined(__aarch64__)
  struct fpsimd_context* f = (struct fpsimd_context*)c->uc_mcontext.__reserved;
  f->vregs[8] += 5;
#else
  c->uc_mcontext.fpregs->_xmm[8].element[0] += 5;
#endif
  PC(c) += kIllegalBytes;
}
static uint64_t through_vector(uint64_t in) {
  uint64_t out;
#if defined(__aarch64__)
  __asm__ volatile("fmov d8, %1\n" ILLEGAL "\nfmov %0, d8" : "=r"(out) : "r"(in) : "v8", "memory");
#else
  __asm__ volatile("movq %1, %%xmm8\n" ILLEGAL "\nmovq %%xmm8, %0" : "=r"(out) : "r"(in) : "xmm8", "memory");
#endif
  return out;
}

static void faults(void) {
  const long page = sysconf(_SC_PAGESIZE);
  char* area = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int s = 0; s < 4; s++) set_information((const int[]){SIGSEGV, SIGBUS, SIGILL, SIGTRAP}[s], jump_back, 0);
  clear();
  FAULT("read of null", 0, (void)*(volatile char*)0);
  FAULT("write at 16", 0, *(volatile char*)16 = 1);
  mprotect(area + page, page, PROT_READ);
  FAULT("write to what may be read", area + page, area[page + 5] = 1);
  FAULT("read of it", area + page, *(volatile char*)(area + page));
  mprotect(area + page, page, PROT_NONE);
  FAULT("read of what has no permission", area + page, *(volatile char*)(area + page + 7));
  munmap(area + 2 * page, page);
  FAULT("read of what is unmapped", area + 2 * page, *(volatile char*)(area + 2 * page));
  FAULT("write of it", area + 2 * page, *(area + 2 * page + 9) = 1);
  FAULT("call of null", 0, ((void (*)(void))(uintptr_t)0)());
  FAULT("call of data", area, ((void (*)(void))area)());
  FAULT("system call gives an error, no signal", 0, (void)write(1, nowhere, 1));
  sigset_t mask;
  sigprocmask(SIG_SETMASK, NULL, &mask);
  SHOW(sigismember(&mask, SIGSEGV));  // sigsetjmp() has put it back
  SHOW(runs);
  clear();
  set_information(SIGILL, skip_illegal, 0);
  __asm__ volatile(ILLEGAL ::: "memory");
  SHOW(fault_signal);
  SHOW(fault_address);
  __asm__ volatile(ILLEGAL "\n" ILLEGAL "\n" ILLEGAL ::: "memory");
  SHOW(runs);
  set_information(SIGILL, change_vector, 0);
  SHOW(through_vector(1000));
  landed = 0;
  set_information(SIGILL, go_elsewhere, 0);
  int jumped = sigsetjmp(back, 1);
  if (jumped == 0) __asm__ volatile(ILLEGAL ::: "memory");
  SHOW(jumped);
  SHOW(landed);
  // Sent by kill(), the signals of faults are like others.
  clear();
  set_information(SIGSEGV, note_information, 0);
  block(SIGNALS(SIGSEGV));
  raise(SIGSEGV);
  SHOW(is_pending(SIGSEGV));
  unblock(SIGNALS(SIGSEGV));
  SHOW(runs);
  SHOW(last_code);
  set_information(SIGFPE, note_information, 0);
  kill(getpid(), SIGFPE);
  SHOW(runs);
  munmap(area, 4 * page);
}

// ---- stacks for handlers

static char big_stack[65536] __attribute__((aligned(16)));
static void note_stack(int signal) {
  char here;
  on_stack = &here >= big_stack && &here < big_stack + sizeof big_stack;
  sigaltstack(NULL, &stack_in_handler);
  note(signal);
}
static volatile int change_error;
static void change_stack(int signal) {
  stack_t other = {big_stack, 0, sizeof big_stack / 2};
  change_error = sigaltstack(&other, NULL) == 0 ? 0 : errno;
  note_stack(signal);
}
static void nested_on_stack(int signal) {
  if (signal == SIGUSR1) raise(SIGUSR2);
  note_stack(signal);
}
static volatile int levels;
static __attribute__((noinline)) int overflow(int n) {
  volatile char room[4096];
  room[n & 4095] = (char)n;
  levels = n;
  return overflow(n + 1) + room[7];
}

static void stacks(void) {
  stack_t stack = {big_stack, 0, sizeof big_stack}, old;
  const stack_t none = {0, SS_DISABLE, 0};
  sigaltstack(&none, NULL);
  CHECK(sigaltstack(NULL, &old));
  SHOW(old.ss_flags);
  SHOW(old.ss_sp == NULL);
  CHECK(sigaltstack(nowhere, NULL));
  CHECK(sigaltstack(NULL, nowhere));
  CHECK(sigaltstack(&(stack_t){big_stack, 0, 100}, NULL));
  CHECK(sigaltstack(&(stack_t){big_stack, 77, sizeof big_stack}, NULL));
  CHECK(sigaltstack(&(stack_t){big_stack, SS_ONSTACK, sizeof big_stack}, NULL));
  CHECK(sigaltstack(&stack, nowhere));
  CHECK(sigaltstack(&stack, &old));
  SHOW(old.ss_flags);
  SHOW(old.ss_size);
  SHOW(old.ss_sp == big_stack);
  clear();
  set(SIGUSR1, note_stack, 0, NULL);
  raise(SIGUSR1);
  SHOW(on_stack);
  SHOW(stack_in_handler.ss_flags);
  set(SIGUSR1, note_stack, SA_ONSTACK, NULL);
  raise(SIGUSR1);
  SHOW(on_stack);
  SHOW(stack_in_handler.ss_flags);
  set(SIGUSR1, change_stack, SA_ONSTACK, NULL);
  raise(SIGUSR1);
  SHOW(change_error == EPERM);
  set(SIGUSR1, nested_on_stack, SA_ONSTACK, NULL);
  set(SIGUSR2, nested_on_stack, SA_ONSTACK, NULL);
  clear();
  raise(SIGUSR1);
  show_order("nested on the same stack");
  stack.ss_flags = (int)(1u << 31);  // SS_AUTODISARM
  CHECK(sigaltstack(&stack, NULL));
  sigaltstack(NULL, &old);
  SHOW(old.ss_flags);
  set(SIGUSR1, change_stack, SA_ONSTACK, NULL);
  raise(SIGUSR1);
  SHOW(change_error);
  SHOW(on_stack);
  CHECK(sigaltstack(NULL, &old));  // what the handler's frame says
  SHOW(old.ss_flags);
  SHOW(old.ss_size);
  CHECK(sigaltstack(&none, NULL));
  CHECK(sigaltstack(NULL, &old));
  SHOW(old.ss_flags);
  SHOW(old.ss_size);
  clear();
  set(SIGUSR1, note_stack, SA_ONSTACK, NULL);
  raise(SIGUSR1);
  SHOW(on_stack);
  // A stack that is full.
  stack.ss_flags = 0;
  sigaltstack(&stack, NULL);
  set_information(SIGSEGV, jump_back, SA_ONSTACK);
  for (int i = 0; i < 3; i++) {
    fault_signal = 0;
    if (sigsetjmp(back, 1) == 0) overflow(0);
    SHOW(fault_signal);
    SHOW(levels > 10);
  }
}

// ---- AArch64 alone

#if defined(__aarch64__)
static volatile uint64_t seen[16];
static void look_at_frame(int signal, siginfo_t* information, void* context) {
  ucontext_t* c = context;
  uint64_t* here = __builtin_frame_address(0);
  (void)signal;
  seen[0] = (uintptr_t)context - (uintptr_t)information;
  seen[1] = (uintptr_t)c->uc_mcontext.__reserved - (uintptr_t)information;
  struct fpsimd_context* f = (struct fpsimd_context*)c->uc_mcontext.__reserved;
  seen[2] = f->head.magic;
  seen[3] = f->head.size;
  seen[4] = (uint64_t)f->vregs[8];
  seen[5] = c->uc_mcontext.regs[19];
  seen[6] = c->uc_mcontext.pstate >> 28;
  // The handler's frame record leads to that of the frame, and on to the interrupted code's.
  uint64_t* record = (uint64_t*)here[0];
  seen[7] = (uintptr_t)record - (uintptr_t)information;
  seen[8] = record[0] == c->uc_mcontext.regs[29] && record[1] == c->uc_mcontext.regs[30];
  seen[9] = (uintptr_t)information % 16;
  seen[10] = ((uint32_t*)here[1])[0];  // what the handler returns to
  seen[11] = ((uint32_t*)here[1])[1];
  seen[12] = c->uc_mcontext.fault_address;
  seen[13] = c->uc_mcontext.sp - (uintptr_t)information;
  PC(c) += 4;
}
static volatile int damage;
static void damage_frame(int signal, siginfo_t* information, void* context) {
  ucontext_t* c = context;
  struct _aarch64_ctx* head = (struct _aarch64_ctx*)c->uc_mcontext.__reserved;
  (void)signal;
  (void)information;
  if (damage == 0) head->magic = 0x12345678;
  if (damage == 1) head->size = 16;
  if (damage == 2) head->magic = head->size = 0;
  if (damage == 3) ((struct _aarch64_ctx*)((char*)head + head->size))->size = 16;
  if (damage == 4) c->uc_mcontext.pstate |= 0x80;
  if (damage == 5) c->uc_mcontext.pstate |= 5;
  if (damage == 6) PC(c) += 1;
  if (damage == 7) PC(c) = 0x1000;
}
static void arm(void) {
  printf("arm checks\n");
  set_information(SIGUSR1, look_at_frame, 0);
  set_information(SIGILL, look_at_frame, 0);
  __asm__ volatile(
      "mov x19, #0x1234\nfmov d8, x19\ncmp x19, x19\n.inst 0" ::: "x19", "v8", "cc", "memory");
  for (int i = 0; i < 10; i++) SHOW(seen[i]);
  SHOW(seen[10] == 0xd2801168 && seen[11] == 0xd4000001);
  SHOW(seen[13] - seen[7]);
  set_information(SIGSEGV, jump_back, SA_ONSTACK);
  set_information(SIGBUS, jump_back, 0);
  set_information(SIGTRAP, jump_back, 0);
  set_information(SIGILL, jump_back, 0);
  set_information(SIGUSR1, damage_frame, 0);
  for (damage = 0; damage < 8; damage++) {
    fault_signal = 0;
    if (sigsetjmp(back, 1) == 0) kill(getpid(), SIGUSR1);
    printf("%d damaged frame %d: signal %d, code %d\n", ++number, damage, fault_signal, (int)last_code);
  }
  uint64_t words[4] __attribute__((aligned(32)));
  uint64_t got;
  FAULT("exclusive that is not aligned", words,
        __asm__ volatile("ldxr %0, [%1]" : "=r"(got) : "r"((uintptr_t)words + 13)));
  FAULT("branch to an odd address", words, ((void (*)(void))((uintptr_t)words + 2))());
  FAULT("brk", &&breakpoint, { breakpoint: __asm__ volatile("brk #7"); });
  FAULT("privileged", &&privileged, { privileged: __asm__ volatile("msr ttbr0_el1, xzr"); });
  FAULT("address of the kernel", 0, (void)*(volatile char*)0xffff000000000010);
  FAULT("address with a tag", 0, (void)*(volatile char*)0x5500000000000010);
  // The exclusive monitor is lost in a handler.
  set(SIGUSR1, note, 0, NULL);
  clear();
}
#else
static void arm(void) {}
#endif

// ---- what ends the process

static void return_only(int signal) { (void)signal; }
static void fault_again(int signal) { *(volatile char* volatile)(uintptr_t)(signal - 3) = 1; }
static void die(int how) {
  sigset_t mask;
  volatile char* volatile low = (volatile char*)8;
  switch (how) {
    case 0: raise(SIGTERM); break;
    case 1: kill(getpid(), SIGKILL); break;
    case 2: abort();
    case 3: *low = 1; break;
    case 4:  // blocked
      block(SIGNALS(SIGSEGV));
      *low = 1;
      break;
    case 5:  // ignored
      set(SIGSEGV, SIG_IGN, 0, NULL);
      *low = 1;
      break;
    case 6:  // in the handler, where it is blocked
      set(SIGSEGV, fault_again, 0, NULL);
      *low = 1;
      break;
    case 7:  // no room for the frame
      set(SIGSEGV, return_only, 0, NULL);
      overflow(0);
      break;
    case 8:  // the same, with another signal
      set(SIGUSR1, return_only, 0, NULL);
#if defined(__aarch64__)
      __asm__ volatile("mov x8, #129\nmov x0, %0\nmov x1, #10\nmov sp, #0x1000\nsvc #0" ::"r"((long)getpid()) : "x0", "x1", "x8", "memory");
#else
      __asm__ volatile("mov $62, %%eax\nmov %0, %%rdi\nmov $10, %%esi\nmov $0x1000, %%rsp\nsyscall" ::"r"((long)getpid()) : "rax", "rdi", "rsi", "rcx", "r11", "memory");
#endif
      break;
    case 9: alarm(1); while (1) pause(); break;
    case 10: set_timer(ITIMER_VIRTUAL, 1000, 0); for (volatile int i = 0;; i++) {} break;
    case 11: set_timer(ITIMER_PROF, 1000, 0); for (volatile int i = 0;; i++) {} break;
    case 12:  // after it has been let through
      mask_of(&mask, SIGNALS(SIGHUP, SIGQUIT));
      block(SIGNALS(SIGHUP, SIGQUIT));
      raise(SIGQUIT);
      raise(SIGHUP);
      sigprocmask(SIG_UNBLOCK, &mask, NULL);
      break;
    case 13: __asm__ volatile(ILLEGAL); break;
    case 14:  // once
      set(SIGUSR1, return_only, SA_RESETHAND, NULL);
      raise(SIGUSR1);
      raise(SIGUSR1);
      break;
    case 15: raise(40); break;
    case 16: raise(SIGFPE); break;
    case 17: set_timer(ITIMER_REAL, 2000, 0); nanosleep(&(struct timespec){10, 0}, NULL); break;
    case 18: sigemptyset(&mask); set_timer(ITIMER_REAL, 2000, 0); sigsuspend(&mask); break;
    default: exit(how == 19 ? 7 : 99);
  }
  exit(3);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 4096);
  if (argc == 3) die(atoi(argv[2]));
  actions();
  senders();
  masks();
  real_time();
  waits();
  timers();
  faults();
  stacks();
  arm();
  return 0;
}
