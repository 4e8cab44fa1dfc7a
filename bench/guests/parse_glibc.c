// SPDX-License-Identifier: Apache-2.0
// The parser of parse.c as a program of the C library, whose start-up each input pays for unless --fork-after leaves it out:
// reads up to 256 bytes, splits them into words, counts these in a table, and prints a checksum.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kInput = 256, kEntries = 2048 };

int main(void) {
  uint32_t* table = calloc(kEntries, sizeof *table);
  char input[kInput];
  const ssize_t size = read(0, input, sizeof input);
  if (table == NULL || size < 0) return 2;
  uint32_t hash = 2166136261u, words = 0, inside = 0;
  for (ssize_t i = 0; i < size; i++) {
    const uint8_t byte = (uint8_t)input[i];
    if (byte <= ' ') {
      if (inside) table[hash % kEntries]++, words++;
      hash = 2166136261u;
      inside = 0;
      continue;
    }
    hash = (hash ^ byte) * 16777619u;
    inside = 1;
  }
  uint32_t sum = words;
  for (uint32_t i = 0; i < kEntries; i += 64) sum = sum * 31 + table[i];
  printf("%x\n", sum);
  return words == 0;
}
