// SPDX-License-Identifier: Apache-2.0
// The numbers that inputs of a queue may have.
#pragma once

#include <cstdint>
#include <string>

#include "myriarm/error.h"

namespace myriarm::linux_process {

/// Throws ArgumentError if a source has given an input a number below `least`, or one for which MYRIARM_LANE has no room.
inline void check_number(uint64_t number, uint64_t least) {
  constexpr uint64_t kNumbers = 10'000'000'000;
  if (number >= least && number < kNumbers) return;
  throw ArgumentError("an input of the queue has the number " + std::to_string(number) +
                      "; numbers must rise, and have at most ten digits");
}

}  // namespace myriarm::linux_process
