// SPDX-License-Identifier: Apache-2.0
// Numbers as text and back: printf in every style and strtod of hard cases (halfway between two doubles, subnormal,
// overflowing, hexadecimal), round trips of random bits, and long double, which is software's work on this machine.
#include <errno.h>
#include <float.h>
#include <math.h>

#include "common.h"

static const char* const texts[] = {
    "0",
    "-0",
    "1",
    "0.1",
    "0.3",
    "1e23",
    "8.5e22",
    "9007199254740993",
    "9007199254740992.5",
    "9007199254740993.00000000000001",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "1.7976931348623159e308",
    "1.797693134862315807e308",
    "1e309",
    "-1e400",
    "2.2250738585072014e-308",
    "2.2250738585072011e-308",
    "2.2250738585072012e-308",
    "4.9406564584124654e-324",
    "2.4703282292062327e-324",
    "2.4703282292062328e-324",
    "2.4703282292062329e-324",
    "7.4109846876186981e-324",
    "1e-400",
    "6.6312368714586e-316",
    "3.2378839133029012895883524125015321748630094231465e-319",
    "0x1p-1074",
    "0x1p-1075",
    "0x1.8p-1075",
    "0x1.fffffffffffff8p0",
    "0x1.fffffffffffff7p0",
    "0x1.00000000000008p0",
    "0x1.000000000000080000001p0",
    "0x.8p1",
    "0x1p1024",
    "-0x1.23456789abcdefp-3",
    "0x",
    "0xp1",
    "1e",
    "1e+",
    "1e+5x",
    ".5",
    "5.",
    ".",
    "inf",
    "-Infinity",
    "nan",
    "nan(123)",
    "infinit",
    "  12.5",
    "+7e-1",
    "123456789012345678901234567890",
    "0.000000000000000000000000000000000000000000000000000123",
    "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692"
    "887910946555"
    "547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834"
    "936475292719"
    "074168444365510704342711559699508093042880.0",
    "1.00000000000000011102230246251565404236316680908203125",
    "1.00000000000000011102230246251565404236316680908203124",
    "1.00000000000000011102230246251565404236316680908203126",
    "16777217",
    "16777216.9999999999",
    "3.4028235677973366e38",
    "3.4028235e38",
    "1.17549435e-38",
    "1.1754942e-38",
    "7.0064923216240854e-46",
    "7.0064923216240862e-46",
};

static void parse(const char* text) {
  char* end;
  errno = 0;
  double d = strtod(text, &end);
  int error = errno;
  errno = 0;
  float f = strtof(text, NULL);
  printf("%.40s: %016" PRIx64 " %08" PRIx32 " rest \"%s\" errors %d %d\n", text, bits_of(d), bits_of_float(f), end,
         error == ERANGE, errno == ERANGE);
}

static void show(double d) {
  printf("%.17g %.16g %g %G %e %E %f %F\n", d, d, d, d, d, d, d, d);
  printf("%a %A %.3a %.0a %+.5a % a\n", d, d, d, d, d, d);
  printf("[%30.12e] [%-30.3g] [%+030.5f] [%#.0f] [%#g] [%.0f] [%.1f]\n", d, d, fabs(d) < 1e20 ? d : 1.5, d, d, d, d);
}

static void show_long(long double d) {
  printf("%.35Lg %Le %La\n", d, d, d);
  if (fabsl(d) < 1e40L) printf("%Lf %.0Lf %.50Lf\n", d, d, d);
}

int main(int argc, char** argv) {
  uint64_t seed = seed_of(argc, argv);
  Random random = {seed};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) parse(texts[i]);

  static const double values[] = {0.0,         -0.0,     1.0,       -1.5,        0.1,         2.5,
                                  3.5,         0.5,      1e22,      1e23,        123456789.0, 1e-5,
                                  9.9999995e5, DBL_MAX,  DBL_MIN,   DBL_EPSILON, 5e-324,      2.2250738585072011e-308,
                                  0.1 + 0.2,   INFINITY, -INFINITY, 8.41e21,     2.0 / 3,     4503599627370497.5};
  for (size_t i = seed % 3; i < sizeof values / sizeof *values; i += 3) show(values[i]);
  printf("%.60f\n%.60f\n%.1074f\n", 0.1, M_PI, 5e-324);
  printf("%.50e %.0e %.340f\n", DBL_MAX, 15.0, DBL_MIN);
  printf("%s %s %g\n", isnan(NAN) ? "nan" : "?", isnan(strtod("nan", NULL)) ? "nan" : "?", fabs(NAN));

  // Round trips: 17 digits, hexadecimal, and fewer digits there and back.
  uint64_t hash = kHashStart;
  int wrong = 0;
  for (int i = 0; i < 60; i++) {
    double d = double_of(next_random(&random));
    if (!isfinite(d)) continue;
    if (i % 3 == 0) d = ldexp(d, -1022 - ilogb(d) - (int)(next_random(&random) % 52));  // subnormal
    char text[64];
    snprintf(text, sizeof text, "%.17g", d);
    wrong += bits_of(strtod(text, NULL)) != bits_of(d);
    hash = hash_bytes(hash, text, strlen(text));
    snprintf(text, sizeof text, "%a", d);
    wrong += bits_of(strtod(text, NULL)) != bits_of(d);
    hash = hash_bytes(hash, text, strlen(text));
    snprintf(text, sizeof text, "%.*g", 1 + (int)(next_random(&random) % 20), d);
    hash = hash_word(hash_bytes(hash, text, strlen(text)), bits_of(strtod(text, NULL)));
    float f = (float)next_unit(&random) * 1000;
    snprintf(text, sizeof text, "%.9g", (double)f);
    wrong += bits_of_float(strtof(text, NULL)) != bits_of_float(f);
  }
  printf("%d wrong, %016" PRIx64 "\n", wrong, hash);

  // Halfway between a random double and the next: the even one must win, and by a hair more the upper one.
  for (int i = 0; i < 6; i++) {
    double d = ldexp(1 + next_unit(&random), (int)(next_random(&random) % 60));
    long double middle = ((long double)d + (long double)nextafter(d, INFINITY)) / 2;
    char text[80];
    snprintf(text, sizeof text - 8, "%.60Lf", middle);
    double even = strtod(text, NULL);
    strcat(text, "1");
    double above = strtod(text, NULL);
    printf("%016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n", bits_of(d), bits_of(even), bits_of(above));
  }

  long double l = 1.0L / 3, product = 1;
  for (int i = 1; i <= 30; i++) product *= i + l;
  show_long(l);
  show_long(product);
  show_long(sqrtl(2.0L));
  printf("%La\n", strtold("1.18973149535723176508575932662800702e4932", NULL));
  printf("%La %.3Le\n", (long double)next_unit(&random) * 0x1p-16400L, 0x1p-16494L);
  show_long(strtold("0.1", NULL) - 0.1L);
  printf("%d %lld %llu\n", (int)product % 1000, (long long)(product / 1e20L), (unsigned long long)(product / 1e18L));
  printf("%zu %d %ld %lld %hhd %hd %x %#o %c%% [%*d] [%-*d] [%.3s] [%'d]\n", sizeof l, -1, -2L, -3LL, (signed char)300,
         (short)70000, 0xBEEFu, 8u, 'c', 6, 42, 6, 42, "abcdef", 1234567);
  return 0;
}
