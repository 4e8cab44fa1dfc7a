// SPDX-License-Identifier: Apache-2.0
// Stresses a heap on brk: random blocks are allocated, filled, checked, resized and freed.
#include "guest.h"

enum { kBlocks = 64 };
static struct {
  uint8_t* bytes;
  size_t size;
  uint8_t fill;
} blocks[kBlocks];

static int wrong;

static void check(int i) {
  for (size_t k = 0; k < blocks[i].size; k++) wrong += blocks[i].bytes[k] != (uint8_t)(blocks[i].fill + k);
}

int main(int argc, char** argv) {
  Random random = {argument(argc, argv, 1, 0)};
  uint64_t taken = 0, total = 0, sum = 0;
  for (int step = 0; step < 1500; step++) {
    uint64_t r = next_random(&random);
    int i = (int)(r % kBlocks);
    size_t size = r >> 8 & (r & 0x80 ? 0xFFF : 0x3F);
    if (blocks[i].bytes && (r >> 32 & 1)) {
      check(i);
      blocks[i].bytes = realloc(blocks[i].bytes, size);
      if (size < blocks[i].size) blocks[i].size = size;
      check(i);
    } else {
      check(i);
      free(blocks[i].bytes);
      blocks[i].bytes = malloc(size);
    }
    if (!blocks[i].bytes) return 2;
    blocks[i].size = size;
    blocks[i].fill = (uint8_t)(r >> 40);
    for (size_t k = 0; k < size; k++) blocks[i].bytes[k] = (uint8_t)(blocks[i].fill + k);
    taken++;
    total += size;
    sum = sum * 31 + (uint64_t)(blocks[i].bytes - blocks[0].bytes) * (blocks[0].bytes != NULL);
  }
  for (int i = 0; i < kBlocks; i++) {
    check(i);
    free(blocks[i].bytes);
  }

  // One large block, touched sparsely, and one that cannot be had.
  uint8_t* large = malloc(3 << 20);
  uint64_t zeros = 0;
  for (size_t k = 1 << 20; k < (3u << 20); k += 4096) zeros += large[k] == 0, large[k] = 1;
  print("%lu blocks of %lu bytes in all, %d wrong\n%lu fresh pages were zero\n", taken, total, wrong, zeros);
  print("a block of 2^41 bytes: %s\n", malloc((size_t)1 << 41) ? "given" : "refused");

  // brk itself: down, up again, and the page is zero again.
  long end = system_call(kSysBrk, 0, 0, 0), page = (end + 4095) & ~4095L;
  wrong += system_call(kSysBrk, page + 8192, 0, 0) != page + 8192;
  *(volatile uint64_t*)(page + 4096) = 5;
  wrong += system_call(kSysBrk, page, 0, 0) != page;
  wrong += system_call(kSysBrk, page + 8192, 0, 0) != page + 8192;
  wrong += *(volatile uint64_t*)(page + 4096) != 0;
  wrong += system_call(kSysBrk, 16, 0, 0) != page + 8192;
  print("%d wrong\nchecksum %016lx\n", wrong, sum);
  return wrong != 0;
}
