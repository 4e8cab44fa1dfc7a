// SPDX-License-Identifier: Apache-2.0
// Runs a program of tests/programs/src many times in one process: `NAME SEED TIMES` calls its main() with the seeds SEED, SEED + 1, ...
// The outputs stand one behind the other. -DPROGRAM="FILE" names the source.
#include "guest.h"

#define main once
#include PROGRAM
#undef main

static char* decimal(uint64_t value, char* end) {
  *--end = 0;
  do *--end = (char)('0' + value % 10);
  while (value /= 10);
  return end;
}

int main(int argc, char** argv) {
  const uint64_t seed = argument(argc, argv, 1, 0), times = argument(argc, argv, 2, 1);
  int status = 0;
  for (uint64_t i = 0; i < times; i++) {
    char number[24];
    char* words[] = {argv[0], decimal(seed + i, number + sizeof number), NULL};
    status |= once(2, words);
  }
  return status;
}
