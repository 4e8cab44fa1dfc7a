// SPDX-License-Identifier: Apache-2.0
// Which kernel the next launch of a fleet gets whose engine translates: that of translated code, or the interpreter's. Where lanes
// have parted for good, and programs are larger than a multiprocessor's cache of instructions, the interpreter is the faster one
// (docs/design/translation-on-a-gpu.md); so both are measured while the fleet runs.
#pragma once

#include "backends/cuda/launch_choice.h"

namespace myriarm::cuda {

struct KernelChoice : LaunchChoice {
  enum Kernel : u32 { kTranslated, kInterpreted };
};

}  // namespace myriarm::cuda
