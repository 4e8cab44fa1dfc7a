// SPDX-License-Identifier: Apache-2.0
// pi by throwing darts: each lane (or argv[1]) throws its own 20,000 (or argv[2]) and prints its estimate. The average
// over many lanes is better than any of them.
#include "guest.h"

int main(int argc, char** argv) {
  uint64_t lane = argument(argc, argv, 1, 0), darts = argument(argc, argv, 2, 20000), inside = 0;
  Random random = {lane << 32};
  for (uint64_t i = 0; i < darts; i++) {
    uint64_t r = next_random(&random), x = r >> 32, y = (uint32_t)r;
    // x^2 + y^2 < 2^64 is the quarter circle; the sum must not wrap.
    inside += x * x < 0 - (y * y);
  }
  uint64_t pi = darts ? inside * 4000000 / darts : 0;
  print("lane %lu: %lu of %lu darts, pi is about %lu.%06lu\n", lane, inside, darts, pi / 1000000, pi % 1000000);
  return 0;
}
