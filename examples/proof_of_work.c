// SPDX-License-Identifier: Apache-2.0
// Proof of work: each lane has a range of 64 (or argv[2]) numbers. It prints the number whose SHA-256, together with a
// fixed text, begins with the most zero bits.
#include "sha256.h"

int main(int argc, char** argv) {
  static const char kText[] = "myriarm: ten thousand arms ";
  uint64_t lane = argument(argc, argv, 1, 0), numbers = argument(argc, argv, 2, 64), best_number = 0;
  uint8_t best[32];
  int best_zeros = -1;
  sha256_tables();
  for (uint64_t number = lane * numbers; number < (lane + 1) * numbers; number++) {
    Sha256 s;
    uint8_t digest[32];
    sha256_init(&s);
    sha256_add(&s, kText, sizeof kText - 1);
    sha256_add(&s, &number, sizeof number);
    sha256_end(&s, digest);
    int zeros = 0;
    while (zeros < 256 && !(digest[zeros / 8] >> (7 - zeros % 8) & 1)) zeros++;
    if (zeros > best_zeros) {
      best_zeros = zeros;
      best_number = number;
      memcpy(best, digest, 32);
    }
  }
  print("%2d zero bits with %lu: ", best_zeros, best_number);
  put_hex(best, 32);
  print("\n");
  return 0;
}
