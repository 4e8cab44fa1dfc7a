// SPDX-License-Identifier: Apache-2.0
// Fast Fourier transforms of complex numbers in float and double, there and back; and a convolution with C's complex
// arithmetic. Prints some bins, the error of the round trip and a checksum.
#include <complex.h>
#include <math.h>

#include "common.h"

enum { kSize = 256 };

#define TRANSFORM(type, sine, cosine, suffix)                                                       \
  static void __attribute__((noinline)) fft##suffix(type* re, type* im, int n, int sign) {          \
    for (int i = 1, j = 0; i < n; i++) {                                                            \
      int bit = n >> 1;                                                                             \
      for (; j & bit; bit >>= 1) j ^= bit;                                                          \
      j ^= bit;                                                                                     \
      if (i < j) {                                                                                  \
        type t = re[i];                                                                             \
        re[i] = re[j];                                                                              \
        re[j] = t;                                                                                  \
        t = im[i];                                                                                  \
        im[i] = im[j];                                                                              \
        im[j] = t;                                                                                  \
      }                                                                                             \
    }                                                                                               \
    static type wr[kSize / 2], wi[kSize / 2];                                                       \
    for (int half = 1; half < n; half *= 2) {                                                       \
      for (int k = 0; k < half; k++) {                                                              \
        type angle = (type)(sign * M_PI) * (type)k / (type)half;                                    \
        wr[k] = cosine(angle);                                                                      \
        wi[k] = sine(angle);                                                                        \
      }                                                                                             \
      for (int start = 0; start < n; start += 2 * half) {                                           \
        type* restrict ar = re + start, * restrict ai = im + start;                                 \
        type* restrict br = ar + half, * restrict bi = ai + half;                                   \
        for (int k = 0; k < half; k++) {                                                            \
          type tr = br[k] * wr[k] - bi[k] * wi[k], ti = br[k] * wi[k] + bi[k] * wr[k];              \
          br[k] = ar[k] - tr;                                                                       \
          bi[k] = ai[k] - ti;                                                                       \
          ar[k] += tr;                                                                              \
          ai[k] += ti;                                                                              \
        }                                                                                           \
      }                                                                                             \
    }                                                                                               \
  }                                                                                                 \
  static void check##suffix(uint64_t seed) {                                                        \
    static type re[kSize], im[kSize], start[kSize];                                                 \
    Random random = {seed};                                                                         \
    for (int i = 0; i < kSize; i++) {                                                               \
      re[i] = start[i] = (type)(sine((type)i * (type)0.7) + (type)next_unit(&random));              \
      im[i] = 0;                                                                                    \
    }                                                                                               \
    fft##suffix(re, im, kSize, -1);                                                                 \
    for (int i = 0; i < kSize; i += 37) printf("%4d %.9g %.9g\n", i, (double)re[i], (double)im[i]); \
    uint64_t hash = hash_bytes(hash_bytes(kHashStart, re, sizeof re), im, sizeof im);               \
    fft##suffix(re, im, kSize, 1);                                                                  \
    type worst = 0;                                                                                 \
    for (int i = 0; i < kSize; i++) {                                                               \
      type error = re[i] / kSize - start[i];                                                        \
      if (error < 0) error = -error;                                                                \
      if (error > worst) worst = error;                                                             \
    }                                                                                               \
    printf("worst %a  %016" PRIx64 "\n", (double)worst, hash);                                      \
  }

TRANSFORM(double, sin, cos, )
TRANSFORM(float, sinf, cosf, _float)

static void convolve(uint64_t seed) {
  static double complex a[64], b[64], c[64];
  static float complex fa[64], fb[64], fc[64];
  Random random = {~seed};
  for (int i = 0; i < 64; i++) {
    a[i] = next_unit(&random) + next_unit(&random) * I;
    b[i] = next_unit(&random) - next_unit(&random) * I;
    fa[i] = (float complex)a[i];
    fb[i] = (float complex)b[i];
  }
  for (int i = 0; i < 64; i++) {
    for (int j = 0; j < 64; j++) {
      c[(i + j) % 64] += a[i] * b[j];
      fc[(i + j) % 64] += fa[i] * fb[j];
    }
  }
  double complex q = c[3] / c[5], r = csqrt(c[7]), e = cexp(c[9] / 64), p = cpow(a[1], b[2]);
  printf("%a %a  %a %a  %a %a  %a %a\n", creal(q), cimag(q), creal(r), cimag(r), creal(e), cimag(e), creal(p),
         cimag(p));
  printf("%016" PRIx64 "\n", hash_bytes(hash_bytes(kHashStart, c, sizeof c), fc, sizeof fc));
}

int main(int argc, char** argv) {
  uint64_t seed = seed_of(argc, argv);
  check(seed);
  check_float(seed);
  convolve(seed);
  return 0;
}
