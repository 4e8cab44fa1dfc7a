// SPDX-License-Identifier: Apache-2.0
// What core/portable.h cannot know when it is compiled, and asks the processor when the program starts.
#include "core/portable.h"

namespace myriarm {

#if defined(__x86_64__) && !defined(__FMA__)
const bool kMachineHasFma = __builtin_cpu_supports("fma") != 0;
#endif

}  // namespace myriarm
