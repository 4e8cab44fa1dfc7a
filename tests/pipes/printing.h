// SPDX-License-Identifier: Apache-2.0
// What the guest programs of these tests print: numbered checks with their results.
#pragma once

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "counting.h"

static int number;
static void say(const char* what, long result) {
  if (result < 0) printf("%d %s: %s\n", ++number, what, strerrorname_np(errno));
  else printf("%d %s: %ld\n", ++number, what, result);
}
static void say_value(const char* what, long value) { printf("%d %s: %ld\n", ++number, what, value); }
#define CHECK(call) (errno = 0, say(#call, (long)(call)))
#define SHOW(value) say_value(#value, (long)(value))
/// An address that nobody may access.
static void* nowhere = (void*)8;

static char block[1 << 20];
static int non_blocking(int fd) { return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }
