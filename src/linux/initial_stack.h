// SPDX-License-Identifier: Apache-2.0
// The stack of a process as the kernel leaves it for _start: argc, argv, envp, auxv, then the strings. A pure function,
// so that it can be tested and fuzzed without a fleet.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernel/start_bytes.h"
#include "myriarm/linux.h"

namespace myriarm::linux_process {

/// The bytes in which the stacks of lanes with equal arguments differ: kernel/start_bytes.h.
constexpr uint64_t kLaneDigitBytes = kernel::kLaneDigitBytes;
constexpr uint64_t kRandomBytes = kernel::kStartRandomBytes;
using LaneBytes = std::array<uint8_t, kernel::kStartBytes>;

/// `number`: of the lane, or of the input that it works on; at most ten digits.
LaneBytes lane_bytes(uint64_t seed, uint64_t number);

/// What the stacks of all lanes are made from.
struct StackFacts {
  std::string program;  ///< its name: of the file, as the kernel tells it, and in messages
  uint64_t end = 0;     ///< address behind the stack
  uint64_t size = 0;    ///< of which arguments and environment may take a quarter, as on Linux
  uint64_t entry = 0;
  uint64_t program_headers = 0;
  uint64_t program_header_count = 0;
  uint64_t interpreter_base = 0;  ///< of a dynamic program: ElfImage::interpreter_base
};

struct InitialStack {
  std::vector<uint8_t> bytes;  ///< from the stack pointer to StackFacts::end, with zeros as LaneBytes
  uint64_t stack_pointer = 0;
  uint64_t lane_bytes = 0;  ///< address of LaneBytes
};

/// Throws ArgumentError if the arguments and the environment are too large. Variables named MYRIARM_LANE are left out.
InitialStack initial_stack(const StackFacts& facts, std::span<const std::string> arguments,
                           std::span<const std::string> environment);

}  // namespace myriarm::linux_process
