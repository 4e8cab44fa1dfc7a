// SPDX-License-Identifier: Apache-2.0
// Ends with status 42.
#include "guest.h"

int main(void) {
  print("the answer\n");
  return 42;
}
