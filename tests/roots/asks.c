// SPDX-License-Identifier: Apache-2.0
// Asks for a file by a call that older programs do not make: asks.c CALL FILE
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
  struct statx status;
  long result = -1;
  if (argc != 3) return 2;
  if (strcmp(argv[1], "statx") == 0 && statx(AT_FDCWD, argv[2], 0, STATX_SIZE, &status) == 0) {
    result = (long)status.stx_size;
  } else if (strcmp(argv[1], "faccessat2") == 0) {
    result = syscall(SYS_faccessat2, AT_FDCWD, argv[2], R_OK, 0);
  }
  printf("%ld\n", result);
  return 0;
}
