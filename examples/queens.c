// SPDX-License-Identifier: Apache-2.0
// N queens: `queens LANE SIZE` counts all solutions on a board of SIZE. Without SIZE each lane does one part of a 12 x
// 12 board: the lane number places the first two queens. The counts of lanes 0 to 143 add up to 14200.
#include "guest.h"

static uint32_t count(uint32_t full, uint32_t columns, uint32_t left, uint32_t right) {
  if (columns == full) return 1;
  uint32_t solutions = 0;
  for (uint32_t room = full & ~(columns | left | right); room;) {
    uint32_t queen = room & (0 - room);
    room ^= queen;
    solutions += count(full, columns | queen, (left | queen) << 1, (right | queen) >> 1);
  }
  return solutions;
}

int main(int argc, char** argv) {
  uint64_t lane = argument(argc, argv, 1, 0), size = argument(argc, argv, 2, 0);
  if (size) {
    if (size > 16) size = 16;
    print("%lu queens: %u solutions\n", size, count((1u << size) - 1, 0, 0, 0));
    return 0;
  }
  uint32_t first = 1u << lane % 12, second = 1u << lane / 12 % 12, full = (1u << 12) - 1, solutions = 0;
  if (!(second & (first | first << 1 | first >> 1)))
    solutions = count(full, first | second, (first << 1 | second) << 1, (first >> 1 | second) >> 1);
  print("lane %lu: %u solutions of 12 queens begin on columns %lu and %lu\n", lane, solutions, lane % 12 + 1, lane / 12 % 12 + 1);
  return 0;
}
