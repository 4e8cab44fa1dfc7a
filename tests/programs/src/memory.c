// SPDX-License-Identifier: Apache-2.0
// Memory accesses that compilers and libraries make: unaligned, across granules and pages, sign-extending, pairs,
// pre- and post-indexed, overlapping copies, DC ZVA, top-byte tags.
#include "guest.h"

static _Alignas(4096) uint8_t area[4 * 4096];

int main(int argc, char** argv) {
  Random random = {argument(argc, argv, 1, 0)};
  uint64_t sum = kHashStart;
  int wrong = 0;
  for (size_t i = 0; i < sizeof area; i++) area[i] = (uint8_t)next_random(&random);
  for (int i = 0; i < 400; i++) {
    uint8_t* p = area + (i < 200 ? 4096 - 20 + i % 40 : (int)(next_random(&random) % (sizeof area - 64)));
    uint64_t r = next_random(&random), a, b, c = 0;
    __asm__ volatile("ldr %0, [%1]" : "=r"(a) : "r"(p) : "memory");
    for (int k = 7; k >= 0; k--) c = c << 8 | p[k];
    wrong += a != c;
    __asm__ volatile("str %0, [%1, #3]" ::"r"(r), "r"(p) : "memory");
    __asm__ volatile("ldrsw %0, [%1, #1]" : "=r"(a) : "r"(p) : "memory");
    __asm__ volatile("ldrsh %0, [%1], #5" : "=r"(b), "+r"(p)::"memory");
    sum = sum * 31 + a * 3 + b;
    __asm__ volatile("ldp %0, %1, [%2, #-8]!" : "=&r"(a), "=&r"(b), "+r"(p)::"memory");
    __asm__ volatile("stp %w0, %w1, [%2], #16" ::"r"(b), "r"(a), "r"(p) : "memory");
    __asm__ volatile("ldpsw %0, %1, [%2]" : "=&r"(a), "=&r"(b) : "r"(p) : "memory");
    __asm__ volatile("strh %w0, [%1, %w2, uxtw #1]" ::"r"(a), "r"(p), "r"(3) : "memory");
    __asm__ volatile("ldrsb %w0, [%1, %2]" : "=r"(c) : "r"(p), "r"(-2L) : "memory");
    sum = (sum ^ a) * 31 + b + c;
    uint64_t tagged = (uint64_t)p | r << 56;  // the top byte of an address is ignored
    __asm__ volatile("ldrb %w0, [%1]" : "=r"(c) : "r"(tagged) : "memory");
    wrong += c != *p;
  }
  for (int i = 0; i < 60; i++) {  // overlapping copies, both ways
    size_t from = next_random(&random) % 5000, to = from + next_random(&random) % 200, size = next_random(&random) % 300;
    if (i & 1) memmove(area + to, area + from, size);
    else memmove(area + from, area + to, size);
  }
  uint64_t zva;
  __asm__ volatile("mrs %0, dczid_el0" : "=r"(zva));
  if (!(zva & 16)) {
    uint64_t block = 4ul << (zva & 15);
    __asm__ volatile("dc zva, %0" ::"r"(area + 8192 + 77) : "memory");
    for (uint64_t k = 0; k < block; k++) wrong += area[8192 + 77 / block * block + k] != 0;
  }
  memset(area + 8192, 0, 2048);  // whatever the block was
  print("wrong %d\nchecksum %016lx\n", wrong, hash_bytes(sum, area, sizeof area));
  return wrong != 0;
}
