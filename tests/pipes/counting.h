// SPDX-License-Identifier: Apache-2.0
// What guest programs look at when bytes move: how often a signal came, and what poll() says of a descriptor.
#pragma once

#include <poll.h>
#include <signal.h>
#include <string.h>

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
static int events_of(int fd, int asked) {
  struct pollfd polled = {fd, (short)asked, 0};
  const int count = poll(&polled, 1, 0);
  return count < 0 ? -1 : polled.revents;
}
