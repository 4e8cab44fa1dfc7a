// SPDX-License-Identifier: Apache-2.0
// Checks of pipes.c by the clauses of setrlimit(2), capget(2), personality(2), times(2), prctl(2), setfsuid(2), clock_settime(2).
#pragma once

#include <linux/capability.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/times.h>

#include "printing.h"

static void limits(void) {
  struct rlimit limit, set;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit));
  SHOW(limit.rlim_cur);
  CHECK(getrlimit(16, &limit));
  CHECK(getrlimit(RLIMIT_NOFILE, nowhere));
  CHECK(setrlimit(16, &limit));
  CHECK(setrlimit(RLIMIT_NOFILE, nowhere));
  set = (struct rlimit){20, 10};
  CHECK(setrlimit(RLIMIT_NOFILE, &set));
  set = (struct rlimit){10, 1024};
  CHECK(setrlimit(RLIMIT_NOFILE, &set));
  CHECK(getrlimit(RLIMIT_NOFILE, &limit));
  SHOW(limit.rlim_cur);
  SHOW(limit.rlim_max);
  int fds[2], made = 0;
  while (made < 20 && dup(1) >= 0) made++;
  CHECK(dup(1));
  CHECK(pipe(fds));
  CHECK(eventfd(0, 0));
  CHECK(dup2(1, 10));
  CHECK(dup2(1, 9));
  CHECK(fcntl(1, F_DUPFD, 10));
  CHECK(fcntl(1, F_DUPFD, 3));
  set.rlim_cur = 12;
  CHECK(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &set, &limit));
  SHOW(limit.rlim_cur);
  CHECK(dup(1));
  CHECK(dup(1));
  CHECK(dup(1));
  CHECK(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nowhere, NULL));
  CHECK(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, nowhere));
  set.rlim_cur = 1024;
  CHECK(setrlimit(RLIMIT_NOFILE, &set));
  CHECK(dup2(1, 1023));
  CHECK(dup2(1, 1024));
  syscall(SYS_close_range, 3, ~0u, 0);
  set = (struct rlimit){5000, 6000};
  CHECK(setrlimit(RLIMIT_RSS, &set));
  CHECK(getrlimit(RLIMIT_RSS, &limit));
  SHOW(limit.rlim_cur + limit.rlim_max);
}

static void privileges(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  CHECK(syscall(SYS_capget, &header, NULL));
  CHECK(syscall(SYS_capget, nowhere, data));
  CHECK(syscall(SYS_capget, &header, nowhere));
  header.version = 5;
  CHECK(syscall(SYS_capget, &header, data));
  SHOW(header.version == _LINUX_CAPABILITY_VERSION_3);
  header.version = 5;
  CHECK(syscall(SYS_capget, &header, NULL));
  header.pid = -1;
  CHECK(syscall(SYS_capget, &header, data));
  header.pid = 1 << 30;
  CHECK(syscall(SYS_capget, &header, data));
  CHECK(syscall(SYS_capset, &header, data));
  header.pid = 0;
  CHECK(syscall(SYS_capset, &header, nowhere));
  header.version = 7;
  CHECK(syscall(SYS_capset, &header, data));
  CHECK(personality(0xffffffff));
  CHECK(personality(ADDR_NO_RANDOMIZE));
  CHECK(personality(0xffffffff) == ADDR_NO_RANDOMIZE);
  CHECK(personality(0) == ADDR_NO_RANDOMIZE);
  struct tms spent;
  CHECK(times(&spent) > 0 ? 0 : 0);
  SHOW(spent.tms_cutime + spent.tms_cstime);
  CHECK(syscall(SYS_times, nowhere));
  CHECK(syscall(SYS_clock_settime, CLOCK_MONOTONIC, &(struct timespec){1, 0}));
  CHECK(syscall(SYS_clock_settime, 99, &(struct timespec){1, 0}));
  CHECK(syscall(SYS_clock_settime, CLOCK_REALTIME, nowhere));
  CHECK(syscall(SYS_clock_settime, CLOCK_REALTIME, &(struct timespec){1, 1000000000}));
  int value = 77;
  CHECK(prctl(PR_GET_DUMPABLE));
  CHECK(prctl(PR_SET_DUMPABLE, 0));
  CHECK(prctl(PR_GET_DUMPABLE));
  CHECK(prctl(PR_SET_DUMPABLE, 5));
  CHECK(prctl(PR_SET_DUMPABLE, 1));
  CHECK(prctl(PR_SET_PDEATHSIG, 15));
  CHECK(prctl(PR_GET_PDEATHSIG, &value));
  SHOW(value);
  CHECK(prctl(PR_GET_PDEATHSIG, nowhere));
  CHECK(prctl(PR_SET_PDEATHSIG, 65));
  CHECK(prctl(PR_SET_PDEATHSIG, 0));
  CHECK(prctl(PR_GET_KEEPCAPS));
  CHECK(prctl(PR_SET_KEEPCAPS, 2));
  CHECK(prctl(PR_SET_KEEPCAPS, 1));
  CHECK(prctl(PR_GET_KEEPCAPS));
  CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1));
  CHECK(prctl(PR_GET_CHILD_SUBREAPER, &value));
  SHOW(value);
  CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 2, 0, 0, 0));
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 1));
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  CHECK(prctl(PR_GET_TIMERSLACK));
  CHECK(prctl(PR_SET_TIMERSLACK, 1234));
  CHECK(prctl(PR_GET_TIMERSLACK));
  CHECK(prctl(PR_SET_TIMERSLACK, 0));
  CHECK(prctl(PR_GET_TIMERSLACK));
  CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
  CHECK(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
  CHECK(prctl(PR_GET_THP_DISABLE, 1, 0, 0, 0));
}
