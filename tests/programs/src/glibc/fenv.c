// SPDX-License-Identifier: Apache-2.0
// The floating-point environment: rounding modes and exception flags of plain arithmetic and conversions in float,
// double and long double, and fesetenv, feholdexcept, feupdateenv, feraiseexcept.
#include <fenv.h>
#include <math.h>

#include "common.h"

static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

static const char* flags(void) {
  static char text[8];
  int raised = fetestexcept(FE_ALL_EXCEPT);
  snprintf(text, sizeof text, "%c%c%c%c%c", raised & FE_INVALID ? 'i' : '-', raised & FE_DIVBYZERO ? 'z' : '-',
           raised & FE_OVERFLOW ? 'o' : '-', raised & FE_UNDERFLOW ? 'u' : '-', raised & FE_INEXACT ? 'x' : '-');
  return text;
}

#define SHOW(what, expression)                                             \
  do {                                                                     \
    feclearexcept(FE_ALL_EXCEPT);                                          \
    volatile double result = (expression);                                 \
    printf("  %-12s %016" PRIx64 " %s\n", what, bits_of(result), flags()); \
  } while (0)

int main(int argc, char** argv) {
  Random random = {seed_of(argc, argv)};
  for (int m = 0; m < 4; m++) {
    fesetround(modes[m]);
    printf("mode %d\n", fegetround() == modes[m] ? m : -1);
    for (int i = 0; i < 3; i++) {
      volatile double a = (next_unit(&random) - 0.5) * 1e3, b = (next_unit(&random) - 0.5) * 1e-3;
      volatile double huge = 0x1.8p1023, tiny = 0x1.8p-1022, zero = 0;
      volatile float fa = (float)a, fb = (float)b;
      volatile long double la = (long double)a, lb = (long double)b;
      SHOW("add", a + b);
      SHOW("subtract", a - b * 1e-20);
      SHOW("multiply", a * b);
      SHOW("divide", a / b);
      SHOW("root", sqrt(fabs(a)));
      SHOW("fma", fma(a, b, -a));
      SHOW("overflow", huge * (i == 1 ? -huge : huge));
      SHOW("underflow", tiny * b);
      SHOW("exact tiny", tiny * 0.5);
      SHOW("by zero", a / zero);
      SHOW("invalid", zero / zero);
      SHOW("of less", sqrt(-fabs(a)));
      SHOW("infinities", (double)INFINITY - (a > 0 ? INFINITY : -INFINITY));
      SHOW("to float", (double)(float)(a * 1.1));
      SHOW("to half", (double)(__fp16)(a * 70));
      SHOW("float", (double)(fa * fb + fa));
      SHOW("float huge", (double)(float)(huge));
      SHOW("long", (double)(la * lb / 3 + la));
      SHOW("to int", (double)(int)a);
      SHOW("to int huge", (double)(int)(huge * 0.1));
      SHOW("to unsigned", (double)(unsigned)a);
      SHOW("to long", (double)(long)(a * 1e17));
      SHOW("from long", (double)(long)next_random(&random));
      SHOW("from ulong", (double)(float)next_random(&random));
      SHOW("rint", rint(a));
      SHOW("nearbyint", nearbyint(a));
      printf("  %d %d %d %d %d\n", a < b, a != a, isgreater((double)NAN, a), a == zero, isunordered(a, NAN));
    }
  }
  fesetround(FE_TONEAREST);
  feclearexcept(FE_ALL_EXCEPT);
  feraiseexcept(FE_OVERFLOW | FE_DIVBYZERO);
  printf("raised %s\n", flags());
  fenv_t environment;
  feholdexcept(&environment);
  printf("held %s\n", flags());
  fesetround(FE_UPWARD);
  feraiseexcept(FE_INVALID);
  feupdateenv(&environment);
  printf("updated %s %d\n", flags(), fegetround() == FE_TONEAREST);
  fexcept_t saved;
  fegetexceptflag(&saved, FE_ALL_EXCEPT);
  fesetenv(FE_DFL_ENV);
  printf("default %s\n", flags());
  fesetexceptflag(&saved, FE_INVALID);
  printf("set %s\n", flags());
  return 0;
}
