// SPDX-License-Identifier: Apache-2.0
// Numbered checks of pipes and other descriptors that no file is behind, each printed with its result: the same program runs natively
// on the host's Linux, under QEMU and under myriarm.
#include "epoll_checks.h"
#include "limit_checks.h"
#include "pipe_checks.h"
#include "socket_checks.h"

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 4096);
  making();
  moving();
  sizes();
  ends();
  packets();
  waiting();
  many();
  counters();
  timer_files();
  signal_files();
  posix_timers();
  sockets();
  epolls();
  limits();
  privileges();
  return 0;
}
