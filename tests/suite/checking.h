// SPDX-License-Identifier: Apache-2.0
// What the programs of the suite share: numbered checks. Each names its call and what it is about, and says what the manual page has for it.
//   GIVES(call, about, value, expression)   the expression has this value
//   FAILS(call, about, error, expression)   the expression is -1, and errno is this error
//   RETURNS(call, about, error, expression) the expression is itself the number of an error, or 0
// Printed is "7 openat, a file that is not there: ENOENT", and behind that what the manual says where it says otherwise.
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
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../pipes/counting.h"

static int number;
// By write() alone: nothing that a check does to streams, memory or children changes what is printed.
static void say(const char* call, const char* about, const char* expected, const char* got) {
  char line[500];
  int size = snprintf(line, sizeof line, "%d %s, %s: %s", ++number, call, about, got);
  if (strcmp(expected, got) != 0)
    size += snprintf(line + size, sizeof line - (size_t)size, " (%s by the manual)", expected);
  line[size++] = '\n';
  long written;
  while ((written = write(1, line, (size_t)size)) == -1 && errno == EINTR) {
  }
  if (written != size) _exit(90);
}
static const char* name_of(int error, char* text) {
  const char* name = error == 0 ? "0" : strerrorname_np(error);
  if (name) return name;
  sprintf(text, "error %d", error);
  return text;
}
static void gives(const char* call, const char* about, long value, long result) {
  char expected[30], got[30];
  sprintf(expected, "%ld", value);
  sprintf(got, "%ld", result);
  char unknown[30];
  say(call, about, expected, result == -1 && errno != 0 ? name_of(errno, unknown) : got);
}
static void fails(const char* call, const char* about, const char* expected, long result) {
  char got[30];
  sprintf(got, "%ld", result);
  char unknown[30];
  say(call, about, expected, result == -1 && errno != 0 ? name_of(errno, unknown) : got);
}
static void returns(const char* call, const char* about, const char* expected, int result) {
  char unknown[30];
  say(call, about, expected, name_of(result, unknown));
}
#define GIVES(call, about, value, expression) (errno = 0, gives(#call, about, (long)(value), (long)(expression)))
#define FAILS(call, about, error, expression) (errno = 0, fails(#call, about, #error, (long)(expression)))
#define RETURNS(call, about, error, expression) returns(#call, about, #error, (int)(expression))

/// Addresses and numbers that nobody has.
static void* const nowhere = (void*)8;
enum { kNoDescriptor = 99, kNobody = 0x3ffffff0 };

/// Whether a call that makes a descriptor makes one, which is closed.
static long opens(long fd) {
  if (fd >= 0) close((int)fd);
  return fd >= 0 ? 0 : -1;
}
static void nap(long milliseconds) {
  struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) {
  }
}
/// The status of a child that does this, as waitpid() says.
static int child_status(void (*what)(long), long value) {
  int status = -1;
  const pid_t child = fork();
  if (child == 0) {
    what(value);
    _exit(99);
  }
  while (waitpid(child, &status, 0) != child && errno == EINTR) {
  }
  return status;
}
