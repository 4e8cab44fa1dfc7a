// SPDX-License-Identifier: Apache-2.0
// nbody.c as a Linux program: `nbody SEED ITERATIONS` prints the bits of the energy in hexadecimal. Without SEED the
// seed is the lane number. ITERATIONS is 1 by default.
#include "guest.h"

uint64_t nbody(uint32_t seed, int iterations);

int main(int argc, char** argv) {
  print("%016lx\n", nbody((uint32_t)argument(argc, argv, 1, 0), (int)argument(argc, argv, 2, 1)));
  return 0;
}
