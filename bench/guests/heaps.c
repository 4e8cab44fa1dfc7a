// SPDX-License-Identifier: Apache-2.0
// heaps ROUNDS MOST [EQUAL]: a heap of 8 pages and, by the number of the lane, up to MOST more; then ROUNDS times a hash over
// its last page, with a store to each word. Where heaps differ, only some lanes of a team have that page. With EQUAL not 0
// all heaps have MOST more, and each lane works in the same page as without.
#include "guest.h"

enum { kPage = 4096, kWords = kPage / 8 };

int main(int argc, char** argv) {
  const uint64_t rounds = argument(argc, argv, 1, 100), most = argument(argc, argv, 2, 0);
  const int equal = argument(argc, argv, 3, 0) != 0;
  const char* lane = getenv("MYRIARM_LANE");
  const uint64_t more = lane ? parse_number(lane) % (most + 1) : 0;
  const long begin = (system_call(kSysBrk, 0, 0, 0) + kPage - 1) / kPage * kPage;
  const long last = begin + (long)(7 + more) * kPage, end = begin + (long)(8 + (equal ? most : more)) * kPage;
  if (system_call(kSysBrk, end, 0, 0) != end) return 1;
  uint64_t* const page = (uint64_t*)last;
  uint64_t hash = 1;
  for (uint64_t round = 0; round < rounds; round++) {
    for (uint64_t i = 0; i < kWords; i++) {
      hash = (hash ^ page[i]) * 0x100000001b3;
      page[i] = hash >> 7;
    }
  }
  print("%lx\n", hash);
  return 0;
}
