// SPDX-License-Identifier: Apache-2.0
// Numbered checks of processes, by the clauses of fork(2), vfork(2), clone(2), execve(2), wait(2), waitid(2), _exit(2), kill(2),
// setpgid(2), setsid(2) and posix_spawn(3), and of memory that processes share, each printed with its result: the same program runs natively on the host's Linux, under
// QEMU and under myriarm.
//   processes PROGRAM     all checks; PROGRAM is the path by which it executes itself
//   processes - MODE ...  what an executed program does
#include "executing.h"

int main(int count, char** arguments, char** environment) {
  if (count > 1 &&
      (strcmp(arguments[1], "-") == 0 || strcmp(arguments[1], "- show") == 0 || strcmp(arguments[1], "-  show") == 0)) {
    return executed(count, arguments, environment);
  }
  if (count < 2) return 1;
  if (arguments[1][0] == '.' || strncmp(arguments[1], "level", 5) == 0) return 0;
  program = arguments[1];
  self = getpid();
  check_ends();
  check_memory();
  check_waiting();
  check_child_signal();
  check_signals_between();
  check_groups();
  check_files();
  check_vfork();
  check_shared();
  check_exec();
  check_own_files();
  printf("%d checks\n", number);
  return 0;
}
