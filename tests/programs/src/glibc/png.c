// SPDX-License-Identifier: Apache-2.0
// The five filters of PNG on the bytes of a made-up picture, each applied and undone, with the Adler-32 and CRC-32 of
// what comes out: byte arithmetic that a compiler vectorises.
#include "common.h"

enum { kWidth = 96, kHeight = 24, kPixel = 3, kRow = kWidth * kPixel };

static uint8_t picture[kHeight + 1][kRow + kPixel], filtered[kHeight][kRow], restored[kHeight + 1][kRow + kPixel];

static inline uint8_t paeth(int a, int b, int c) {
  int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);
  return (uint8_t)(pa <= pb && pa <= pc ? a : pb <= pc ? b : c);
}

/// Rows begin with a pixel of zeros; `up` is the row above.
static void __attribute__((noinline))
filter(int kind, const uint8_t* restrict row, const uint8_t* restrict up, uint8_t* restrict out) {
  const uint8_t *x = row + kPixel, *b = up + kPixel;
  switch (kind) {
    case 0:
      for (int i = 0; i < kRow; i++) out[i] = x[i];
      break;
    case 1:
      for (int i = 0; i < kRow; i++) out[i] = (uint8_t)(x[i] - row[i]);
      break;
    case 2:
      for (int i = 0; i < kRow; i++) out[i] = (uint8_t)(x[i] - b[i]);
      break;
    case 3:
      for (int i = 0; i < kRow; i++) out[i] = (uint8_t)(x[i] - (row[i] + b[i]) / 2);
      break;
    default:
      for (int i = 0; i < kRow; i++) out[i] = (uint8_t)(x[i] - paeth(row[i], b[i], up[i]));
  }
}

static void __attribute__((noinline))
undo(int kind, const uint8_t* restrict in, const uint8_t* restrict up, uint8_t* restrict row) {
  uint8_t* x = row + kPixel;
  const uint8_t* b = up + kPixel;
  switch (kind) {
    case 0:
      for (int i = 0; i < kRow; i++) x[i] = in[i];
      break;
    case 1:
      for (int i = 0; i < kRow; i++) x[i] = (uint8_t)(in[i] + row[i]);
      break;
    case 2:
      for (int i = 0; i < kRow; i++) x[i] = (uint8_t)(in[i] + b[i]);
      break;
    case 3:
      for (int i = 0; i < kRow; i++) x[i] = (uint8_t)(in[i] + (row[i] + b[i]) / 2);
      break;
    default:
      for (int i = 0; i < kRow; i++) x[i] = (uint8_t)(in[i] + paeth(row[i], b[i], up[i]));
  }
}

static uint32_t __attribute__((noinline)) weight(const uint8_t* bytes, int count) {
  uint32_t sum = 0;
  for (int i = 0; i < count; i++) sum += (uint32_t)abs((int8_t)bytes[i]);
  return sum;
}

static uint32_t adler32(const uint8_t* bytes, size_t size) {
  uint32_t a = 1, b = 0;
  for (size_t i = 0; i < size; i++) {
    a = (a + bytes[i]) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

static uint32_t crc32(const uint8_t* bytes, size_t size) {
  static uint32_t table[256];
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t r = i;
    for (int k = 0; k < 8; k++) r = r & 1 ? r >> 1 ^ 0xEDB88320u : r >> 1;
    table[i] = r;
  }
  uint32_t r = ~0u;
  for (size_t i = 0; i < size; i++) r = table[(r ^ bytes[i]) & 255] ^ r >> 8;
  return ~r;
}

int main(int argc, char** argv) {
  uint64_t seed = seed_of(argc, argv);
  Random random = {seed};
  for (int y = 0; y < kHeight; y++)
    for (int i = 0; i < kRow; i++) {
      int value = y * 5 + i / 3 * (int)(seed % 7 + 1) + (i % 3) * 40 + (int)(next_random(&random) % 9);
      picture[y + 1][kPixel + i] = (uint8_t)value;
    }
  uint32_t best[5] = {0};
  for (int kind = 0; kind < 5; kind++) {
    for (int y = 0; y < kHeight; y++) {
      filter(kind, picture[y + 1], picture[y], filtered[y]);
      best[kind] += weight(filtered[y], kRow);
    }
    memset(restored, 0, sizeof restored);
    for (int y = 0; y < kHeight; y++) undo(kind, filtered[y], restored[y], restored[y + 1]);
    printf("filter %d: weight %" PRIu32 " adler %08" PRIx32 " crc %08" PRIx32 " %s\n", kind, best[kind],
           adler32(filtered[0], sizeof filtered), crc32(filtered[0], sizeof filtered),
           memcmp(restored, picture, sizeof picture) == 0 ? "restored" : "DAMAGED");
  }
  return 0;
}
