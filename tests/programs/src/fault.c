// SPDX-License-Identifier: Apache-2.0
// Ends with a fault of the kind that argv[1] names, for which Linux sends a signal.
#include "guest.h"

static const uint64_t constant = 7;

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "null";
  print("about to fault: %s\n", kind);
  flush();
  uint64_t value = 0, bytes[4] = {0};
  if (strcmp(kind, "null") == 0) __asm__ volatile("ldr %0, [%0]" : "+r"(value));
  if (strcmp(kind, "null-store") == 0) __asm__ volatile("str %0, [%1, #16]" ::"r"(value), "r"(0L) : "memory");
  if (strcmp(kind, "high") == 0) __asm__ volatile("ldr %0, [%1]" : "=r"(value) : "r"(0x0000FFFFFFFFF000u));
  if (strcmp(kind, "kernel") == 0) __asm__ volatile("ldr %0, [%1]" : "=r"(value) : "r"(0x0008000000000000u));
  if (strcmp(kind, "readonly") == 0) __asm__ volatile("str %0, [%1]" ::"r"(value), "r"(&constant) : "memory");
  if (strcmp(kind, "code") == 0) __asm__ volatile("str %0, [%1]" ::"r"(value), "r"(&main) : "memory");
  if (strcmp(kind, "jump") == 0) __asm__ volatile("br %0" ::"r"(0x1000L));
  if (strcmp(kind, "jump-odd") == 0) __asm__ volatile("br %0" ::"r"((uint64_t)&main + 2));
  if (strcmp(kind, "jump-data") == 0) __asm__ volatile("br %0" ::"r"(bytes));
  // Across 16 bytes: FEAT_LSE2, which newer releases of QEMU have, allows what lies within.
  if (strcmp(kind, "exclusive") == 0) __asm__ volatile("ldxr %0, [%1]" : "=r"(value) : "r"(((uint64_t)bytes | 15) - 3));
  if (strcmp(kind, "brk") == 0) __asm__ volatile("brk #7");
  if (strcmp(kind, "udf") == 0) __asm__ volatile(".inst 0");
  if (strcmp(kind, "privileged") == 0) __asm__ volatile("msr ttbr0_el1, %0" ::"r"(value));
  if (strcmp(kind, "stack") == 0) __asm__ volatile("1: sub sp, sp, #4096\n str xzr, [sp]\n b 1b");
  print("still here: %lu\n", value);
  return 1;
}
