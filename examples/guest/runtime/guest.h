// SPDX-License-Identifier: Apache-2.0
// A tiny runtime for static Linux guests built with -mgeneral-regs-only: system calls, output, memory and strings.
// It replaces a C library, because glibc uses vector registers from its start-up on. A program has an ordinary main().
// Its standard output is buffered until the buffer is full, flush() is called, or the program ends.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What the kernel passed to the program. Valid from main() on.
extern char** environ;
/// Value of an environment variable, or NULL.
const char* getenv(const char* name);
/// Value of an entry of the auxiliary vector, or 0.
uint64_t auxiliary(uint64_t type);
/// argv[index] as a number; if it is missing, MYRIARM_LANE for index 1, and `otherwise` for other indices.
uint64_t argument(int argc, char** argv, int index, uint64_t otherwise);

// System calls return the kernel's result, which is -errno after an error.
// clang-format off
enum {
  kSysRead = 63, kSysWrite = 64, kSysWritev = 66, kSysExit = 93, kSysExitGroup = 94, kSysClockGettime = 113,
  kSysUname = 160, kSysBrk = 214, kSysGetrandom = 278,
};
// clang-format on
long system_call(long number, long a, long b, long c);
long write(int file, const void* bytes, size_t size);
long read(int file, void* bytes, size_t size);
/// Flushes the output and ends the program.
void __attribute__((noreturn)) exit(int status);
/// Nanoseconds of CLOCK_MONOTONIC.
uint64_t nanoseconds(void);

// Output to file descriptor 1. print() knows %s %c %d %u %x %ld %lu %lx %%, and a width with leading spaces or zeros.
void print(const char* format, ...) __attribute__((format(printf, 1, 2)));
void put_bytes(const void* bytes, size_t size);
void put_hex(const uint8_t* bytes, size_t size);
void flush(void);

// Memory and strings, as in C.
void* memcpy(void* to, const void* from, size_t size);
void* memmove(void* to, const void* from, size_t size);
void* memset(void* to, int value, size_t size);
int memcmp(const void* a, const void* b, size_t size);
size_t strlen(const char* text);
int strcmp(const char* a, const char* b);
/// A decimal number at the start of text; 0 if there is none.
uint64_t parse_number(const char* text);

// A first-fit heap on brk that joins free neighbours. malloc returns NULL when brk fails.
void* malloc(size_t size);
void* realloc(void* block, size_t size);
void free(void* block);

/// Reads standard input to its end into a heap block, and appends a zero byte.
char* read_all(size_t* size);

/// A small generator of random numbers: the same seed gives the same numbers everywhere.
typedef struct {
  uint64_t state;
} Random;
static inline uint64_t next_random(Random* random) {
  uint64_t z = random->state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/// The number of set bits. (__builtin_popcountl would call libgcc, because AArch64 counts bits in vector registers.)
static inline uint32_t count_ones(uint64_t bits) {
  uint32_t count = 0;
  for (; bits; bits &= bits - 1) count++;
  return count;
}

/// FNV-1a, for checksum lines. Start with kHashStart.
#define kHashStart 0xCBF29CE484222325u
static inline uint64_t hash_bytes(uint64_t hash, const void* bytes, size_t size) {
  const uint8_t* p = bytes;
  for (size_t i = 0; i < size; i++) hash = (hash ^ p[i]) * 0x100000001B3u;
  return hash;
}
