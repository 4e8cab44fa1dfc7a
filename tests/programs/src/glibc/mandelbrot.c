// SPDX-License-Identifier: Apache-2.0
// The Mandelbrot set in double and float, eight points at a time so that the loop is vectorised; its picture and the
// counts of iterations.
#include "common.h"

enum { kWidth = 64, kHeight = 24, kSteps = 60, kGroup = 8 };

#define LINE(type, suffix)                                                                            \
  static void __attribute__((noinline)) line##suffix(type left, type step, type y, int32_t* counts) { \
    for (int start = 0; start < kWidth; start += kGroup) {                                            \
      type cr[kGroup], zr[kGroup] = {0}, zi[kGroup] = {0};                                            \
      int32_t count[kGroup] = {0};                                                                    \
      for (int k = 0; k < kGroup; k++) cr[k] = left + step * (type)(start + k);                       \
      for (int t = 0; t < kSteps; t++) {                                                              \
        for (int k = 0; k < kGroup; k++) {                                                            \
          type r2 = zr[k] * zr[k], i2 = zi[k] * zi[k];                                                \
          type next_r = r2 - i2 + cr[k], next_i = 2 * zr[k] * zi[k] + y;                              \
          int inside = r2 + i2 <= 4;                                                                  \
          zr[k] = inside ? next_r : zr[k];                                                            \
          zi[k] = inside ? next_i : zi[k];                                                            \
          count[k] += inside;                                                                         \
        }                                                                                             \
      }                                                                                               \
      memcpy(counts + start, count, sizeof count);                                                    \
    }                                                                                                 \
  }

LINE(double, )
LINE(float, _float)

int main(int argc, char** argv) {
  uint64_t seed = seed_of(argc, argv);
  double zoom = 3.0 / (1 + (double)(seed % 97));
  double left = -0.7436 - zoom / 2, top = 0.1318 + zoom / 3;
  static int32_t counts[kHeight][kWidth], counts_float[kHeight][kWidth];
  for (int y = 0; y < kHeight; y++) {
    double at = top - zoom * y / kHeight;
    line(left, zoom / kWidth, at, counts[y]);
    line_float((float)left, (float)(zoom / kWidth), (float)at, counts_float[y]);
    char text[kWidth + 1];
    for (int x = 0; x < kWidth; x++) text[x] = " .:-=+*#%@"[counts[y][x] * 9 / kSteps];
    text[kWidth] = 0;
    puts(text);
  }
  printf("%016" PRIx64 " %016" PRIx64 "\n", hash_bytes(kHashStart, counts, sizeof counts),
         hash_bytes(kHashStart, counts_float, sizeof counts_float));
  return 0;
}
