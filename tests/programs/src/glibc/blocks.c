// SPDX-License-Identifier: Apache-2.0
// Memory from the kernel: malloc of large and small blocks, realloc that moves them, calloc of memory used before, and
// mmap, mprotect, mremap, munmap, madvise and brk called directly, with what their manual pages say of bad arguments.
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"

enum { kPage = 4096, kBlocks = 40 };

static int failed(void* result) { return result == MAP_FAILED ? errno : 0; }
static int error_of(int result) { return result == 0 ? 0 : errno; }

static void churn(Random* random) {
  uint8_t* blocks[kBlocks] = {0};
  size_t sizes[kBlocks] = {0};
  uint64_t hash = kHashStart;
  for (int step = 0; step < 120; step++) {
    size_t i = next_random(random) % kBlocks, size = 1 + next_random(random) % (step % 4 ? 3000 : 400000);
    for (size_t k = 0; k < sizes[i]; k += 509) hash = hash_word(hash, blocks[i][k]);
    if (step % 3 == 0) {
      blocks[i] = realloc(blocks[i], size);
    } else {
      free(blocks[i]);
      blocks[i] = step % 3 == 1 ? malloc(size) : calloc(size, 1);
      if (step % 3 == 2) {
        for (size_t k = 0; k < size; k += 97) hash = hash_word(hash, blocks[i][k]);
      }
    }
    if (!blocks[i]) {
      puts("no memory");
      exit(1);
    }
    sizes[i] = size;
    for (size_t k = 0; k < size; k += 509) blocks[i][k] = (uint8_t)(k + i + (size_t)step);
    if (step % 3 == 0) memset(blocks[i], 1, size < 64 ? size : 64);
  }
  for (int i = 0; i < kBlocks; i++) free(blocks[i]);
  printf("churn %016" PRIx64 "\n", hash);
}

/// How many of madvise()'s rules do not hold.
static int advise(void) {
  uint8_t* p = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  p[0] = p[kPage] = 1;
  int wrong = madvise(p, kPage, MADV_DONTNEED) != 0;
  wrong += p[0] != 0;
  wrong += p[kPage] != 1;
  wrong += error_of(madvise(p + 1, kPage, MADV_NORMAL)) != EINVAL;
  return wrong;
}

static void map_directly(void) {
  uint8_t* p = mmap(NULL, 8 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("mmap %d aligned %d zero %d\n", failed(p), (uintptr_t)p % kPage == 0, p[0] + p[8 * kPage - 1]);
  for (int i = 0; i < 8; i++) p[i * kPage] = (uint8_t)(i + 1);
  printf("protect %d ", error_of(mprotect(p + kPage, kPage, PROT_READ)));
  printf("%d ", error_of(mprotect(p + 1, kPage, PROT_READ)));
  printf("%d %d\n", error_of(mprotect((void*)kPage, kPage, PROT_READ)), p[kPage]);
  printf("unmap %d ", error_of(munmap(p + 3 * kPage, 2 * kPage)));
  printf("%d %d ", error_of(munmap(p + 3 * kPage, 2 * kPage)), error_of(munmap(p + 1, kPage)));
  printf("%d\n", error_of(munmap(p, 0)));
  printf("over a gap %d ", error_of(mprotect(p, 8 * kPage, PROT_READ | PROT_WRITE)));
  p[2 * kPage] = 33;  // before the gap it was done
  printf("%d %d\n", p[2 * kPage], p[7 * kPage]);
  uint8_t* again =
      mmap(p + 3 * kPage, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  printf("fixed %d %d\n", again == p + 3 * kPage, again[0]);
  uint8_t* grown = mremap(p, 8 * kPage, 40 * kPage, MREMAP_MAYMOVE);
  printf("remap %d:", failed(grown));
  for (int i = 0; i < 8; i++) printf(" %d", grown[i * kPage]);
  printf(" %d\n", grown[39 * kPage]);
  grown[39 * kPage] = 7;
  uint8_t* less = mremap(grown, 40 * kPage, 2 * kPage, 0);
  printf("less %d %d\n", less == grown, less[kPage]);
  printf("bad %d %d %d\n", failed(mremap(less + 1, kPage, kPage, 0)), failed(mremap(less, kPage, kPage, 64)),
         failed(mremap((void*)kPage, kPage, 2 * kPage, MREMAP_MAYMOVE)));
  munmap(less, 2 * kPage);

  printf("length 0: %d, no kind: %d, offset: %d, no file: %d, unaligned: %d, huge: %d\n",
         failed(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
         failed(mmap(NULL, kPage, PROT_READ, MAP_ANONYMOUS, -1, 0)),
         failed(mmap(NULL, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 1)),
         failed(mmap(NULL, kPage, PROT_READ, MAP_PRIVATE, 77, 0)),
         failed(mmap((void*)12345, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)),
         failed(mmap(NULL, ~(size_t)0 - 100, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
  uint8_t* reserved = mmap(NULL, 64 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  printf("reserved %d ", error_of(mprotect(reserved + 5 * kPage, 3 * kPage, PROT_READ | PROT_WRITE)));
  reserved[6 * kPage] = 9;
  printf("%d ", error_of(mprotect(reserved + 5 * kPage, 3 * kPage, PROT_NONE)));
  printf("%d ", error_of(mprotect(reserved + 6 * kPage, kPage, PROT_READ)));
  printf("%d\n", reserved[6 * kPage]);
  uint32_t* code = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  code[0] = 0x52800540;  // mov w0, #42
  code[1] = 0xD65F03C0;  // ret
  __builtin___clear_cache((char*)code, (char*)(code + 2));
  printf("code %d ", error_of(mprotect(code, kPage, PROT_READ | PROT_EXEC)));
  printf("%d\n", ((int (*)(void))(uintptr_t)code)());

  uint8_t* top = sbrk(0);
  printf("break %d ", sbrk(3 * kPage) == top);
  top[3 * kPage - 1] = 5;
  printf("%d %d\n", sbrk(-3 * kPage) == top + 3 * kPage, sbrk(0) == top);
}

int main(int argc, char** argv) {
  Random random = {seed_of(argc, argv)};
  map_directly();
  churn(&random);
  fflush(stdout);
  if (argc > 2 && strcmp(argv[2], "advice") == 0) return advise();
  if (argc > 2) {  // a store to what may only be read ends the program
    volatile uint8_t* p = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (strcmp(argv[2], "read-only") == 0) mprotect((void*)p, kPage, PROT_READ);
    if (strcmp(argv[2], "none") == 0) mprotect((void*)p, kPage, PROT_NONE);
    if (strcmp(argv[2], "unmapped") == 0) munmap((void*)p, kPage);
    p[0] = 1;
  }
  return 0;
}
