// SPDX-License-Identifier: Apache-2.0
// Primes by a byte sieve and by a bit sieve of odd numbers.
#include "guest.h"

enum { kMost = 22000 };
static uint8_t composite[kMost];
static uint64_t odd_composite[kMost / 128 + 1];

int main(int argc, char** argv) {
  uint32_t limit = 20000 + (uint32_t)(argument(argc, argv, 1, 0) * 37 % 2000);
  uint32_t primes = 0, odd_primes = 1, last = 0, twins = 0;
  uint64_t sum = 0;
  for (uint32_t i = 2; i < limit; i++) {
    if (composite[i]) continue;
    primes++;
    sum = sum * 31 + i;
    twins += last + 2 == i;
    last = i;
    for (uint32_t j = i * i; i < 150 && j < limit; j += i) composite[j] = 1;
  }
  for (uint32_t i = 3; i < limit; i += 2) {
    if (odd_composite[i / 128] >> (i / 2 % 64) & 1) continue;
    odd_primes++;
    for (uint32_t j = i * 3; j < limit; j += 2 * i) odd_composite[j / 128] |= (uint64_t)1 << (j / 2 % 64);
  }
  print("%u primes below %u, the last is %u, %u twins\nchecksum %016lx\n", primes, limit, last, twins, sum);
  if (primes != odd_primes) print("the bit sieve found %u\n", odd_primes);
  return primes != odd_primes;
}
