// SPDX-License-Identifier: Apache-2.0
// Numbered checks of signals, by the clauses of signal(7), sigaction(2), sigprocmask(2), sigpending(2), sigsuspend(2), pause(2),
// sigtimedwait(2), sigqueue(3), sigaltstack(2), sigreturn(2), setitimer(2) and alarm(2), each printed with its result: the same
// program runs natively on the host's Linux, under QEMU and under myriarm. Lines that begin with "arm" are about AArch64 alone.
//   signals          all checks
//   signals die N    what ends the process: its status is the result
#include "faulting.h"
#include "sending.h"
#include "waiting.h"

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
      __asm__ volatile("mov x8, #129\nmov x0, %0\nmov x1, #10\nmov sp, #0x1000\nsvc #0" ::"r"((long)getpid())
                       : "x0", "x1", "x8", "memory");
#else
      __asm__ volatile(
          "mov $62, %%eax\nmov %0, %%rdi\nmov $10, %%esi\nmov $0x1000, %%rsp\nsyscall" ::"r"((long)getpid())
          : "rax", "rdi", "rsi", "rcx", "r11", "memory");
#endif
      break;
    case 9:
      alarm(1);
      while (1) pause();
      break;
    case 10:
      set_timer(ITIMER_VIRTUAL, 1000, 0);
      for (volatile int i = 0;; i++) {
      }
      break;
    case 11:
      set_timer(ITIMER_PROF, 1000, 0);
      for (volatile int i = 0;; i++) {
      }
      break;
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
    case 17:
      set_timer(ITIMER_REAL, 2000, 0);
      nanosleep(&(struct timespec){10, 0}, NULL);
      break;
    case 18:
      sigemptyset(&mask);
      set_timer(ITIMER_REAL, 2000, 0);
      sigsuspend(&mask);
      break;
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
