// SPDX-License-Identifier: Apache-2.0
// A shared library with variables of its own, also for each thread.
#include <stdio.h>

__thread int per_thread = 40;
int shared_value = 5;
static int calls;

__attribute__((constructor)) static void begin(void) { printf("library begins\n"); }
__attribute__((destructor)) static void end(void) { printf("library ends after %d calls\n", calls); }

int add_to_thread(int value) {
  calls++;
  return per_thread += value;
}

static int chosen(void) { return 77; }
static int (*choose(void))(void) { return chosen; }
int resolved(void) __attribute__((ifunc("choose")));
