// SPDX-License-Identifier: Apache-2.0
// Prints a greeting with the number of its lane.
#include "guest.h"

int main(void) {
  const char* lane = getenv("MYRIARM_LANE");
  print("hello from lane %s\n", lane ? lane : "0");
  return 0;
}
