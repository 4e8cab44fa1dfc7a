// SPDX-License-Identifier: Apache-2.0
// A random sequence of calls about signals, each printed with its result and with what handlers have seen: the same program runs
// natively on the host's Linux and under myriarm.
//   random SEED STEPS
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Numbers of the kernel, two of which do nothing by default; the C library keeps 32 and 33.
static const int signals[] = {SIGUSR1, SIGUSR2, SIGTERM, SIGCHLD, SIGURG, SIGHUP, SIGSEGV, SIGBUS, 40, 41, 42, 43};
enum { kSignals = sizeof signals / sizeof *signals };

static uint64_t state;
static unsigned below(unsigned end) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % end;
}
static int any_signal(void) { return signals[below(kSignals)]; }
static uint64_t any_mask(void) {
  uint64_t mask = 0;
  for (int i = 0; i < kSignals; i++) mask |= (uint64_t)(below(3) == 0) << (signals[i] - 1);
  return mask;
}
static uint64_t blocked(void) {
  uint64_t mask;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8);
  return mask;
}
static uint64_t pending(void) {
  uint64_t mask = 0;
  syscall(SYS_rt_sigpending, &mask, 8);
  return mask;
}

static char stack[1 << 17] __attribute__((aligned(16)));
static volatile int depth;
static void note(int signal, int code, int value) {
  char here;
  printf("%*s  handler of %d: code %d, value %d, mask %lx, on its stack %d\n", depth * 2, "", signal, code, value,
         (unsigned long)blocked(), &here >= stack && &here < stack + sizeof stack);
  if (depth < 3 && below(4) == 0) {
    depth++;
    const int next = any_signal();
    printf("%*s  raise %d\n", depth * 2, "", next);
    raise(next);
    depth--;
  }
}
static void plain(int signal) { note(signal, 0, 0); }
static void informed(int signal, siginfo_t* information, void* context) {
  (void)context;
  note(signal, information->si_code, information->si_code == SI_QUEUE ? information->si_value.sival_int : 0);
}

static void set_action(void) {
  static const int flags[] = {SA_NODEFER, SA_ONSTACK, SA_RESTART, SA_SIGINFO, SA_NOCLDSTOP};
  const int signal = any_signal();
  struct sigaction action, old;
  memset(&action, 0, sizeof action);
  for (int i = 0; i < 5; i++) action.sa_flags |= below(2) ? flags[i] : 0;
  const unsigned kind = below(5);
  if (kind == 0) action.sa_handler = SIG_IGN;
  else if (kind == 1 && (signal == SIGCHLD || signal == SIGURG)) action.sa_handler = SIG_DFL;
  else if (action.sa_flags & SA_SIGINFO) action.sa_sigaction = informed;
  else action.sa_handler = plain;
  // Not through the C library's types, which hide nothing here but would clear bits.
  const uint64_t mask = any_mask();
  memcpy(&action.sa_mask, &mask, 8);
  const int result = sigaction(signal, &action, &old);
  uint64_t before;
  memcpy(&before, &old.sa_mask, 8);
  printf("action of %d: %d, before %x %lx\n", signal, result, old.sa_flags & ~0x4000000, (unsigned long)before);
}

static void step(void) {
  uint64_t mask;
  siginfo_t information;
  const struct timespec none = {0, 0};
  switch (below(10)) {
    case 0: {
      mask = any_mask();
      const int how = (int)below(3);
      printf("mask %d %lx\n", how, (unsigned long)mask);
      syscall(SYS_rt_sigprocmask, how, &mask, NULL, 8);
      break;
    }
    case 1: set_action(); break;
    case 2: {
      const int signal = any_signal();
      printf("kill %d\n", signal);
      kill(getpid(), signal);
      break;
    }
    case 3: {
      const int signal = any_signal();
      printf("raise %d\n", signal);
      syscall(SYS_tkill, getpid(), signal);
      break;
    }
    case 4:
    case 5: {
      const int signal = any_signal(), value = (int)below(100);
      printf("queue %d %d\n", signal, value);
      sigqueue(getpid(), signal, (union sigval){.sival_int = value});
      break;
    }
    case 6: {
      mask = any_mask();
      memset(&information, 0, sizeof information);
      const long taken = syscall(SYS_rt_sigtimedwait, &mask, &information, &none, 8);
      printf("wait %lx: %ld, code %d, value %d\n", (unsigned long)mask, taken, taken > 0 ? information.si_code : errno,
             taken > 0 && information.si_code == SI_QUEUE ? information.si_value.sival_int : 0);
      break;
    }
    case 7: {
      mask = any_mask();
      const long result = syscall(SYS_ppoll, NULL, 0, &none, &mask, 8);
      printf("poll %lx: %ld %d\n", (unsigned long)mask, result, result < 0 ? errno : 0);
      break;
    }
    case 8: {
      stack_t next = {stack, below(3) == 0 ? SS_DISABLE : 0,
                      (size_t[]){sizeof stack, sizeof stack / 2, 1024}[below(3)]},
              old = {0};
      if (below(4) == 0) next.ss_flags |= (int)(1u << 31);
      const int result = sigaltstack(&next, &old);
      printf("stack: %d, before %d %lu\n", result, old.ss_flags, (unsigned long)old.ss_size);
      break;
    }
    default: printf("pending %lx, mask %lx\n", (unsigned long)pending(), (unsigned long)blocked()); break;
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  state = strtoul(argv[1], NULL, 0);
  for (int i = 0; i < kSignals; i++) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    if (signals[i] != SIGCHLD && signals[i] != SIGURG) {
      action.sa_flags = SA_SIGINFO;
      action.sa_sigaction = informed;
    }
    sigaction(signals[i], &action, NULL);
  }
  for (long i = strtol(argv[2], NULL, 0); i > 0; i--) step();
  const uint64_t nothing = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &nothing, NULL, 8);
  printf("end: pending %lx\n", (unsigned long)pending());
  return 0;
}
