// SPDX-License-Identifier: Apache-2.0
// How attempts say what ended them: TRY(call) keeps the error of a call that must fail, and report() prints each error once,
// in the order in which they came first. A call that succeeds prints itself.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static int errors[32], error_count;
static void keep_error(int error) {
  for (int i = 0; i < error_count; i++) {
    if (errors[i] == error) return;
  }
  if (error_count < 32) errors[error_count++] = error;
}
static void tried(const char* what, long result) {
  if (result >= 0) printf("SUCCEEDED: %s = %ld\n", what, result);
  else keep_error(errno);
}
#define TRY(call) (errno = 0, tried(#call, (long)(call)))
static void report(void) {
  for (int i = 0; i < error_count; i++) printf(i == 0 ? "%s" : " %s", strerrorname_np(errors[i]));
  if (error_count != 0) printf("\n");
  error_count = 0;
}
/// How a child has ended: its status, or the name of its signal.
static void report_child(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) printf("no child: %s\n", strerrorname_np(errno));
  else if (WIFSIGNALED(status)) printf("SIG%s\n", sigabbrev_np(WTERMSIG(status)));
  else printf("exited with %d\n", WEXITSTATUS(status));
}
static int make_file(const char* path, const char* text) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd >= 0 && write(fd, text, strlen(text)) < 0) return -1;
  return fd;
}

struct Attempt {
  const char* name;
  void (*run)(void);
};
