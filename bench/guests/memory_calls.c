// SPDX-License-Identifier: Apache-2.0
// memory_calls RANGES ROUNDS [SHIFT]: maps pages of which every second one has another protection, so that each is a range of its own, and
// then changes single pages: three mprotect and one mmap in four rounds. With SHIFT 1 each lane changes others.
#include "guest.h"

enum { kSysMmap = 222, kSysMprotect = 226, kPage = 4096, kRead = 1, kReadWrite = 3, kPrivate = 0x22, kFixed = 0x10 };

static long map(long address, long size, long flags) {
  register long x8 __asm__("x8") = kSysMmap, x0 __asm__("x0") = address, x1 __asm__("x1") = size,
                x2 __asm__("x2") = kRead, x3 __asm__("x3") = flags, x4 __asm__("x4") = -1, x5 __asm__("x5") = 0;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

int main(int argc, char** argv) {
  const long ranges = (long)argument(argc, argv, 1, 4000), rounds = (long)argument(argc, argv, 2, 100000);
  const char* lane = getenv("MYRIARM_LANE");
  const long shift = argument(argc, argv, 3, 0) && lane ? (long)parse_number(lane) : 0;
  const long area = map(0, ranges * kPage, kPrivate);
  if (area < 0) return 1;
  for (long i = 0; i < ranges; i += 2) {
    if (system_call(kSysMprotect, area + i * kPage, kPage, kReadWrite) != 0) return 2;
  }
  for (long round = 0; round < rounds; round++) {
    const long at = area + (round * 7 + shift) % ranges * kPage;
    if (round % 4 == 3) {
      if (map(at, kPage, kPrivate | kFixed) != at) return 3;
    } else if (system_call(kSysMprotect, at, kPage, round & 1 ? kRead : kReadWrite) != 0) {
      return 4;
    }
  }
  return 0;
}
