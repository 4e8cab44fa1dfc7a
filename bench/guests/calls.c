// SPDX-License-Identifier: Apache-2.0
// calls ROUNDS TURNS [0]: ROUNDS rounds of up to TURNS turns of a loop, another number in each lane and round, and a
// clock_gettime, with a one-byte write in every tenth round. With a third argument 0 the calls are left out.
#include "guest.h"

int main(int argc, char** argv) {
  const uint64_t rounds = argument(argc, argv, 1, 1000), turns = argument(argc, argv, 2, 0), calls = argument(argc, argv, 3, 1);
  const char* lane = getenv("MYRIARM_LANE");
  uint32_t state = (lane ? (uint32_t)parse_number(lane) : 0) * 2654435761u + 1, sum = 0;
  for (uint64_t round = 0; round < rounds; round++) {
    if (turns) {
      state = state * 1103515245 + 12345;
      for (uint32_t turn = (state >> 16) % (uint32_t)turns; turn > 0; turn--) {
        sum = sum * 31 + turn;
        __asm__ volatile("" ::"r"(sum));
      }
    }
    if (!calls) continue;
    sum += (uint32_t)nanoseconds();
    if (round % 10 == 0 && write(1, "x", 1) != 1) return 1;
  }
  print("\n%lu rounds, %d\n", (unsigned long)rounds, sum != 0);
  return 0;
}
