// SPDX-License-Identifier: Apache-2.0
// Which registers a region may read before it has written them, from each of its blocks on: what must be loaded where a lane
// enters there. What a region writes goes to the LaneState at once, so leaving it needs no register.
#pragma once

#include <map>

#include "translate/shape.h"

namespace myriarm::translate {

struct LiveRegisters {
  u64 r = 0;  // bit slot
  u64 v = 0;  // bit 2 * n + half
};

/// By address of the block.
std::map<u64, LiveRegisters> live_registers(const Shape& shape);

}  // namespace myriarm::translate
