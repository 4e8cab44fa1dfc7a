// SPDX-License-Identifier: Apache-2.0
// Finds the longest Collatz walk in the lane's range of 500 (or argv[2]) numbers.
#include "guest.h"

int main(int argc, char** argv) {
  uint64_t lane = argument(argc, argv, 1, 0), numbers = argument(argc, argv, 2, 500);
  uint64_t best = 0, best_steps = 0, highest = 0;
  for (uint64_t start = lane * numbers + 1; start <= (lane + 1) * numbers; start++) {
    uint64_t n = start, steps = 0;
    for (; n != 1; steps++) {
      n = n & 1 ? 3 * n + 1 : n / 2;
      if (n > highest) highest = n;
    }
    if (steps > best_steps) {
      best_steps = steps;
      best = start;
    }
  }
  print("lane %lu: %lu takes %lu steps, the highest point is %lu\n", lane, best, best_steps, highest);
  return 0;
}
