// SPDX-License-Identifier: Apache-2.0
// Checks of pipes.c by the clauses of pipe(2), pipe(7), fcntl(2), read(2), write(2), poll(2), select(2), dup(2), close_range(2).
#pragma once

#include "printing.h"

static void making(void) {
  int fds[2], more[2];
  CHECK(syscall(SYS_pipe2, fds, 1));
  CHECK(syscall(SYS_pipe2, fds, ~0));
  CHECK(syscall(SYS_pipe2, nowhere, 0));
  CHECK(syscall(SYS_pipe2, fds, 0));
  SHOW(fds[0]);
  SHOW(fds[1]);
  CHECK(fcntl(fds[0], F_GETFD));
  CHECK(fcntl(fds[0], F_GETFL));
  CHECK(fcntl(fds[1], F_GETFL));
  CHECK(pipe2(more, O_CLOEXEC | O_NONBLOCK));
  CHECK(fcntl(more[0], F_GETFD));
  CHECK(fcntl(more[1], F_GETFD));
  CHECK(fcntl(more[0], F_GETFL) == (O_RDONLY | O_NONBLOCK));
  CHECK(fcntl(more[1], F_GETFL) == (O_WRONLY | O_NONBLOCK));
  CHECK(fcntl(more[0], F_SETFD, 0));
  CHECK(fcntl(more[0], F_GETFD));
  CHECK(fcntl(more[0], F_SETFD, FD_CLOEXEC));
  CHECK(fcntl(more[0], F_GETFD));
  CHECK(ioctl(more[0], FIONCLEX));
  CHECK(fcntl(more[0], F_GETFD));
  CHECK(ioctl(more[0], FIOCLEX));
  CHECK(fcntl(more[0], F_GETFD));
  const int copy = fcntl(more[0], F_DUPFD_CLOEXEC, 20);
  SHOW(copy);
  CHECK(fcntl(copy, F_GETFD));
  CHECK(dup2(more[0], 21));
  CHECK(fcntl(21, F_GETFD));
  CHECK(dup3(more[0], 21, O_CLOEXEC));
  CHECK(fcntl(21, F_GETFD));
  CHECK(fcntl(21, F_SETFL, 0));
  CHECK(fcntl(more[0], F_GETFL));  // the flags are the opening's
  CHECK(fcntl(21, F_SETFL, O_NONBLOCK));
  int on = 0;
  CHECK(ioctl(more[0], FIONBIO, &on));
  CHECK(fcntl(21, F_GETFL));
  on = 1;
  CHECK(ioctl(more[0], FIONBIO, &on));
  CHECK(fcntl(21, F_GETFL) == O_NONBLOCK);
  CHECK(ioctl(more[0], FIONBIO, nowhere));
  CHECK(fcntl(more[0], F_SETFL, O_NONBLOCK | O_APPEND | O_RDWR));
  CHECK(fcntl(more[0], F_GETFL) == (O_NONBLOCK | O_APPEND));
  struct stat status, other;
  CHECK(fstat(fds[0], &status));
  CHECK(fstat(fds[1], &other));
  SHOW(S_ISFIFO(status.st_mode));
  SHOW(status.st_mode & 07777);
  SHOW(status.st_ino == other.st_ino);
  SHOW(status.st_size);
  SHOW(status.st_nlink);
  SHOW(status.st_uid == getuid());
  SHOW(status.st_blksize);
  CHECK(fstat(more[0], &other));
  SHOW(status.st_ino != other.st_ino);
  CHECK(fstat(fds[0], &other));
  SHOW(status.st_ino == other.st_ino);
  CHECK(lseek(fds[0], 0, SEEK_SET));
  CHECK(lseek(fds[1], 0, SEEK_CUR));
  CHECK(pread(fds[0], block, 1, 0));
  CHECK(pwrite(fds[1], block, 1, 0));
  CHECK(preadv(fds[0], NULL, 0, 0));
  CHECK(ftruncate(fds[1], 0));
  CHECK(fsync(fds[1]));
  CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fds[0], 0) == MAP_FAILED ? -1 : 0);
  CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fds[1], 0) == MAP_FAILED ? -1 : 0);
  CHECK(read(fds[1], block, 1));
  CHECK(write(fds[0], block, 1));
  CHECK(readv(fds[1], NULL, 0));
  CHECK(writev(fds[0], NULL, 0));
  CHECK(isatty(fds[0]));
  CHECK(close(fds[0]));
  CHECK(close(fds[0]));
  CHECK(close(fds[1]));
  CHECK(syscall(SYS_close_range, 20, 21, 0));
  CHECK(fcntl(copy, F_GETFD));
  CHECK(syscall(SYS_close_range, 21, 20, 0));
  CHECK(syscall(SYS_close_range, 3, ~0u, 64));
  CHECK(fcntl(more[0], F_SETFD, 0));
  CHECK(syscall(SYS_close_range, more[0], ~0u, 4 /* CLOSE_RANGE_CLOEXEC */));
  CHECK(fcntl(more[0], F_GETFD));
  CHECK(syscall(SYS_close_range, more[0], ~0u, 0));
  CHECK(fcntl(more[1], F_GETFD));
}

static void moving(void) {
  int fds[2], ready = -1;
  CHECK(pipe2(fds, O_NONBLOCK));
  CHECK(read(fds[0], block, 10));
  CHECK(read(fds[0], block, 0));
  CHECK(write(fds[1], block, 0));
  CHECK(write(fds[1], "hello", 5));
  CHECK(ioctl(fds[0], FIONREAD, &ready));
  SHOW(ready);
  CHECK(ioctl(fds[1], FIONREAD, &ready));
  SHOW(ready);
  CHECK(ioctl(fds[0], FIONREAD, nowhere));
  CHECK(write(fds[1], " world", 6));
  char text[32] = "";
  CHECK(read(fds[0], text, 7));
  SHOW(memcmp(text, "hello w", 7));
  CHECK(read(fds[0], text, sizeof text));
  SHOW(memcmp(text, "orld", 4));
  CHECK(read(fds[0], text, sizeof text));
  char first[3], second[4];
  struct iovec pieces[3] = {{"abc", 3}, {NULL, 0}, {"defgh", 5}}, into[2] = {{first, 3}, {second, 4}};
  CHECK(writev(fds[1], pieces, 3));
  CHECK(writev(fds[1], pieces, 0));
  CHECK(writev(fds[1], pieces, -1));
  CHECK(writev(fds[1], nowhere, 1));
  CHECK(readv(fds[0], into, 2));
  SHOW(memcmp(first, "abc", 3) | memcmp(second, "defg", 4));
  CHECK(readv(fds[0], into, 2));
  SHOW(first[0]);
  CHECK(write(fds[1], nowhere, 5));
  CHECK(write(fds[1], "x", 1));
  CHECK(read(fds[0], nowhere, 1));
  CHECK(read(fds[0], text, 1));
  CHECK(close(fds[0]));
  CHECK(close(fds[1]));
}

/// How much fits into an empty pipe in writes of one size; then, when it is full, how much of other sizes.
static void capacity(int size, int slots) {
  int fds[2];
  pipe2(fds, O_NONBLOCK);
  if (slots != 0) CHECK(fcntl(fds[1], F_SETPIPE_SZ, slots * 4096));
  long total = 0, writes = 0, got;
  while ((got = write(fds[1], block, (size_t)size)) > 0) {
    total += got;
    writes++;
  }
  printf("%d writes of %d: %ld bytes, %ld writes, %s\n", ++number, size, total, writes, strerrorname_np(errno));
  CHECK(write(fds[1], block, 1));
  CHECK(write(fds[1], block, 100));
  CHECK(write(fds[1], block, 4097));
  SHOW(events_of(fds[1], POLLOUT));
  SHOW(read(fds[0], block, 1));
  SHOW(events_of(fds[1], POLLOUT));
  SHOW(read(fds[0], block, 4095));
  SHOW(events_of(fds[1], POLLOUT));
  CHECK(write(fds[1], block, 5000));
  SHOW(read(fds[0], block, 4096));
  SHOW(events_of(fds[1], POLLOUT));
  CHECK(write(fds[1], block, 5000));
  CHECK(write(fds[1], block, 30));
  while ((got = read(fds[0], block, 777)) > 0) total -= got;
  SHOW(total);
  close(fds[0]);
  close(fds[1]);
}

static void sizes(void) {
  int fds[2];
  pipe2(fds, O_NONBLOCK);
  CHECK(fcntl(fds[0], F_GETPIPE_SZ));
  CHECK(fcntl(fds[1], F_GETPIPE_SZ));
  CHECK(fcntl(fds[1], F_SETPIPE_SZ, 1));
  CHECK(fcntl(fds[1], F_SETPIPE_SZ, 0));
  CHECK(fcntl(fds[1], F_SETPIPE_SZ, 5000));
  CHECK(fcntl(fds[1], F_SETPIPE_SZ, 12289));
  CHECK(fcntl(fds[0], F_SETPIPE_SZ, 1 << 17));
  CHECK(fcntl(fds[1], F_GETPIPE_SZ));
  CHECK(fcntl(fds[1], F_SETPIPE_SZ, 1 << 20));
  CHECK(fcntl(fds[1], F_SETPIPE_SZ, 0x80000001u));
  CHECK(write(fds[1], block, 300000));
  CHECK(fcntl(fds[1], F_SETPIPE_SZ, 1 << 16));
  CHECK(fcntl(fds[1], F_GETPIPE_SZ));
  CHECK(read(fds[0], block, 250000));
  CHECK(fcntl(fds[1], F_SETPIPE_SZ, 1 << 16));
  CHECK(fcntl(fds[1], F_SETPIPE_SZ, 1 << 13));
  CHECK(read(fds[0], block, 50000));
  CHECK(read(fds[0], block, 50000));
  CHECK(fcntl(fds[1], F_SETPIPE_SZ, 4096));
  CHECK(write(fds[1], block, 5000));
  CHECK(write(fds[1], block, 1));
  CHECK(fcntl(fds[1], F_SETPIPE_SZ, 8192));
  CHECK(write(fds[1], block, 5000));
  CHECK(read(fds[0], block, 10000));
  CHECK(fcntl(0, F_GETPIPE_SZ) >= 0 || errno == EBADF);
  close(fds[0]);
  close(fds[1]);
  const int counters[] = {1, 100, 1000, 1365, 2048, 2049, 4095, 4096, 4097, 10000, 65536, 100000};
  for (unsigned i = 0; i < sizeof counters / sizeof *counters; i++) capacity(counters[i], 0);
  capacity(3000, 1);
  capacity(3000, 32);
}

static void ends(void) {
  int fds[2], other[2];
  on_signal(SIGPIPE, 0);
  pipe2(fds, O_NONBLOCK);
  SHOW(events_of(fds[0], POLLIN | POLLOUT));
  SHOW(events_of(fds[1], POLLIN | POLLOUT));
  CHECK(write(fds[1], "abc", 3));
  SHOW(events_of(fds[0], POLLIN | POLLRDNORM | POLLPRI));
  SHOW(events_of(fds[0], 0));
  const int copy = dup(fds[1]);
  CHECK(close(fds[1]));
  SHOW(events_of(fds[0], POLLIN));
  CHECK(close(copy));
  SHOW(events_of(fds[0], POLLIN));
  SHOW(events_of(fds[0], 0));
  CHECK(read(fds[0], block, 2));
  CHECK(read(fds[0], block, 2));
  CHECK(read(fds[0], block, 2));
  SHOW(events_of(fds[0], POLLIN));
  CHECK(close(fds[0]));
  pipe2(fds, 0);
  CHECK(write(fds[1], "abc", 3));
  CHECK(close(fds[0]));
  SHOW(events_of(fds[1], POLLOUT));
  SHOW(events_of(fds[1], 0));
  CHECK(write(fds[1], "abc", 3));
  SHOW(runs);
  CHECK(write(fds[1], "abc", 0));
  SHOW(runs);
  CHECK(write(fds[1], nowhere, 3));
  SHOW(runs);
  signal(SIGPIPE, SIG_IGN);
  CHECK(write(fds[1], "abc", 3));
  CHECK(close(fds[1]));
  // Sets of select().
  pipe2(fds, 0);
  pipe2(other, 0);
  fd_set in, out, exceptional;
  for (int step = 0; step < 4; step++) {
    if (step == 1) CHECK(write(fds[1], "abc", 3));
    if (step == 2) CHECK(close(other[1]));
    if (step == 3) CHECK(close(fds[0]));
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_ZERO(&exceptional);
    if (step != 3) FD_SET(fds[0], &in);
    FD_SET(other[0], &in);
    FD_SET(fds[1], &out);
    FD_SET(fds[1], &exceptional);
    CHECK(select(32, &in, &out, &exceptional, &(struct timeval){0, 0}));
    SHOW(FD_ISSET(fds[0], &in) != 0);
    SHOW(FD_ISSET(other[0], &in) != 0);
    SHOW(FD_ISSET(fds[1], &out) != 0);
    SHOW(FD_ISSET(fds[1], &exceptional) != 0);
  }
  FD_SET(fds[0], &in);
  CHECK(select(32, &in, NULL, NULL, &(struct timeval){0, 0}));
  struct pollfd many[4] = {{fds[1], POLLOUT, 0}, {other[0], POLLIN, 0}, {-1, POLLIN, 7}, {99, POLLIN, 0}};
  CHECK(poll(many, 4, 0));
  for (int i = 0; i < 4; i++) SHOW(many[i].revents);
  CHECK(close(fds[1]));
  CHECK(close(other[0]));
  signal(SIGPIPE, SIG_DFL);
}

static void packets(void) {
  int fds[2];
  CHECK(pipe2(fds, O_DIRECT | O_NONBLOCK));
  CHECK(fcntl(fds[1], F_GETFL) == (O_WRONLY | O_DIRECT | O_NONBLOCK));
  CHECK(write(fds[1], "abcdef", 6));
  CHECK(write(fds[1], "gh", 2));
  CHECK(write(fds[1], block, 5000));
  int ready = 0;
  CHECK(ioctl(fds[0], FIONREAD, &ready));
  SHOW(ready);
  CHECK(read(fds[0], block, 3));
  CHECK(read(fds[0], block, 100));
  CHECK(read(fds[0], block, 10000));
  CHECK(read(fds[0], block, 10000));
  CHECK(read(fds[0], block, 10000));
  long writes = 0;
  while (write(fds[1], "x", 1) == 1) writes++;
  SHOW(writes);
  CHECK(fcntl(fds[1], F_SETFL, O_NONBLOCK));
  CHECK(read(fds[0], block, 10));
  CHECK(write(fds[1], "abc", 3));
  CHECK(read(fds[0], block, 10));
  CHECK(write(fds[1], "def", 3));
  CHECK(fcntl(fds[1], F_SETFL, O_NONBLOCK | O_DIRECT));
  CHECK(write(fds[1], "ghi", 3));
  for (long i = writes - 2; i > 0; i--) read(fds[0], block, 10);
  CHECK(read(fds[0], block, 6));
  CHECK(read(fds[0], block, 10));
  close(fds[0]);
  close(fds[1]);
}

static void waiting(void) {
  int fds[2];
  pipe2(fds, 0);
  CHECK(AMID_ALARMS(0, read(fds[0], block, 1)));
  SHOW(runs > 0);
  CHECK(write(fds[1], block, 65536));
  CHECK(AMID_ALARMS(0, write(fds[1], block, 1)));
  SHOW(runs > 0);
  CHECK(read(fds[0], block, 8192));
  CHECK(AMID_ALARMS(0, write(fds[1], block, 20000)));  // what fits has been written
  SHOW(runs > 0);
  int ready;
  ioctl(fds[0], FIONREAD, &ready);
  SHOW(ready);
  struct pollfd polled = {fds[1], POLLOUT, 0};
  CHECK(poll(&polled, 1, 5));
  CHECK(AMID_ALARMS(0, poll(&polled, 1, 60000)));
  SHOW(runs > 0);
  fd_set out;
  FD_ZERO(&out);
  FD_SET(fds[1], &out);
  CHECK(AMID_ALARMS(0, select(10, NULL, &out, NULL, NULL)));
  SHOW(runs > 0);
  close(fds[0]);
  close(fds[1]);
}

/// As many pipes as there are descriptors.
static void many(void) {
  static int fds[2048];
  int count = 0;
  while (count < 1024 && pipe(&fds[2 * count]) == 0) count++;
  const int problem = errno;
  SHOW(count);
  printf("%d %s\n", ++number, strerrorname_np(problem));
  CHECK(dup(1));
  CHECK(pipe(&fds[2 * count]));
  long sum = 0;
  for (int i = 0; i < count; i++) sum += write(fds[2 * i + 1], block, 4096 + (size_t)i);
  SHOW(sum);
  for (int i = 0; i < count; i++) sum -= read(fds[2 * i], block, 10000);
  SHOW(sum);
  for (int i = 0; i < 2 * count; i++) close(fds[i]);
  CHECK(pipe(fds));
  SHOW(fds[0]);
  close(fds[0]);
  close(fds[1]);
}
