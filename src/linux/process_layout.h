// SPDX-License-Identifier: Apache-2.0
// Where the parts of a Linux process lie in the guest's window, and the initial contents of its stack. A pure function
// from an ElfImage and options to a Program, so that it can be tested and fuzzed without a fleet.
//
//   window begin                                                                    window end
//   | image | heap, from break_start up to heap_limit ->   | guard page | stack               |
#pragma once

#include <array>
#include <cstdint>

#include "myriarm/linux.h"

namespace myriarm::linux_process {

/// The bytes in which lanes differ, next to each other: the digits of MYRIARM_LANE, padded with zeros, and the 16 bytes
/// of AT_RANDOM.
constexpr uint64_t kLaneDigitBytes = 11;
constexpr uint64_t kRandomBytes = 16;
using LaneBytes = std::array<uint8_t, kLaneDigitBytes + kRandomBytes>;

struct ProcessLayout {
  Program program;  ///< the image and the stack, complete except for the lane bytes
  uint64_t window_end = 0;
  uint64_t lane_bytes = 0;  ///< address of LaneBytes
  uint64_t break_start = 0;
  uint64_t heap_limit = 0;  ///< the highest address at which the heap may end
};

/// Lays out a process in `memory` bytes of guest address space. Throws ArgumentError if it does not fit.
ProcessLayout lay_out_process(const ElfImage& image, uint64_t memory, const LinuxOptions& options);

LaneBytes lane_bytes(uint64_t seed, uint32_t lane);

// The identity of the guest, in auxv and in system calls.
constexpr uint32_t kUserId = 1000;
constexpr uint32_t kProcessId = 1000;
constexpr uint32_t kParentId = 1;

}  // namespace myriarm::linux_process
