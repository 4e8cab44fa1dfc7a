// SPDX-License-Identifier: Apache-2.0
// Numbered checks of threads, by the clauses of clone(2), futex(2), set_robust_list(2), tgkill(2), sched(7) and the manual pages of its
// calls, each printed with its result: the same program runs natively on the host's Linux, under QEMU and under myriarm.
//   threads          all checks
//   threads die N    what ends the process: its status is the result
#include "calls.h"
#include "futexes.h"
#include "signals.h"

// ---- what ends the process

static void* leave_by_exit(void* argument) {
  let_others_wait();
  syscall(SYS_exit, (long)argument);
  return NULL;
}
static void* exit_group(void* argument) {
  let_others_wait();
  exit((int)(long)argument);
}
static void* kill_process(void* argument) {
  let_others_wait();
  kill(getpid(), (int)(long)argument);
  for (;;) pause();
}
static void* kill_first(void* argument) {
  let_others_wait();
  syscall(SYS_tgkill, getpid(), getpid(), (int)(long)argument);
  for (;;) {
  }
}
static void* fault(void* argument) {
  let_others_wait();
  *(volatile int*)nowhere = 1;
  return argument;
}
static void* wait_for_ever(void* argument) {
  for (;;) pause();
  return argument;
}
static void die(int how) {
  switch (how) {
    case 0:
      start(leave_by_exit, (void*)3);
      syscall(SYS_exit, 5);
      break;
    case 1:
      start(exit_group, (void*)4);
      syscall(SYS_exit, 5);
      break;
    case 2: start(wait_for_ever, NULL); exit(6);
    case 3: finish(start(kill_process, (void*)SIGTERM)); break;
    case 4:
      mask(SIG_BLOCK, SIGTERM);
      start(wait_for_ever, NULL);
      mask(SIG_BLOCK, SIGTERM);
      finish(start(kill_process, (void*)SIGKILL));
      break;
    case 5: finish(start(kill_first, (void*)SIGHUP)); break;
    case 6: finish(start(fault, NULL)); break;
    case 7: start(leave_by_exit, (void*)3); pthread_exit(NULL);
    case 8:
      alarm(1);
      finish(start(wait_for_ever, NULL));
      break;
    case 9: finish(start(leave_by_exit, (void*)3)); exit(8);
    case 10: {  // as many as there may be
      pthread_attr_t attributes;
      pthread_attr_init(&attributes);
      pthread_attr_setstacksize(&attributes, 16384);
      pthread_t thread;
      setrlimit(RLIMIT_NPROC, &(struct rlimit){128, 128});
      for (long i = 0; i < 100000; i++) {
        const int failed = pthread_create(&thread, &attributes, wait_for_ever, NULL);
        if (failed) _exit(failed);
      }
      break;
    }
    default: break;
  }
  exit(99);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 4096);
  if (geteuid() == 0 && (setresgid(1000, 1000, 1000) || setresuid(1000, 1000, 1000))) return 1;
  if (argc == 3) die(atoi(argv[2]));
  clones();
  futex_waits();
  futex_requeues();
  futex_wake_ops();
  futex_locks();
  robust_lists();
  to_threads();
  to_process();
  stacks();
  clocks();
  scheduling();
  return 0;
}
