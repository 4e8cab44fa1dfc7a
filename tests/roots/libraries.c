// SPDX-License-Identifier: Apache-2.0
// Uses a shared library that is there from the start, and one that it opens itself.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

extern __thread int per_thread;
extern int shared_value;
int add_to_thread(int value);
int resolved(void);

int main(void) {
  printf("%d %d %d %d\n", add_to_thread(2), per_thread, shared_value, resolved());
  void* opened = dlopen("libm.so.6", RTLD_NOW);
  double (*cosine)(double) = opened ? (double (*)(double))dlsym(opened, "cos") : NULL;
  printf("%.9f\n", cosine ? cosine(0.5) : -1.0);
  printf("%s\n", dlopen("libnothing.so", RTLD_NOW) ? "there" : dlerror());
  Dl_info info;
  printf("%s\n", dladdr((void*)add_to_thread, &info) ? strrchr(info.dli_fname, '/') : "?");
  return 0;
}
