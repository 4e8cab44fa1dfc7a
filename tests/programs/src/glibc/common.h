// SPDX-License-Identifier: Apache-2.0
// What the glibc programs share: the seed (the first argument, else the lane number), random numbers, and a checksum of
// everything that is computed, so that few lines of output hold many results.
#pragma once

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline uint64_t seed_of(int argc, char** argv) {
  const char* text = argc > 1 ? argv[1] : getenv("MYRIARM_LANE");
  return text ? strtoull(text, NULL, 10) : 0;
}

typedef struct {
  uint64_t state;
} Random;
static inline uint64_t next_random(Random* random) {  // SplitMix64
  uint64_t z = random->state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
/// From 0 up to 1.
static inline double next_unit(Random* random) { return (double)(next_random(random) >> 11) * 0x1p-53; }

static inline uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static inline uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static inline double double_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

#define kHashStart 0xCBF29CE484222325u
/// FNV-1a, eight bytes at a time.
static inline uint64_t hash_word(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x100000001B3u;
  return hash ^ hash >> 29;
}
static inline uint64_t hash_bytes(uint64_t hash, const void* bytes, size_t size) {
  const uint8_t* p = bytes;
  for (size_t i = 0; i < size; i++) hash = (hash ^ p[i]) * 0x100000001B3u;
  return hash;
}
