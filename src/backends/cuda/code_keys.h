// SPDX-License-Identifier: Apache-2.0
// What the device tells the host of a team's code: enough to group the teams, not enough to trust it.
#pragma once

#include "core/portable.h"

namespace myriarm::cuda {

/// The code of a team: its program's, but for some pages.
struct CodeKey {
  u32 team;
  u32 program;
  u32 low, high;  // the first and the last page of its own code; low > high: none
  u64 hash;       // of the pages that are not the program's and their bytes; 0: there are none
};

}  // namespace myriarm::cuda
