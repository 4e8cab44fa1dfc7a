// SPDX-License-Identifier: Apache-2.0
// Checks of pipes.c by the clauses of epoll(7), epoll_create(2), epoll_ctl(2), epoll_wait(2).
#pragma once

#include "event_checks.h"

static long add(int set, int fd, unsigned events, uint64_t data) {
  struct epoll_event event = {events, {.u64 = data}};
  return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}
static long modify(int set, int fd, unsigned events, uint64_t data) {
  struct epoll_event event = {events, {.u64 = data}};
  return epoll_ctl(set, EPOLL_CTL_MOD, fd, &event);
}
static int by_data(const void* a, const void* b) {
  const uint64_t first = ((const struct epoll_event*)a)->data.u64, second = ((const struct epoll_event*)b)->data.u64;
  return first < second ? -1 : first > second;
}
/// Prints what is ready, in the order of the data.
static void ready(int set, int most, int time) {
  struct epoll_event events[64];
  errno = 0;
  const int count = epoll_wait(set, events, most, time);
  printf("%d ready: %d %s", ++number, count, count < 0 ? strerrorname_np(errno) : "");
  if (count > 0) qsort(events, (size_t)count, sizeof *events, by_data);
  for (int i = 0; i < count; i++) printf(" %x:%llx", events[i].events, (unsigned long long)events[i].data.u64);
  printf("\n");
}

static void epolls(void) {
  CHECK(epoll_create1(1));
  CHECK(epoll_create(0));
  const int set = epoll_create1(EPOLL_CLOEXEC);
  SHOW(set >= 0);
  CHECK(fcntl(set, F_GETFD));
  CHECK(fcntl(set, F_GETFL) == O_RDWR);
  int fds[2], other[2];
  pipe2(fds, O_NONBLOCK);
  pipe2(other, O_NONBLOCK);
  struct epoll_event event = {EPOLLIN, {.u64 = 1}};
  CHECK(epoll_ctl(set, EPOLL_CTL_ADD, fds[0], nowhere));
  CHECK(epoll_ctl(99, EPOLL_CTL_ADD, fds[0], &event));
  CHECK(epoll_ctl(set, EPOLL_CTL_ADD, 99, &event));
  CHECK(epoll_ctl(fds[1], EPOLL_CTL_ADD, fds[0], &event));
  CHECK(epoll_ctl(set, EPOLL_CTL_ADD, set, &event));
  CHECK(epoll_ctl(set, 7, fds[0], &event));
  CHECK(epoll_ctl(set, EPOLL_CTL_MOD, fds[0], &event));
  CHECK(epoll_ctl(set, EPOLL_CTL_DEL, fds[0], NULL));
  CHECK(add(set, fds[0], EPOLLIN, 0x1234567890));
  CHECK(add(set, fds[0], EPOLLIN, 1));
  CHECK(read(set, block, 8));
  CHECK(write(set, block, 8));
  CHECK(lseek(set, 0, SEEK_SET));
  ready(set, 0, 0);
  ready(set, -1, 0);
  ready(99, 1, 0);
  ready(fds[0], 1, 0);
  ready(set, 10, 0);
  ready(set, 10, 3);
  CHECK(write(fds[1], "abc", 3));
  CHECK(syscall(SYS_epoll_pwait, set, nowhere, 1, 0, NULL, 8));
  sigset_t none;
  sigemptyset(&none);
  struct epoll_event some[4];
  CHECK(syscall(SYS_epoll_pwait, set, some, 1, 0, &none, 4));
  CHECK(syscall(SYS_epoll_pwait, set, some, 1, 0, nowhere, 8));
  CHECK(syscall(SYS_epoll_pwait, set, some, 1, 0, &none, 8));
  ready(set, 10, 0);
  ready(set, 10, -1);
  SHOW(events_of(set, POLLIN | POLLOUT));
  CHECK(read(fds[0], block, 3));
  ready(set, 10, 0);
  SHOW(events_of(set, POLLIN | POLLOUT));
  CHECK(add(set, fds[1], EPOLLOUT | EPOLLIN, 2));
  ready(set, 10, 0);
  CHECK(modify(set, fds[1], 0, 2));
  ready(set, 10, 0);
  // Edges.
  CHECK(modify(set, fds[0], EPOLLIN | EPOLLET, 3));
  ready(set, 10, 0);
  CHECK(write(fds[1], "abc", 3));
  ready(set, 10, 0);
  ready(set, 10, 0);
  CHECK(write(fds[1], "abc", 3));
  ready(set, 10, 0);
  ready(set, 10, 0);
  CHECK(read(fds[0], block, 2));
  ready(set, 10, 0);
  CHECK(modify(set, fds[0], EPOLLIN | EPOLLET, 4));
  ready(set, 10, 0);
  ready(set, 10, 0);
  CHECK(read(fds[0], block, 10));
  CHECK(modify(set, fds[1], EPOLLOUT | EPOLLET, 5));
  ready(set, 10, 0);
  ready(set, 10, 0);
  while (write(fds[1], block, 4096) > 0) {
  }
  ready(set, 10, 0);
  CHECK(read(fds[0], block, 4096));
  ready(set, 10, 0);
  ready(set, 10, 0);
  while (read(fds[0], block, 4096) > 0) {
  }
  // Once.
  CHECK(modify(set, fds[1], 0, 5));
  CHECK(modify(set, fds[0], EPOLLIN | EPOLLONESHOT, 6));
  CHECK(write(fds[1], "abc", 3));
  ready(set, 10, 0);
  ready(set, 10, 0);
  CHECK(write(fds[1], "abc", 3));
  ready(set, 10, 0);
  CHECK(modify(set, fds[0], EPOLLIN | EPOLLONESHOT, 7));
  ready(set, 10, 0);
  ready(set, 10, 0);
  CHECK(modify(set, fds[0], EPOLLIN, 8));
  // What is closed goes, when the last descriptor of it does.
  const int copy = dup(fds[0]);
  CHECK(add(set, copy, EPOLLIN, 9));
  ready(set, 10, 0);
  CHECK(close(fds[0]));
  ready(set, 10, 0);
  CHECK(close(copy));
  ready(set, 10, 0);
  CHECK(modify(set, fds[1], EPOLLOUT, 10));
  ready(set, 10, 0);
  CHECK(epoll_ctl(set, EPOLL_CTL_DEL, fds[1], NULL));
  CHECK(epoll_ctl(set, EPOLL_CTL_DEL, fds[1], NULL));
  CHECK(add(set, other[0], EPOLLIN, 11));
  CHECK(close(other[1]));
  ready(set, 10, 0);
  CHECK(modify(set, other[0], 0, 12));
  ready(set, 10, 0);
  close(other[0]);
  close(fds[1]);
  // Counters, timers, signals.
  const int counter = eventfd(0, EFD_NONBLOCK), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  CHECK(add(set, counter, EPOLLIN | EPOLLOUT, 20));
  CHECK(add(set, timer, EPOLLIN, 21));
  ready(set, 10, 0);
  put(counter, 1);
  ready(set, 10, 0);
  CHECK(modify(set, counter, EPOLLIN | EPOLLET, 20));
  ready(set, 10, 0);
  ready(set, 10, 0);
  put(counter, 1);
  ready(set, 10, 0);
  struct itimerspec time = spec(50 * MS, 60 * MS);
  CHECK(timerfd_settime(timer, 0, &time, NULL));
  ready(set, 10, 1);
  ready(set, 10, -1);
  ready(set, 10, -1);
  CHECK(modify(set, timer, EPOLLIN | EPOLLET, 21));
  ready(set, 10, -1);
  ready(set, 10, 120);
  SHOW(take(timer) > 0);
  ready(set, 10, -1);
  time = spec(0, 0);
  CHECK(timerfd_settime(timer, 0, &time, NULL));
  alarms(SA_RESTART);
  ready(set, 10, -1);
  ready(set, 10, 60000);
  no_alarms();
  SHOW(runs > 0);
  struct timespec limit = {0, 3 * MS};
  CHECK(syscall(441, set, some, 4, &limit, NULL, 0));
  limit.tv_nsec = -1;
  CHECK(syscall(441, set, some, 4, &limit, NULL, 0));
  // Sets in sets.
  int sets[8];
  for (int i = 0; i < 8; i++) sets[i] = epoll_create1(0);
  for (int i = 0; i < 7; i++) CHECK(add(sets[i], sets[i + 1], EPOLLIN, (uint64_t)i));
  CHECK(add(sets[1], sets[0], EPOLLIN, 1));
  CHECK(add(sets[4], sets[0], EPOLLIN, 1));
  CHECK(epoll_ctl(sets[0], EPOLL_CTL_DEL, sets[1], NULL));
  CHECK(add(sets[4], sets[0], EPOLLIN, 1));
  CHECK(add(sets[4], set, EPOLLIN, 1));
  ready(sets[1], 10, 0);
  put(counter, 1);
  ready(sets[1], 10, 0);
  SHOW(events_of(sets[2], POLLIN));
  ready(set, 10, 0);
  ready(sets[1], 10, 0);
  for (int i = 0; i < 8; i++) close(sets[i]);
  // Files are always ready.
  const int memory = (int)syscall(SYS_memfd_create, "file", 0);
  if (memory >= 0) CHECK(add(set, memory, EPOLLIN, 1));
  else printf("%d add(set, memory, EPOLLIN, 1): EPERM\n", ++number);  // without a root there are no files
  close(memory);
  // Many.
  int made = 0;
  static int all[300][2];
  for (; made < 300 && pipe(all[made]) == 0; made++) add(set, all[made][0], EPOLLIN, 100 + (uint64_t)made);
  SHOW(made);
  for (int i = 0; i < made; i += 7) write(all[i][1], "x", 1);
  long sum = 0, rounds = 0;
  struct epoll_event events[16];
  for (int count; (count = epoll_wait(set, events, 16, 0)) > 0 && rounds < 100; rounds++) {
    for (int i = 0; i < count; i++) {
      sum += (long)events[i].data.u64;
      read(all[events[i].data.u64 - 100][0], block, 1);
    }
  }
  SHOW(sum);
  SHOW(rounds);
  // None is left out if fewer are asked for than are ready.
  for (int i = 0; i < 10; i++) write(all[i][1], "x", 1);
  unsigned seen = 0;
  for (int i = 0; i < 10; i++) {
    SHOW(epoll_wait(set, events, 1, 0));
    seen |= 1u << (events[0].data.u64 - 100);
  }
  SHOW(seen);
  for (int i = 0; i < made; i++) {
    close(all[i][0]);
    close(all[i][1]);
  }
  ready(set, 10, 0);
  close(counter);
  close(timer);
  CHECK(close(set));
}
