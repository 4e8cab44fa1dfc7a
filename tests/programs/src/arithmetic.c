// SPDX-License-Identifier: Apache-2.0
// Corner cases of integer arithmetic as C programs meet them: division, wide products, carries, shifts, bit tricks,
// narrow types, conditional selection.
#include "guest.h"

static uint64_t sum = kHashStart;
static void mix(const char* name, uint64_t value) {
  sum = hash_bytes(sum, &value, 8);
  if (name) print("%s %016lx\n", name, value);
}

static uint64_t udiv(uint64_t a, uint64_t b) {
  uint64_t r;
  __asm__("udiv %0, %1, %2" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
static uint64_t sdiv(uint64_t a, uint64_t b) {
  uint64_t r;
  __asm__("sdiv %0, %1, %2" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
static uint32_t sdiv32(uint32_t a, uint32_t b) {
  uint32_t r;
  __asm__("sdiv %w0, %w1, %w2" : "=r"(r) : "r"(a), "r"(b));
  return r;
}

static uint64_t bits(uint64_t a, uint64_t b) {
  uint64_t r = count_ones(a & b);
  r += (uint64_t)__builtin_clzl(a | 1) * 3 + (uint64_t)__builtin_ctzl(b | 1 << 30) * 7;
  r ^= __builtin_bswap64(a) ^ __builtin_bswap32((uint32_t)b) ^ __builtin_bswap16((uint16_t)a);
  uint64_t reversed;
  __asm__("rbit %0, %1" : "=r"(reversed) : "r"(a));
  uint64_t leading;
  __asm__("cls %0, %1" : "=r"(leading) : "r"((int64_t)a >> (b & 63)));
  uint64_t rotated = (a << (b & 63) | a >> (-b & 63)) + (uint32_t)((uint32_t)a >> (b & 31) | (uint32_t)a << (-b & 31));
  return r + reversed + leading + rotated;
}

static uint64_t narrow(uint64_t a, uint64_t b) {
  int8_t c = (int8_t)(a + b);
  int16_t d = (int16_t)(a * b);
  int32_t e = (int32_t)(a - b);
  uint8_t f = (uint8_t)(a >> 5);
  uint16_t g = (uint16_t)(b >> 9);
  int64_t r = (int64_t)c * d + e / ((int64_t)f + 1) - (int64_t)(g % (f | 1)) + ((int64_t)e * c);
  return (uint64_t)r + (uint64_t)((int32_t)a >> 7) + ((uint64_t)(int64_t)d << 13);
}

static uint64_t choose(uint64_t a, uint64_t b) {
  uint64_t r = a < b ? a : b;
  r += (int64_t)a < (int64_t)b ? a + 1 : ~b;
  r ^= a == b || (a > 5 && b < 100) ? 0 - a : a;
  r += (uint64_t)((a & 0xFF00) == 0) + (uint64_t)((int64_t)(a ^ b) < 0) * 2;
  return r;
}

int main(int argc, char** argv) {
  static const uint64_t kEdges[] = {0, 1, 2, 7, 0x7F, 0x80, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000,
                                    0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFF80000000};
  enum { kCount = sizeof kEdges / sizeof kEdges[0] };
  Random random = {argument(argc, argv, 1, 0)};
  mix("7 / 0", udiv(7, 0));
  mix("-7 / 0", sdiv(0 - 7ul, 0));
  mix("least / -1", sdiv((uint64_t)1 << 63, ~(uint64_t)0));
  mix("least / -1 in 32 bits", sdiv32(1u << 31, ~0u));
  for (int i = 0; i < 600; i++) {
    uint64_t r = next_random(&random);
    uint64_t a = i < kCount * kCount ? kEdges[i / kCount] : r >> (r & 63);
    uint64_t b = i < kCount * kCount ? kEdges[i % kCount] : next_random(&random) >> (r >> 6 & 63);
    mix(NULL, udiv(a, b));
    mix(NULL, sdiv(a, b));
    mix(NULL, sdiv32((uint32_t)a, (uint32_t)b));
    mix(NULL, b ? a % b : a);
    unsigned __int128 wide = (unsigned __int128)a * b;
    __int128 signed_wide = (__int128)(int64_t)a * (int64_t)b;
    mix(NULL, (uint64_t)(wide >> 64) ^ (uint64_t)wide);
    mix(NULL, (uint64_t)(signed_wide >> 64));
    wide += ((unsigned __int128)b << 64 | a) - r;
    mix(NULL, (uint64_t)(wide >> (r & 127)));
    uint64_t total;
    mix(NULL, (uint64_t)__builtin_add_overflow(a, b, &total) + total);
    int64_t product;
    mix(NULL, (uint64_t)__builtin_mul_overflow((int64_t)a, (int64_t)b, &product) + (uint64_t)product);
    int32_t difference;
    mix(NULL, (uint64_t)__builtin_sub_overflow((int32_t)a, (int32_t)b, &difference) + (uint32_t)difference);
    mix(NULL, (uint64_t)((int64_t)(int32_t)a * (int32_t)b) + (uint64_t)(uint32_t)a * (uint32_t)b);
    mix(NULL, bits(a, b));
    mix(NULL, narrow(a, b));
    mix(NULL, choose(a, b));
    mix(i % 100 == 99 ? "so far" : NULL, sum);
  }
  print("checksum %016lx\n", sum);
  return 0;
}
