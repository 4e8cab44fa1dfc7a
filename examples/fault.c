// SPDX-License-Identifier: Apache-2.0
// `fault KIND` shows how a guest that fails is reported: it dereferences a null pointer (the default), stores to
// constant data, or executes an undefined instruction. With KIND "some", every eighth lane fails.
#include "guest.h"

static const uint64_t constant = 7;

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "null";
  const char* lane = getenv("MYRIARM_LANE");
  print("lane %s: %s\n", lane ? lane : "0", kind);
  flush();
  if (strcmp(kind, "some") == 0 && lane && parse_number(lane) % 8 != 7) return 0;
  if (strcmp(kind, "readonly") == 0) *(volatile uint64_t*)(uint64_t)&constant = 8;
  if (strcmp(kind, "undefined") == 0) __asm__ volatile(".inst 0");
  __asm__ volatile("ldr x0, [%0]" ::"r"(0L) : "x0");
  return 1;
}
