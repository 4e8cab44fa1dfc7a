// SPDX-License-Identifier: Apache-2.0
// What the programs have in common whose checks move bytes between pipes, files and sockets.
#pragma once

// clang-format off
#include "checks.h"  // before the others: it says which calls are wanted
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "../pipes/counting.h"
// clang-format on

#define SHOW(value) CHECK(value)

static void* nowhere = (void*)8;
static char block[1 << 18], got[1 << 18];
/// A call that a signal ends, however late it begins to wait.
static long interrupted;
#define INTERRUPTED(call) (interrupted = AMID_ALARMS(0, call), say(#call, interrupted), CHECK(runs != 0))

/// The bytes of a pipe, by their number and their sum; it is empty then.
static void show_pipe(const char* what, int fd) {
  int ready = -1;
  ioctl(fd, FIONREAD, &ready);
  const long size = ready > 0 ? read(fd, got, sizeof got) : 0;
  printf("  %s: %d ready, %ld read, sum %x\n", what, ready, size,
         sum_of((unsigned char*)got, size > 0 ? (size_t)size : 0, 0));
}
static void show_at(int fd) { printf("  at %ld\n", (long)lseek(fd, 0, SEEK_CUR)); }
/// How many writes of one byte to a pipe fit, in slots of their own if the last cannot take more.
static int free_room(int fd) {
  int writes = 0;
  while (write(fd, block, 4096) == 4096) writes++;
  return writes;
}
static int file(const char* name, int flags, long size) {
  const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
  for (long done = 0; done < size; done += 10000)
    write(fd, block + done % 1000, (size_t)(size - done < 10000 ? size - done : 10000));
  close(fd);
  return open(name, flags);
}
static void begin(void) {
  setvbuf(stdout, NULL, _IOFBF, 4096);
  for (unsigned i = 0; i < sizeof block; i++) block[i] = (char)(i * 7 % 251 + i / 4096);
}
