// SPDX-License-Identifier: Apache-2.0
// The Mandelbrot set in integer arithmetic, as a picture of 72 x 24 characters. The lane number (or argv[1]) chooses
// how far it zooms in at the edge of the set.
#include "guest.h"

static const int64_t one = 1 << 24;
enum { kWidth = 72, kHeight = 24, kMost = 96 };

static int64_t times(int64_t a, int64_t b) { return (a * b) >> 24; }

int main(int argc, char** argv) {
  uint64_t lane = argument(argc, argv, 1, 0);
  int64_t zoom = lane == 0 ? one * 5 / 4 : one / (int64_t)(2 + lane % 40);
  int64_t centre_x = lane == 0 ? -one * 3 / 4 : -one * 744 / 1000, centre_y = lane == 0 ? 0 : one * 131 / 1000;
  for (int row = 0; row < kHeight; row++) {
    for (int column = 0; column < kWidth; column++) {
      int64_t cx = centre_x + zoom * (2 * column - kWidth) / (kWidth - 20);
      int64_t cy = centre_y + zoom * (2 * row - kHeight) / kHeight;
      int64_t x = 0, y = 0;
      int steps = 0;
      for (; steps < kMost; steps++) {
        int64_t xx = times(x, x), yy = times(y, y);
        if (xx + yy > 4 * one) break;
        y = 2 * times(x, y) + cy;
        x = xx - yy + cx;
      }
      print("%c", steps == kMost ? '#' : " .,:;-=+ox*%"[steps % 12]);
    }
    print("\n");
  }
  return 0;
}
