// SPDX-License-Identifier: Apache-2.0
// Matrix multiplication in float, double and the integers that vectors hold (bytes with wide sums, 16, 32 and 64 bits),
// with saturation and comparisons: loops that a compiler turns into vector code.
#include "common.h"

enum { kSize = 32 };

#define MULTIPLY(type, sum_type, suffix)                                                                   \
  static type a_##suffix[kSize][kSize], b_##suffix[kSize][kSize];                                          \
  static sum_type c_##suffix[kSize][kSize];                                                                \
  static void __attribute__((noinline)) multiply_##suffix(void) {                                          \
    for (int i = 0; i < kSize; i++)                                                                        \
      for (int k = 0; k < kSize; k++)                                                                      \
        for (int j = 0; j < kSize; j++) c_##suffix[i][j] += (sum_type)a_##suffix[i][k] * b_##suffix[k][j]; \
  }                                                                                                        \
  static sum_type __attribute__((noinline)) dot_##suffix(const type* x, const type* y, int n) {            \
    sum_type sum = 0;                                                                                      \
    for (int i = 0; i < n; i++) sum += (sum_type)x[i] * (sum_type)y[i];                                    \
    return sum;                                                                                            \
  }

MULTIPLY(float, float, float)
MULTIPLY(double, double, double)
MULTIPLY(int8_t, int32_t, i8)
MULTIPLY(uint8_t, uint32_t, u8)
MULTIPLY(int16_t, int32_t, i16)
MULTIPLY(uint32_t, uint64_t, u32)
MULTIPLY(int64_t, int64_t, i64)

static int16_t saturated[1024];
static uint32_t smallest, largest, above;

static void __attribute__((noinline)) reduce(const int16_t* x, const int16_t* y, int n) {
  int low = 32767, high = -32768;
  uint32_t count = 0;
  for (int i = 0; i < n; i++) {
    int sum = x[i] + y[i];
    saturated[i] = (int16_t)(sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum);
    low = sum < low ? sum : low;
    high = sum > high ? sum : high;
    count += x[i] > y[i];
  }
  smallest = (uint32_t)low;
  largest = (uint32_t)high;
  above = count;
}

#define RUN(suffix, expression, format)                                                                        \
  do {                                                                                                         \
    for (int i = 0; i < kSize; i++)                                                                            \
      for (int j = 0; j < kSize; j++) {                                                                        \
        uint64_t r = next_random(&random);                                                                     \
        a_##suffix[i][j] = expression;                                                                         \
        r = r >> 32 | r << 32;                                                                                 \
        b_##suffix[i][j] = expression;                                                                         \
      }                                                                                                        \
    multiply_##suffix();                                                                                       \
    printf("%-6s %016" PRIx64 " " format "\n", #suffix, hash_bytes(kHashStart, c_##suffix, sizeof c_##suffix), \
           dot_##suffix(a_##suffix[0], b_##suffix[0], kSize* kSize));                                          \
  } while (0)

int main(int argc, char** argv) {
  Random random = {seed_of(argc, argv)};
  RUN(float, (float)(int32_t)r * 0x1p-31f, "%a");
  RUN(double, (double)(int64_t)r * 0x1p-63, "%.17g");
  RUN(i8, (int8_t)r, "%" PRId32);
  RUN(u8, (uint8_t)r, "%" PRIu32);
  RUN(i16, (int16_t)r, "%" PRId32);
  RUN(u32, (uint32_t)r, "%" PRIu64);
  RUN(i64, (int64_t)r, "%" PRId64);
  reduce(a_i16[0], b_i16[0], 1024);
  printf("%016" PRIx64 " %" PRIx32 " %" PRIx32 " %" PRIu32 "\n", hash_bytes(kHashStart, saturated, sizeof saturated),
         smallest, largest, above);
  return 0;
}
