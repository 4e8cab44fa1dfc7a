// SPDX-License-Identifier: Apache-2.0
// mixed.c as a Linux program: `mixed SEED ITERATIONS` prints the result in hexadecimal. Without SEED, or with "lane",
// the seed is the lane number. ITERATIONS is 1 by default.
#include "guest.h"

uint64_t mixed(uint32_t seed, int iterations);

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "lane") == 0) argv[1] = (char*)getenv("MYRIARM_LANE");
  if (argc > 1 && !argv[1]) argv[1] = "0";
  uint64_t result = mixed((uint32_t)argument(argc, argv, 1, 0), (int)argument(argc, argv, 2, 1));
  print("%016lx\n", result);
  return 0;
}
