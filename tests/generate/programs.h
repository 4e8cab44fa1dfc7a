// SPDX-License-Identifier: Apache-2.0
// Random programs that go round for ever, for tests of engines that translate: functions that call each other deeply and through
// tables, branches through tables, flags that are set before and used behind all of these, code that is written while it runs,
// accesses that fault in the middle of blocks, and calls of mprotect. The same seed gives the same program on every machine.
#pragma once

#include <vector>

#include "generate/generate.h"
#include "myriarm/fleet.h"

namespace myriarm {

/// Where a random program has its memory, in one window.
struct WanderingLayout {
  static constexpr u64 code = 0x400000, code_bytes = 8 * kPageBytes;
  /// Code that the program writes, and code that writes itself.
  static constexpr u64 written = code + code_bytes, written_bytes = 2 * kPageBytes;
  /// Addresses of functions and of blocks, and instructions to write.
  static constexpr u64 tables = written + written_bytes, tables_bytes = kPageBytes;
  static constexpr u64 data = tables + tables_bytes, data_bytes = 4 * kPageBytes;
  static constexpr u64 constant = data + data_bytes;  ///< a page to read
  static constexpr u64 hole = constant + kPageBytes;  ///< not mapped
  static constexpr u64 stack = hole + kPageBytes, stack_bytes = 4 * kPageBytes;
  static constexpr u64 end = stack + stack_bytes;
  static constexpr u64 window_bytes = end - code;
};

struct WanderingProgram {
  Program program;
  u64 start = 0;                       ///< where a lane begins, and goes on if it has no code where it is
  std::vector<u64> starts;             ///< addresses of all functions
  u64 instructions = 0, indirect = 0;  ///< in its code, and those of them that branch to a register
};
/// `keeps_code`: it writes and protects no code.
WanderingProgram wandering_program(Random& random, bool keeps_code = false);
/// A value that register n (0 to 30; 31: SP) of its lanes may begin with.
u64 first_wandering_value(Random& random, u32 n);

}  // namespace myriarm
