// SPDX-License-Identifier: Apache-2.0
// The C header in a C++ translation unit: it compiles, and its functions keep C's linkage.
#include "myriarm-c/myriarm.h"

extern "C" const char* myriarm_version();  // an error, if the header's had another linkage

static_assert(sizeof(myriarm_stop) == 16 && MYRIARM_X(30) == 30 && MYRIARM_V_HIGH(31) == 102);
