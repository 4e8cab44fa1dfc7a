// SPDX-License-Identifier: Apache-2.0
// Estimates pi by random points in a square: each lane draws 20,000 (or argv[2]) points, seeded by its number (or
// argv[1]). The average over many lanes is more precise than one estimate.
#include "guest.h"

int main(int argc, char** argv) {
  uint64_t lane = argument(argc, argv, 1, 0), darts = argument(argc, argv, 2, 20000), inside = 0;
  Random random = {lane << 32};
  for (uint64_t i = 0; i < darts; i++) {
    uint64_t r = next_random(&random), x = r >> 32, y = (uint32_t)r;
    // The point is in the quarter circle if x^2 + y^2 < 2^64. This form of the test does not wrap.
    inside += x * x < 0 - (y * y);
  }
  uint64_t pi = darts ? inside * 4000000 / darts : 0;
  print("lane %lu: %lu of %lu darts, pi is about %lu.%06lu\n", lane, inside, darts, pi / 1000000, pi % 1000000);
  return 0;
}
