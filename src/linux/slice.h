// SPDX-License-Identifier: Apache-2.0
// How far lanes run in a round of LinuxFleet::run().
#pragma once

#include <cstdint>

namespace myriarm::linux_process {

/// Instructions of a lane in a round while other lanes wait to begin, or lanes that have ended may be restarted: a lane that
/// computes, or makes calls, for long does not keep them waiting. It takes a thread a tenth of a millisecond, or some
/// milliseconds if every second instruction is a call.
constexpr uint64_t kSlice = 50'000;

}  // namespace myriarm::linux_process
