// SPDX-License-Identifier: Apache-2.0
// Loads libm.so.6 in some lanes alone, and calls two of its functions: what code costs that only a part of the lanes of a team have mapped.
//   partly WHICH CALLS   in the first WHICH of each 32 lanes, by MYRIARM_LANE; so many calls of each function. The others count so far,
//                        so that they have not ended when the library is mapped
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  const char* number = getenv("MYRIARM_LANE");
  long lane = number ? atol(number) : 0, which = atol(argv[1]), rounds = atol(argv[2]);
  if (lane % 32 >= which) {
    volatile long count = 0;
    while (count < rounds) count = count + 1;
    printf("none %ld\n", count);
    return 0;
  }
  void* lib = dlopen("libm.so.6", RTLD_NOW);
  if (!lib) {
    puts(dlerror());
    return 1;
  }
  double (*power)(double, double) = (double (*)(double, double))dlsym(lib, "pow");
  double (*sine)(double) = (double (*)(double))dlsym(lib, "sin");
  double sum = 0;
  for (long i = 0; i < rounds; i++) sum += power(1.0 + (i % 97) / 128.0, 2.5) + sine(i * 0.25);
  printf("%.12g\n", sum);
  return 0;
}
