// SPDX-License-Identifier: Apache-2.0
// Checks of signals, by the manual pages and the clauses of POSIX: sigaction(2), sigprocmask(2), sigpending(2), sigsuspend(2), sigtimedwait(2), sigqueue(3),
// kill(2), tkill(2), tgkill(2), sigaltstack(2), sigreturn(2), restart_syscall(2), and signal() and raise() of the C standard (7.14).
#include "checking.h"

#include <setjmp.h>
#include <ucontext.h>

static volatile int order[64], nested, deepest;
static volatile int code, value, sender_is_me, user, on_other_stack;
static volatile sig_atomic_t handled;
static sigset_t inside;
static stack_t other;
static void clear(void) { handled = nested = deepest = code = value = sender_is_me = on_other_stack = 0; }
static void note(int signal) {
  if (handled < 64) order[handled] = signal;
  handled++;
  if (++nested > deepest) deepest = nested;
  sigprocmask(SIG_BLOCK, NULL, &inside);
  char here;
  on_other_stack = &here >= (char*)other.ss_sp && &here < (char*)other.ss_sp + other.ss_size;
  if (signal == SIGUSR1 && handled < 3) raise(SIGUSR1);
  nested--;
}
static void note_information(int signal, siginfo_t* information, void* context) {
  (void)context;
  code = information->si_code;
  value = information->si_value.sival_int;
  sender_is_me = information->si_pid == getpid();
  user = (int)information->si_uid;
  if (handled < 64) order[handled] = signal;
  handled++;
}
static void set(int signal, void (*handler)(int), int flags, int masked) {
  struct sigaction action = {.sa_flags = flags};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  if (masked) sigaddset(&action.sa_mask, masked);
  sigaction(signal, &action, NULL);
}
static void set_information(int signal) {
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = note_information;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, NULL);
}
static sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set), sigaddset(&set, signal);
  return set;
}
static void change(int how, int signal) {
  const sigset_t set = only(signal);
  sigprocmask(how, &set, NULL);
}
static int waits(int signal) {
  sigset_t set;
  sigpending(&set);
  return sigismember(&set, signal);
}
static int is_blocked(int signal) {
  sigset_t set;
  sigprocmask(SIG_BLOCK, NULL, &set);
  return sigismember(&set, signal);
}
#define RAW(name, ...) syscall(SYS_##name, __VA_ARGS__)

static void actions(void) {
  struct sigaction action = {0}, old;
  char raw[64];
  GIVES(rt_sigaction, "SIG_DFL at first", 1, sigaction(SIGUSR2, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
  set(SIGUSR2, note, SA_RESTART | SA_NODEFER, SIGTERM);
  GIVES(rt_sigaction, "what was set", 1,
        sigaction(SIGUSR2, NULL, &old) == 0 && old.sa_handler == note && sigismember(&old.sa_mask, SIGTERM));
  FAILS(rt_sigaction, "SIGKILL", EINVAL, sigaction(SIGKILL, &action, NULL));
  FAILS(rt_sigaction, "SIGSTOP", EINVAL, sigaction(SIGSTOP, &action, NULL));
  FAILS(rt_sigaction, "0", EINVAL, sigaction(0, &action, NULL));
  FAILS(rt_sigaction, "65", EINVAL, sigaction(65, &action, NULL));
  FAILS(rt_sigaction, "an action that cannot be read", EFAULT, RAW(rt_sigaction, SIGUSR1, nowhere, NULL, 8));
  FAILS(rt_sigaction, "to where nothing can be written", EFAULT, RAW(rt_sigaction, SIGUSR1, NULL, nowhere, 8));
  FAILS(rt_sigaction, "a set of another size", EINVAL, RAW(rt_sigaction, SIGUSR1, NULL, raw, 4));
  set(SIGTERM, note, 0, SIGHUP);
  clear();
  raise(SIGTERM);
  GIVES(rt_sigaction, "a handler", 1, handled);
  GIVES(rt_sigaction, "its own signal is blocked in it", 1, sigismember(&inside, SIGTERM));
  GIVES(rt_sigaction, "those of the mask are blocked in it", 1, sigismember(&inside, SIGHUP));
  GIVES(rt_sigaction, "others are not", 0, sigismember(&inside, SIGUSR2));
  GIVES(rt_sigreturn, "the mask before is back", 0, is_blocked(SIGTERM) + is_blocked(SIGHUP));
  clear();
  set(SIGUSR1, note, 0, 0);
  raise(SIGUSR1);
  GIVES(rt_sigaction, "a handler is not entered again", 1, deepest);
  GIVES(rt_sigaction, "but after it", 3, handled);
  clear();
  set(SIGUSR1, note, SA_NODEFER, 0);
  raise(SIGUSR1);
  GIVES(rt_sigaction, "SA_NODEFER: it is", 3, deepest);
  clear();
  set(SIGTERM, note, SA_RESETHAND, 0);
  raise(SIGTERM);
  GIVES(rt_sigaction, "SA_RESETHAND", 1, sigaction(SIGTERM, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
  set(SIGTERM, SIG_IGN, 0, 0);
  GIVES(rt_sigaction, "SIG_IGN", 0, raise(SIGTERM));
  GIVES(rt_sigaction, "SIGCHLD, SIGURG, SIGWINCH, SIGCONT do nothing by default", 0,
        raise(SIGCHLD) | raise(SIGURG) | raise(SIGWINCH) | raise(SIGCONT));
  change(SIG_BLOCK, SIGUSR2);
  raise(SIGUSR2);
  set(SIGUSR2, SIG_IGN, 0, 0);
  GIVES(rt_sigaction, "SIG_IGN drops what waits", 0, waits(SIGUSR2));
  change(SIG_UNBLOCK, SIGUSR2);
  // Interrupted calls.
  int ends[2];
  pipe(ends);
  char byte;
  set(SIGALRM, note, 0, 0);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 3000}, {0, 3000}}, NULL);
  FAILS(read, "a handler without SA_RESTART", EINTR, read(ends[0], &byte, 1));
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  close(ends[0]), close(ends[1]);
  FAILS(restart_syscall, "nothing to restart", EINTR, RAW(restart_syscall, 0));
}

static void masks(void) {
  sigset_t set_of, old;
  sigfillset(&set_of);
  GIVES(rt_sigprocmask, "SIG_SETMASK", 0, sigprocmask(SIG_SETMASK, &set_of, &old));
  GIVES(rt_sigprocmask, "the set before", 0, sigismember(&old, SIGUSR1));
  sigprocmask(SIG_BLOCK, NULL, &set_of);
  GIVES(rt_sigprocmask, "SIGKILL and SIGSTOP are not blocked", 0,
        sigismember(&set_of, SIGKILL) + sigismember(&set_of, SIGSTOP));
  set_of = only(SIGUSR1);
  GIVES(rt_sigprocmask, "SIG_UNBLOCK", 0, sigprocmask(SIG_UNBLOCK, &set_of, NULL) == 0 ? is_blocked(SIGUSR1) : -1);
  GIVES(rt_sigprocmask, "SIG_UNBLOCK leaves the others", 1, is_blocked(SIGUSR2));
  sigprocmask(SIG_SETMASK, &old, NULL);
  GIVES(rt_sigprocmask, "SIG_BLOCK", 1, sigprocmask(SIG_BLOCK, &set_of, NULL) == 0 ? is_blocked(SIGUSR1) : -1);
  FAILS(rt_sigprocmask, "a way that is unknown", EINVAL, sigprocmask(77, &set_of, NULL));
  GIVES(rt_sigprocmask, "a way that is unknown, without a set", 0, sigprocmask(77, NULL, &old));
  FAILS(rt_sigprocmask, "a set that cannot be read", EFAULT, RAW(rt_sigprocmask, SIG_BLOCK, nowhere, NULL, 8));
  FAILS(rt_sigprocmask, "to where nothing can be written", EFAULT, RAW(rt_sigprocmask, SIG_BLOCK, NULL, nowhere, 8));
  FAILS(rt_sigprocmask, "a set of another size", EINVAL, RAW(rt_sigprocmask, SIG_BLOCK, &set_of, NULL, 4));
  set(SIGUSR1, note, 0, 0);
  clear();
  handled = 10;  // so that the handler raises no further
  GIVES(rt_sigpending, "none", 0, waits(SIGUSR1));
  raise(SIGUSR1), raise(SIGUSR1);
  GIVES(rt_sigpending, "one that is blocked", 1, waits(SIGUSR1));
  FAILS(rt_sigpending, "to where nothing can be written", EFAULT, RAW(rt_sigpending, nowhere, 8));
  FAILS(rt_sigpending, "a set that is too large", EINVAL, RAW(rt_sigpending, &set_of, 9));
  change(SIG_UNBLOCK, SIGUSR1);
  GIVES(rt_sigpending, "a signal waits once", 11, handled);
  GIVES(rt_sigpending, "none after its delivery", 0, waits(SIGUSR1));
  // sigsuspend
  change(SIG_BLOCK, SIGUSR1);
  raise(SIGUSR1);
  sigemptyset(&set_of);
  FAILS(rt_sigsuspend, "a signal that it lets through", EINTR, sigsuspend(&set_of));
  GIVES(rt_sigsuspend, "the handler has run", 12, handled);
  GIVES(rt_sigsuspend, "the mask before is back", 1, is_blocked(SIGUSR1));
  FAILS(rt_sigsuspend, "a set that cannot be read", EFAULT, RAW(rt_sigsuspend, nowhere, 8));
  FAILS(rt_sigsuspend, "a set of another size", EINVAL, RAW(rt_sigsuspend, &set_of, 4));
  // sigtimedwait
  siginfo_t information;
  const struct timespec none = {0, 0}, short_time = {0, 1000000}, negative = {-1, 0}, long_time = {1000, 0};
  set_of = only(SIGUSR1);
  FAILS(rt_sigtimedwait, "no signal waits", EAGAIN, sigtimedwait(&set_of, &information, &none));
  FAILS(rt_sigtimedwait, "the time has passed", EAGAIN, sigtimedwait(&set_of, &information, &short_time));
  raise(SIGUSR1);
  GIVES(rt_sigtimedwait, "a signal that waits", SIGUSR1, RAW(rt_sigtimedwait, &set_of, &information, &long_time, 8));
  GIVES(rt_sigtimedwait, "its number", SIGUSR1, information.si_signo);
  GIVES(rt_sigtimedwait, "SI_TKILL", SI_TKILL, information.si_code);
  GIVES(rt_sigtimedwait, "its sender", 1, information.si_pid == getpid() && information.si_uid == getuid());
  GIVES(rt_sigtimedwait, "it no longer waits", 0, waits(SIGUSR1));
  kill(getpid(), SIGUSR1);
  GIVES(rt_sigtimedwait, "SI_USER", SI_USER, sigwaitinfo(&set_of, &information) == SIGUSR1 ? information.si_code : -1);
  raise(SIGUSR1);
  GIVES(rt_sigtimedwait, "nowhere to write to", SIGUSR1, sigwaitinfo(&set_of, NULL));
  FAILS(rt_sigtimedwait, "a negative time", EINVAL, sigtimedwait(&set_of, &information, &negative));
  FAILS(rt_sigtimedwait, "a set of another size", EINVAL, RAW(rt_sigtimedwait, &set_of, &information, &none, 4));
  FAILS(rt_sigtimedwait, "a set that cannot be read", EFAULT, RAW(rt_sigtimedwait, nowhere, &information, &none, 8));
  FAILS(rt_sigtimedwait, "a time that cannot be read", EFAULT, RAW(rt_sigtimedwait, &set_of, &information, nowhere, 8));
  raise(SIGUSR1);
  FAILS(rt_sigtimedwait, "to where nothing can be written", EFAULT, RAW(rt_sigtimedwait, &set_of, nowhere, &none, 8));
  alarms(0);
  FAILS(rt_sigtimedwait, "another signal", EINTR, sigtimedwait(&set_of, &information, &long_time));
  no_alarms();
  change(SIG_UNBLOCK, SIGUSR1);
}

static void senders(void) {
  siginfo_t information;
  memset(&information, 0, sizeof information);
  set_information(SIGUSR2);
  clear();
  GIVES(kill, "oneself", 0, kill(getpid(), SIGUSR2));
  GIVES(kill, "it comes before kill() returns", 1, handled);
  GIVES(kill, "SI_USER", SI_USER, code);
  GIVES(kill, "the sender", 1, sender_is_me);
  GIVES(kill, "its user", 1000, user);
  GIVES(kill, "0 sends nothing", 1, kill(getpid(), 0) == 0 ? handled : -1);
  GIVES(kill, "one's group", 2, kill(0, SIGUSR2) == 0 ? handled : -1);
  FAILS(kill, "a signal that is unknown", EINVAL, kill(getpid(), 65));
  FAILS(kill, "a negative signal", EINVAL, kill(getpid(), -1));
  FAILS(kill, "nobody", ESRCH, kill(kNobody, SIGUSR2));
  FAILS(kill, "a group that is not there", ESRCH, kill(-kNobody, SIGUSR2));
  FAILS(kill, "another's process", EPERM, kill(1, SIGUSR2));
  GIVES(tkill, "oneself", 0, RAW(tkill, getpid(), SIGUSR2));
  GIVES(tkill, "SI_TKILL", SI_TKILL, code);
  FAILS(tkill, "no thread", EINVAL, RAW(tkill, 0, SIGUSR2));
  FAILS(tkill, "a signal that is unknown", EINVAL, RAW(tkill, getpid(), 65));
  FAILS(tkill, "nobody", ESRCH, RAW(tkill, kNobody, SIGUSR2));
  FAILS(tkill, "another's process", EPERM, RAW(tkill, 1, SIGUSR2));
  GIVES(tgkill, "oneself", 0, RAW(tgkill, getpid(), getpid(), SIGUSR2));
  FAILS(tgkill, "no process", EINVAL, RAW(tgkill, 0, getpid(), SIGUSR2));
  FAILS(tgkill, "no thread", EINVAL, RAW(tgkill, getpid(), 0, SIGUSR2));
  FAILS(tgkill, "a signal that is unknown", EINVAL, RAW(tgkill, getpid(), getpid(), 65));
  FAILS(tgkill, "nobody", ESRCH, RAW(tgkill, getpid(), kNobody, SIGUSR2));
  FAILS(tgkill, "the thread of another process", ESRCH, RAW(tgkill, kNobody, getpid(), SIGUSR2));
  FAILS(tgkill, "another's process", EPERM, RAW(tgkill, 1, 1, SIGUSR2));
  clear();
  GIVES(rt_sigqueueinfo, "a value", 4711,
        sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 4711}) == 0 ? value : -1);
  GIVES(rt_sigqueueinfo, "SI_QUEUE", SI_QUEUE, code);
  GIVES(rt_sigqueueinfo, "the sender", 1, sender_is_me);
  FAILS(rt_sigqueueinfo, "a signal that is unknown", EINVAL, sigqueue(getpid(), 65, (union sigval){0}));
  FAILS(rt_sigqueueinfo, "nobody", ESRCH, sigqueue(kNobody, SIGUSR2, (union sigval){0}));
  FAILS(rt_sigqueueinfo, "another's process", EPERM, sigqueue(1, SIGUSR2, (union sigval){0}));
  FAILS(rt_sigqueueinfo, "information that cannot be read", EFAULT, RAW(rt_sigqueueinfo, getpid(), SIGUSR2, nowhere));
  information.si_code = SI_USER;
  FAILS(rt_sigqueueinfo, "to pretend to be kill(), to another", EPERM, RAW(rt_sigqueueinfo, 1, SIGUSR2, &information));
  information.si_code = SI_QUEUE, information.si_value.sival_int = 5;
  GIVES(rt_tgsigqueueinfo, "a value", 5,
        RAW(rt_tgsigqueueinfo, getpid(), getpid(), SIGUSR2, &information) == 0 ? value : -1);
  FAILS(rt_tgsigqueueinfo, "no process", EINVAL, RAW(rt_tgsigqueueinfo, 0, getpid(), SIGUSR2, &information));
  FAILS(rt_tgsigqueueinfo, "no thread", EINVAL, RAW(rt_tgsigqueueinfo, getpid(), 0, SIGUSR2, &information));
  FAILS(rt_tgsigqueueinfo, "a signal that is unknown", EINVAL,
        RAW(rt_tgsigqueueinfo, getpid(), getpid(), 65, &information));
  FAILS(rt_tgsigqueueinfo, "nobody", ESRCH, RAW(rt_tgsigqueueinfo, kNobody, kNobody, SIGUSR2, &information));
  FAILS(rt_tgsigqueueinfo, "information that cannot be read", EFAULT,
        RAW(rt_tgsigqueueinfo, getpid(), getpid(), SIGUSR2, nowhere));
  information.si_code = SI_USER;
  FAILS(rt_tgsigqueueinfo, "to pretend to be kill(), to another", EPERM,
        RAW(rt_tgsigqueueinfo, 1, 1, SIGUSR2, &information));
  // Real-time signals.
  const int low = SIGRTMIN, high = SIGRTMIN + 1;
  set_information(low), set_information(high);
  change(SIG_BLOCK, low), change(SIG_BLOCK, high);
  clear();
  for (int i = 1; i <= 3; i++)
    sigqueue(getpid(), low, (union sigval){.sival_int = i}),
        sigqueue(getpid(), high, (union sigval){.sival_int = 10 + i});
  sigset_t both = only(low);
  sigaddset(&both, high);
  GIVES(rt_sigtimedwait, "the lowest real-time signal first", low, sigwaitinfo(&both, &information));
  GIVES(rt_sigtimedwait, "the first that was sent first", 1, information.si_value.sival_int);
  GIVES(rt_sigtimedwait, "then the next", 2,
        sigwaitinfo(&both, &information) == low ? information.si_value.sival_int : -1);
  GIVES(rt_sigtimedwait, "then the last", 3,
        sigwaitinfo(&both, &information) == low ? information.si_value.sival_int : -1);
  GIVES(rt_sigtimedwait, "then the higher", 11,
        sigwaitinfo(&both, &information) == high ? information.si_value.sival_int : -1);
  change(SIG_UNBLOCK, high);
  GIVES(rt_sigqueueinfo, "each is delivered", 2, handled);
  GIVES(rt_sigqueueinfo, "the last is delivered last", 13, value);
  struct rlimit limit;
  getrlimit(RLIMIT_SIGPENDING, &limit);
  setrlimit(RLIMIT_SIGPENDING, &(struct rlimit){0, limit.rlim_max});
  FAILS(rt_sigqueueinfo, "more than RLIMIT_SIGPENDING", EAGAIN, sigqueue(getpid(), low, (union sigval){0}));
  FAILS(rt_tgsigqueueinfo, "more than RLIMIT_SIGPENDING", EAGAIN,
        RAW(rt_tgsigqueueinfo, getpid(), getpid(), low, (information.si_code = SI_QUEUE, &information)));
  FAILS(tkill, "a real-time signal beyond RLIMIT_SIGPENDING", EAGAIN, RAW(tkill, getpid(), low));
  FAILS(tgkill, "a real-time signal beyond RLIMIT_SIGPENDING", EAGAIN, RAW(tgkill, getpid(), getpid(), low));
  FAILS(timer_create, "more than RLIMIT_SIGPENDING", EAGAIN, RAW(timer_create, CLOCK_MONOTONIC, NULL, &value));
  GIVES(kill, "a real-time signal beyond RLIMIT_SIGPENDING comes without information", 0, kill(getpid(), low));
  setrlimit(RLIMIT_SIGPENDING, &limit);
}

static sigjmp_buf back;
static volatile int stack_flags, fault_code;
static void* volatile fault_address;
static void look_at_stack(int signal) {
  stack_t now;
  sigaltstack(NULL, &now);
  stack_flags = now.ss_flags;
  errno = 0;
  value = sigaltstack(&other, NULL) == -1 ? errno : 0;
  note(signal);
}
static void fault(int signal, siginfo_t* information, void* context) {
  (void)context;
  last_signal = signal, fault_code = information->si_code, fault_address = information->si_addr;
  siglongjmp(back, 1);
}
static void skip(int signal, siginfo_t* information, void* context) {
  (void)signal, (void)information;
  sigaddset(&((ucontext_t*)context)->uc_sigmask, SIGUSR2);
}
static void stacks(void) {
  stack_t old;
  static char room[65536];
  clear();
  GIVES(sigaltstack, "none at first", SS_DISABLE, sigaltstack(NULL, &old) == 0 ? old.ss_flags : -1);
  other = (stack_t){.ss_sp = room, .ss_size = sizeof room};
  GIVES(sigaltstack, "a stack", 0, sigaltstack(&other, NULL));
  GIVES(sigaltstack, "what was set", 1,
        sigaltstack(NULL, &old) == 0 && old.ss_sp == room && old.ss_size == sizeof room && old.ss_flags == 0);
  set(SIGTERM, look_at_stack, SA_ONSTACK, 0);
  raise(SIGTERM);
  GIVES(sigaltstack, "SA_ONSTACK", 1, on_other_stack);
  GIVES(sigaltstack, "SS_ONSTACK there", SS_ONSTACK, stack_flags);
  RETURNS(sigaltstack, "a change there", EPERM, value);
  set(SIGTERM, note, 0, 0);
  raise(SIGTERM);
  GIVES(sigaltstack, "without SA_ONSTACK", 0, on_other_stack);
  FAILS(sigaltstack, "a flag that is unknown", EINVAL,
        sigaltstack(&(stack_t){.ss_sp = room, .ss_flags = 77, .ss_size = sizeof room}, NULL));
  FAILS(sigaltstack, "too small a stack", ENOMEM, sigaltstack(&(stack_t){.ss_sp = room, .ss_size = 100}, NULL));
  FAILS(sigaltstack, "a stack that cannot be read", EFAULT, sigaltstack(nowhere, NULL));
  FAILS(sigaltstack, "to where nothing can be written", EFAULT, sigaltstack(NULL, nowhere));
  GIVES(sigaltstack, "SS_DISABLE", 0, sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL));
  GIVES(sigaltstack, "none after SS_DISABLE", SS_DISABLE, sigaltstack(NULL, &old) == 0 ? old.ss_flags : -1);
  // What a handler changes in its frame.
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = skip;
  sigaction(SIGTERM, &action, NULL);
  raise(SIGTERM);
  GIVES(rt_sigreturn, "the mask of the frame is set", 1, is_blocked(SIGUSR2));
  change(SIG_UNBLOCK, SIGUSR2);
  // Faults.
  action.sa_sigaction = fault;
  sigaction(SIGSEGV, &action, NULL), sigaction(SIGTRAP, &action, NULL), sigaction(SIGILL, &action, NULL);
  if (sigsetjmp(back, 1) == 0) *(volatile char*)8 = 1;
  GIVES(rt_sigaction, "a fault", SIGSEGV, last_signal);
  GIVES(rt_sigaction, "its address", 8, fault_address);
  GIVES(rt_sigaction, "SEGV_MAPERR", SEGV_MAPERR, fault_code);
  GIVES(rt_sigprocmask, "siglongjmp() has restored the mask", 0, is_blocked(SIGSEGV));
  // 7.14 of the C standard.
  clear();
  handled = 10;
  GIVES(signal, "7.14.1.1: what was set before", 1, signal(SIGINT, note) == SIG_DFL);
  GIVES(raise, "7.14.2.1: 0 if it succeeds", 0, raise(SIGINT));
  GIVES(raise, "7.14.2.1: the handler has run before raise() returns", 11, handled);
  GIVES(signal, "7.14.1.1: SIG_IGN", 1, signal(SIGINT, SIG_IGN) == note);
  GIVES(raise, "7.14.1.1: a signal that is ignored", 0, raise(SIGINT));
  FAILS(signal, "7.14.1.1: SIG_ERR and errno", EINVAL, signal(777, note) == SIG_ERR ? -1 : 0);
}

int main(void) {
  actions();
  masks();
  senders();
  stacks();
  return 0;
}
