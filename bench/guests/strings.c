// SPDX-License-Identifier: Apache-2.0
// strings ROUNDS: formats, copies, sorts and parses 200 short strings in each round: calls of the C library all the time. Linked
// statically and dynamically it shows what a dynamic program costs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kStrings = 200 };

static int compare(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  unsigned long sum = 0;
  for (int round = 0; round < rounds; round++) {
    char* strings[kStrings];
    for (int i = 0; i < kStrings; i++) {
      char text[40];
      snprintf(text, sizeof text, "%d-%s", (i * 7919 + round) % 1000, &"abcdef"[i % 6]);
      strings[i] = strdup(text);
    }
    qsort(strings, kStrings, sizeof *strings, compare);
    for (int i = 0; i < kStrings; i++) {
      sum = sum * 31 + (unsigned long)strtol(strings[i], NULL, 10) + strlen(strings[i]);
      free(strings[i]);
    }
  }
  printf("%lu\n", sum);
  return 0;
}
