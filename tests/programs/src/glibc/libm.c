// SPDX-License-Identifier: Apache-2.0
// The functions of <math.h> in double and float, in all four rounding modes: for each a checksum of the bits of sampled
// results and of the exceptions that they raised, and one result in full.
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>

#include "common.h"

enum { kSamples = 12 };

typedef double One(double);
typedef double Two(double, double);
typedef float OneFloat(float);
typedef float TwoFloat(float, float);
typedef struct {
  const char* name;
  One* one;
  Two* two;
  OneFloat* one_float;
  TwoFloat* two_float;
  double low, high;
} Function;

static const Function functions[] = {
#define ONE(name, low, high) {#name, name, NULL, name##f, NULL, low, high},
#define TWO(name, low, high) {#name, NULL, name, NULL, name##f, low, high},
#include "libm.inc"
#undef ONE
#undef TWO
};

// Arguments that are special for most functions.
static const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5, 1e-310, -4e-320, 1e308, -1e308, INFINITY, -INFINITY, NAN};
static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
static uint64_t hash, hash_float;

static double call(const Function* f, double x, double y) {
  feclearexcept(FE_ALL_EXCEPT);
  double result = f->one ? f->one(x) : f->two(x, y);
  hash = hash_word(hash_word(hash, bits_of(result)), (uint64_t)fetestexcept(FE_ALL_EXCEPT));
  return result;
}
static float call_float(const Function* f, float x, float y) {
  feclearexcept(FE_ALL_EXCEPT);
  float result = f->one_float ? f->one_float(x) : f->two_float(x, y);
  hash_float = hash_word(hash_word(hash_float, bits_of_float(result)), (uint64_t)fetestexcept(FE_ALL_EXCEPT));
  return result;
}

int main(int argc, char** argv) {
  uint64_t seed = seed_of(argc, argv);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    const Function* f = &functions[i];
    double shown = 0;
    float shown_float = 0;
    hash = hash_float = kHashStart;
    for (size_t m = 0; m < 4; m++) {
      Random random = {seed + i};
      fesetround(modes[m]);
      for (int s = 0; s < kSamples; s++) {
        double x = f->low + next_unit(&random) * (f->high - f->low),
               y = f->low + next_unit(&random) * (f->high - f->low);
        shown = call(f, x, y);
        shown_float = call_float(f, (float)x, (float)y);
      }
      for (size_t s = m; s < sizeof special / sizeof *special; s += 4) {
        double other = special[(s + seed) % (sizeof special / sizeof *special)];
        call(f, special[s], other);
        call_float(f, (float)special[s], (float)other);
      }
    }
    fesetround(FE_TONEAREST);
    printf("%-10s %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %08" PRIx32 "\n", f->name, hash, hash_float,
           bits_of(shown), bits_of_float(shown_float));
  }

  // Those with other shapes.
  Random random = {seed};
  for (size_t m = 0; m < 4; m++) {
    fesetround(modes[m]);
    double x = (next_unit(&random) - 0.5) * 2e3, y = next_unit(&random) + 1e-3;
    int exponent, quotient;
    double whole, sine, cosine;
    double fraction = frexp(x, &exponent), part = modf(x, &whole), rest = remquo(x, y, &quotient);
    sincos(x, &sine, &cosine);
    feclearexcept(FE_ALL_EXCEPT);
    printf("%a %d  %a %a  %a %d  %a %a  ", fraction, exponent, part, whole, rest, quotient & 7, sine, cosine);
    printf("%a %a %a  %ld %lld %ld %d %d\n", fma(x, y, -1 / x), fmaf((float)x, (float)y, 0.1f), ldexp(y, -1060),
           lrint(x), llround(x), lrintf((float)x), ilogb(x), fpclassify(ldexp(y, -1060)));
  }
  fesetround(FE_TONEAREST);
  printf("%d %d %d\n", (int)lrint(2.5), (int)lrint(3.5), (int)lround(-2.5));
  return 0;
}
