// SPDX-License-Identifier: Apache-2.0
// Conway's Life on a torus of 64 x 32 cells. The lane number (or argv[1]) seeds the random start; after 120 (or
// argv[2]) generations the program prints the field and how many cells live.
#include "guest.h"

enum { kRows = 32 };

static uint64_t rotate(uint64_t row, int by) { return row << (by & 63) | row >> (-by & 63); }

int main(int argc, char** argv) {
  uint64_t lane = argument(argc, argv, 1, 0), generations = argument(argc, argv, 2, 120), field[kRows], next[kRows];
  Random random = {lane};
  for (int i = 0; i < kRows; i++) field[i] = next_random(&random) & next_random(&random);
  uint64_t generation = 0, population = 0;
  for (; generation < generations; generation++) {
    for (int i = 0; i < kRows; i++) {
      // For 64 cells at once: bits 0 and 1 of each count of neighbours, and whether the count is four or more.
      uint64_t ones = 0, twos = 0, fours = 0;
      for (int k = 0; k < 9; k++) {
        if (k == 4) continue;
        uint64_t row = rotate(field[(i + k / 3 + kRows - 1) % kRows], k % 3 - 1);
        uint64_t carry = ones & row;
        ones ^= row;
        fours |= twos & carry;
        twos ^= carry;
      }
      next[i] = twos & ~fours & (ones | field[i]);
    }
    if (memcmp(field, next, sizeof field) == 0) break;
    memcpy(field, next, sizeof field);
  }
  for (int i = 0; i < kRows; i++) {
    for (int k = 0; k < 64; k++) print("%c", field[i] >> k & 1 ? 'o' : '.');
    population += count_ones(field[i]);
    print("\n");
  }
  print("lane %lu: %lu cells live after %lu generations\n", lane, population, generation);
  return 0;
}
