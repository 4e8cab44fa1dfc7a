// SPDX-License-Identifier: Apache-2.0
// The C header in C++: it compiles, and its functions have C linkage.
#include "myriarm-c/myriarm.h"

extern "C" const char* myriarm_version();  // does not compile if the header declares it with another linkage

static_assert(sizeof(myriarm_stop) == 16 && MYRIARM_X(30) == 30 && MYRIARM_V_HIGH(31) == 102);
