// SPDX-License-Identifier: Apache-2.0
// Says hello from its lane.
#include "guest.h"

int main(void) {
  const char* lane = getenv("MYRIARM_LANE");
  print("hello from lane %s\n", lane ? lane : "0");
  return 0;
}
