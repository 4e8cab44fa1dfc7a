// SPDX-License-Identifier: Apache-2.0
// SHA-256 in plain C, for guests. The constants, which come from roots of the first primes, are computed, because that
// also tests wide multiplication.
#pragma once

#include "guest.h"

typedef struct {
  uint32_t state[8];
  uint8_t block[64];
  uint64_t size;
} Sha256;

static uint32_t sha256_start[8], sha256_round[64];

/// The first 32 bits of the fractional part of the square root (power 2) or cube root (power 3) of n.
static inline uint32_t fractional_root(uint32_t n, int power) {
  uint64_t root = 0;
  for (int bit = 34; bit >= 0; bit--) {
    uint64_t guess = root | (uint64_t)1 << bit;
    unsigned __int128 square = (unsigned __int128)guess * guess;
    if (power == 2) {
      if (square <= (unsigned __int128)n << 64) root = guess;
    } else {
      // guess^3 <= n * 2^96, in three steps that stay below 2^128: guess < 2^35, square < 2^70, cube < 2^105.
      if (square * guess <= (unsigned __int128)n << 96) root = guess;
    }
  }
  return (uint32_t)root;
}

/// Computes the constants; to be called once, before the other functions.
static inline void sha256_tables(void) {
  int count = 0;
  for (uint32_t n = 2; count < 64; n++) {
    bool prime = true;
    for (uint32_t d = 2; d * d <= n; d++) prime = prime && n % d != 0;
    if (!prime) continue;
    if (count < 8) sha256_start[count] = fractional_root(n, 2);
    sha256_round[count++] = fractional_root(n, 3);
  }
}

static inline void sha256_init(Sha256* s) {
  memcpy(s->state, sha256_start, sizeof s->state);
  s->size = 0;
}

static inline uint32_t rotate_right(uint32_t x, int n) { return x >> n | x << (32 - n); }

static inline void sha256_block(Sha256* s) {
  uint32_t w[64], v[8];
  for (int i = 0; i < 16; i++) {
    uint32_t word;
    memcpy(&word, s->block + 4 * i, 4);
    w[i] = __builtin_bswap32(word);
  }
  for (int i = 16; i < 64; i++) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3) +
           (rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10);
  }
  for (int i = 0; i < 8; i++) v[i] = s->state[i];
  for (int i = 0; i < 64; i++) {
    uint32_t e = v[4], a = v[0];
    uint32_t t = v[7] + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) + ((e & v[5]) ^ (~e & v[6])) +
                 sha256_round[i] + w[i];
    uint32_t u =
        (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
    for (int k = 7; k > 0; k--) v[k] = v[k - 1];
    v[4] += t;
    v[0] = t + u;
  }
  for (int i = 0; i < 8; i++) s->state[i] += v[i];
}

static inline void sha256_add(Sha256* s, const void* bytes, size_t size) {
  const uint8_t* p = bytes;
  for (size_t i = 0; i < size; i++) {
    s->block[s->size++ & 63] = p[i];
    if ((s->size & 63) == 0) sha256_block(s);
  }
}

static inline void sha256_end(Sha256* s, uint8_t digest[32]) {
  uint64_t bits = __builtin_bswap64(s->size * 8);
  sha256_add(s, "\x80", 1);
  while ((s->size & 63) != 56) sha256_add(s, "", 1);
  sha256_add(s, &bits, 8);
  for (int i = 0; i < 8; i++) {
    uint32_t word = __builtin_bswap32(s->state[i]);
    memcpy(digest + 4 * i, &word, 4);
  }
}
