// SPDX-License-Identifier: Apache-2.0
// Checks of memory management and its neighbours by the clauses of the C standard, 7.22 (C11); the number of the clause begins what a check is about.
#include "checking.h"

#include <malloc.h>
#include <math.h>
#include <stddef.h>

static unsigned long seed = 1;
static unsigned next(unsigned below) {
  seed = seed * 6364136223846793005ul + 1442695040888963407ul;
  return (unsigned)(seed >> 33) % below;
}
static int by_value(const void* a, const void* b) {
  const int first = *(const int*)a, second = *(const int*)b;
  return first < second ? -1 : first > second;
}
/// How many of many blocks, made, resized and freed in a random order, lose what was written to them or overlap others.
static long many_blocks(void) {
  enum { kBlocks = 500, kSteps = 20000 };
  static unsigned char* blocks[kBlocks];
  static size_t sizes[kBlocks];
  long wrong = 0;
  for (int step = 0; step < kSteps; step++) {
    const unsigned which = next(kBlocks);
    const unsigned char mark = (unsigned char)which;
    const size_t size = next(16) == 0 ? next(60000) + 1 : next(500) + 1;
    if (!blocks[which]) {
      blocks[which] = malloc(size);
      if (!blocks[which]) return -1;
      memset(blocks[which], mark, size);
      sizes[which] = size;
      wrong += (uintptr_t)blocks[which] % _Alignof(max_align_t) != 0;
      continue;
    }
    for (size_t i = 0; i < sizes[which]; i += 1 + sizes[which] / 64) wrong += blocks[which][i] != mark;
    wrong += blocks[which][sizes[which] - 1] != mark;
    if (next(3) == 0) {
      unsigned char* moved = realloc(blocks[which], size);
      if (!moved) return -1;
      for (size_t i = 0; i < size && i < sizes[which]; i += 1 + size / 64) wrong += moved[i] != mark;
      memset(moved, mark, size);
      blocks[which] = moved, sizes[which] = size;
    } else {
      free(blocks[which]);
      blocks[which] = NULL;
    }
  }
  for (int i = 0; i < kBlocks; i++) free(blocks[i]), blocks[i] = NULL;
  return wrong;
}

static void blocks(void) {
  char* block = malloc(100);
  GIVES(malloc, "7.22.3.4: space", 1, block != NULL);
  GIVES(malloc, "7.22.3: aligned for every object", 0, (uintptr_t)block % _Alignof(max_align_t));
  GIVES(malloc, "7.22.3: disjoint from others", 1, ({
          char* other = malloc(100);
          const int apart = other >= block + 100 || block >= other + 100;
          free(other);
          apart;
        }));
  free(block);
  GIVES(free, "7.22.3.3: a null pointer", 0, (free(NULL), 0));
  GIVES(free, "7.22.3.3: errno stays (POSIX)", 7, (block = malloc(1 << 20), errno = 7, free(block), errno));
  FAILS(malloc, "7.22.3.4: more than there can be", ENOMEM, malloc(PTRDIFF_MAX + 1ul) ? 0 : -1);
  FAILS(malloc, "7.22.3.4: more than there are addresses", ENOMEM, malloc(1ul << 46) ? 0 : -1);
  FAILS(calloc, "7.22.3.2: a product that overflows", ENOMEM, calloc(1ul << 33, 1ul << 33) ? 0 : -1);
  FAILS(realloc, "7.22.3.5: more than there can be", ENOMEM, realloc(NULL, PTRDIFF_MAX + 1ul) ? 0 : -1);
  GIVES(calloc, "7.22.3.2: all bits zero", 0, ({
          long sum = 0;
          char* used = malloc(5000);
          memset(used, 1, 5000);
          free(used);
          char* zeros = calloc(50, 100);
          for (int i = 0; i < 5000; i++) sum += zeros[i];
          free(zeros);
          sum;
        }));
  block = realloc(NULL, 10);
  memcpy(block, "012345678", 10);
  GIVES(realloc, "7.22.3.5: a null pointer is malloc()", 1, block != NULL);
  block = realloc(block, 100000);
  GIVES(realloc, "7.22.3.5: longer keeps what was there", 0, memcmp(block, "012345678", 10));
  block = realloc(block, 5);
  GIVES(realloc, "7.22.3.5: shorter keeps the beginning", 0, memcmp(block, "01234", 5));
  GIVES(realloc, "7.22.3.5: if it fails the old object stays", 0,
        realloc(block, PTRDIFF_MAX + 1ul) == NULL ? memcmp(block, "01234", 5) : -1);
  free(block);
  block = aligned_alloc(4096, 8192);
  GIVES(aligned_alloc, "7.22.3.1: its alignment", 0, block ? (uintptr_t)block % 4096 : -1);
  free(block);
  void* given = NULL;
  RETURNS(posix_memalign, "an alignment that is no power of two", EINVAL, posix_memalign(&given, 24, 100));
  RETURNS(posix_memalign, "an alignment", 0, posix_memalign(&given, 256, 100));
  GIVES(posix_memalign, "its alignment", 0, (uintptr_t)given % 256);
  GIVES(malloc_usable_size, "at least what was asked for", 1, malloc_usable_size(given) >= 100);
  free(given);
  GIVES(malloc, "7.22.3: 20,000 steps with 500 blocks", 0, many_blocks());
  GIVES(malloc, "7.22.3: once more, after all were freed", 0, many_blocks());
  block = malloc(4 << 20);
  memset(block, 5, 4 << 20);
  block = realloc(block, 8 << 20);
  GIVES(realloc, "7.22.3.5: a large block that grows", 5 + 5, block ? block[0] + block[(4 << 20) - 1] : -1);
  free(block);
  GIVES(malloc, "7.22.3.4: large blocks that were freed are used again", 0, ({
          long failed = 0;
          for (int i = 0; i < 100; i++) {
            char* large = malloc(4 << 20);
            failed += large == NULL;
            if (large) large[0] = large[(4 << 20) - 1] = 1;
            free(large);
          }
          failed;
        }));
}

static void neighbours(void) {
  char* end = NULL;
  GIVES(strtol, "7.22.1.4: white space, sign, digits", -42, strtol("  -42x", &end, 10));
  GIVES(strtol, "7.22.1.4: the first that is none", 'x', *end);
  GIVES(strtol, "7.22.1.4: base 0", 31 + 8 + 10,
        strtol("0x1f", NULL, 0) + strtol("010", NULL, 0) + strtol("10", NULL, 0));
  GIVES(strtol, "7.22.1.4: base 36", 35, strtol("z", NULL, 36));
  GIVES(strtol, "7.22.1.4: too large", LONG_MAX, strtol("99999999999999999999", NULL, 10));
  RETURNS(strtol, "7.22.1.4: too large, errno", ERANGE, (errno = 0, strtol("99999999999999999999", NULL, 10), errno));
  RETURNS(strtol, "7.22.1.4: a base that is unknown, errno", EINVAL, (errno = 0, strtol("1", NULL, 77), errno));
  GIVES(strtoul, "7.22.1.4: a negative number", ~0ul, strtoul("-1", NULL, 10));
  GIVES(strtod, "7.22.1.3: times 1000", 1500, strtod("1.5", NULL) * 1000);
  GIVES(strtod, "7.22.1.3: hexadecimal", 3, strtod("0x1.8p1", NULL));
  GIVES(strtod, "7.22.1.3: too large", 1, strtod("1e999", NULL) == HUGE_VAL);
  RETURNS(strtod, "7.22.1.3: too large, errno", ERANGE, (errno = 0, strtod("1e999", NULL), errno));
  GIVES(strtod, "7.22.1.3: the nearest", 1, strtod("9007199254740993", NULL) == 9007199254740992.0);
  GIVES(strtod, "7.22.1.3: the smallest", 1, strtod("4.9e-324", NULL) > 0);
  srand(1);
  const int first = rand();
  GIVES(rand, "7.22.2.1: at most RAND_MAX", 1, first >= 0 && first <= RAND_MAX);
  GIVES(srand, "7.22.2.2: the same seed, the same sequence", 1, (srand(1), rand()) == first);
  int numbers[1000], sorted = 1;
  for (int i = 0; i < 1000; i++) numbers[i] = (int)next(100000);
  qsort(numbers, 1000, sizeof *numbers, by_value);
  for (int i = 1; i < 1000; i++) sorted &= numbers[i - 1] <= numbers[i];
  GIVES(qsort, "7.22.5.2: in order", 1, sorted);
  GIVES(bsearch, "7.22.5.1: what is there", 1,
        *(int*)bsearch(&numbers[500], numbers, 1000, sizeof *numbers, by_value) == numbers[500]);
  GIVES(bsearch, "7.22.5.1: what is not", 1, bsearch(&(int){-1}, numbers, 1000, sizeof *numbers, by_value) == NULL);
  GIVES(abs, "7.22.6.1: labs, llabs", 3 + 4 + 5, abs(-3) + labs(-4) + llabs(-5));
  GIVES(div, "7.22.6.2: towards 0", -3 * 10 - 1, div(-7, 2).quot * 10 + div(-7, 2).rem);
  setenv("SUITE", "value", 1);
  GIVES(getenv, "7.22.4.6: what is there", 0, strcmp(getenv("SUITE"), "value"));
  GIVES(getenv, "7.22.4.6: what is not", 1, getenv("NO_SUCH_NAME") == NULL);
}

int main(void) {
  blocks();
  neighbours();
  return 0;
}
