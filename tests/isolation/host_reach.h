// SPDX-License-Identifier: Apache-2.0
// Attempts to reach processes, kernel and clocks of the host.
#pragma once
#include <sys/ptrace.h>
#include <sys/time.h>

#include "trying.h"

static void signals_to_others(void) {
  for (int process = 2; process < 40000; process += 37) {
    if (process != getpid()) TRY(kill(process, SIGKILL));
  }
  TRY(kill(1, SIGKILL));
  TRY(kill(getppid(), SIGKILL));
  TRY(kill(-12345, SIGKILL));
  TRY(syscall(SYS_tgkill, 1, 1, SIGKILL));
  TRY(syscall(SYS_rt_sigqueueinfo, 1, SIGKILL, (char[128]){0}));
  report();
}
static void signal_to_all(void) {
  signal(SIGTERM, SIG_IGN);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGTERM, SIG_DFL);
    while (1) pause();
  }
  sched_yield(), sched_yield();
  kill(-1, SIGTERM);
  report_child(child);
}
static void other_memory(void) {
  char byte;
  struct {
    void* at;
    size_t size;
  } here = {&byte, 1}, there = {(void*)0x400000, 1};
  for (int process = 1; process < 2000; process += 111) {
    TRY(ptrace(PTRACE_ATTACH, process, NULL, NULL));
    TRY(syscall(SYS_process_vm_readv, process, &here, 1, &there, 1, 0));
    TRY(syscall(SYS_process_vm_writev, process, &here, 1, &there, 1, 0));
    if (process != getpid()) TRY(syscall(SYS_prlimit64, process, 7, NULL, (uint64_t[2]){0}));
  }
  report();
}
static void kernel(void) {
  static const short numbers[] = {SYS_reboot,
                                  SYS_init_module,
                                  SYS_finit_module,
                                  SYS_delete_module,
                                  SYS_bpf,
                                  SYS_perf_event_open,
                                  SYS_add_key,
                                  SYS_keyctl,
                                  SYS_kexec_load,
                                  SYS_swapon,
                                  SYS_acct,
                                  SYS_quotactl,
                                  SYS_syslog,
                                  SYS_userfaultfd,
                                  SYS_seccomp,
                                  SYS_vhangup,
                                  425 /* io_uring_setup */,
                                  426,
                                  427,
                                  SYS_io_setup,
                                  SYS_fanotify_init,
                                  SYS_inotify_init1,
                                  444 /* landlock */};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) TRY(syscall(numbers[i], 1, 1, 1, 1, 1, 1));
  report();
}
static void shared_by_all(void) {
  TRY(syscall(SYS_shmget, 1, 4096, 01666));
  TRY(syscall(SYS_msgget, 1, 01666));
  TRY(syscall(SYS_semget, 1, 1, 01666));
  TRY(syscall(SYS_mq_open, "x", O_CREAT | O_RDWR, 0666, NULL));
  TRY(syscall(SYS_mbind, 0, 0, 0, 0, 0, 0));
  TRY(syscall(SYS_mlockall, 3));
  report();
}
static void clocks(void) {
  TRY(syscall(SYS_clock_settime, 0, &(struct timespec){1, 0}));
  TRY(syscall(SYS_settimeofday, &(struct timeval){1, 0}, NULL));
  TRY(sethostname("x", 1));
  TRY(syscall(SYS_setdomainname, "x", 1));
  report();
}
