// SPDX-License-Identifier: Apache-2.0
// What guest programs look at when bytes move: whether signals came, alarms that interrupt calls, and what poll() says of a descriptor.
#pragma once

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

static volatile sig_atomic_t runs, last_signal;
static void count_signal(int signal) {
  last_signal = signal;
  runs++;
}
static void on_signal(int signal, int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = count_signal;
  action.sa_flags = flags;
  sigaction(signal, &action, NULL);
  runs = 0;
}
/// From now on a SIGALRM each 3 ms, until no_alarms(): one alone could come before the call that it should interrupt.
static inline void alarms(int flags) {
  on_signal(SIGALRM, flags);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 3000}, {0, 3000}}, NULL);
}
static inline void no_alarms(void) {
  const int error = errno;
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  signal(SIGALRM, SIG_IGN);
  errno = error;
}
/// What a call gives that alarms interrupt; `runs` says how many came.
#define AMID_ALARMS(flags, call)     \
  __extension__({                    \
    alarms(flags);                   \
    const long amid_alarms = (call); \
    no_alarms();                     \
    amid_alarms;                     \
  })
static int events_of(int fd, int asked) {
  struct pollfd polled = {fd, (short)asked, 0};
  const int count = poll(&polled, 1, 0);
  return count < 0 ? -1 : polled.revents;
}
