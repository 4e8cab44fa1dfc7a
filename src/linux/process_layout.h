// SPDX-License-Identifier: Apache-2.0
// Where the pieces of a Linux process lie in the guest's window, and the bytes that its stack begins with. Pure:
// an ElfImage and options in, a Program out, so that it can be tested and fuzzed without a fleet.
//
//   window begin                                                                    window end
//   | image | heap, from break_start up to heap_limit ->   | guard page | stack               |
#pragma once

#include <array>
#include <cstdint>

#include "myriarm/linux.h"

namespace myriarm::linux_process {

/// What differs between lanes, one run of bytes: the digits of MYRIARM_LANE with the rest of their slot zero, and
/// the 16 bytes of AT_RANDOM.
constexpr uint64_t kLaneDigitBytes = 11;
constexpr uint64_t kRandomBytes = 16;
using LaneBytes = std::array<uint8_t, kLaneDigitBytes + kRandomBytes>;

struct ProcessLayout {
  Program program;  ///< the image and the stack; all but the lane bytes is there
  uint64_t window_end = 0;
  uint64_t lane_bytes = 0;  ///< address of LaneBytes
  uint64_t break_start = 0;
  uint64_t heap_limit = 0;  ///< the heap ends here at the latest
};

/// Lays out a process in `memory` bytes of guest address space. Throws ArgumentError if it does not fit.
ProcessLayout lay_out_process(const ElfImage& image, uint64_t memory, const LinuxOptions& options);

LaneBytes lane_bytes(uint64_t seed, uint32_t lane);

/// AT_HWCAP: the features of which every instruction in the table is implemented.
uint64_t hardware_capabilities();

// Who the guest is, in auxv and in system calls alike.
constexpr uint32_t kUserId = 1000;
constexpr uint32_t kProcessId = 1000;
constexpr uint32_t kParentId = 1;

}  // namespace myriarm::linux_process
