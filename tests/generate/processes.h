// SPDX-License-Identifier: Apache-2.0
// Random processes: random code with system calls in it, for tests that run it. The calls are those that src/kernel/ serves,
// in every form that leads somewhere: most arguments make sense, some are at an edge, some are any number.
#pragma once

#include "generate/generate.h"
#include "myriarm/program.h"

namespace myriarm {

/// Where a random process has its memory, in one window. Calls that change mappings mostly aim at the arena, of which every
/// other page is mapped when the process begins, and at the heap; random loads and stores at the data.
struct ProcessLayout {
  static constexpr u64 code = 0x400000, code_bytes = 16 * kPageBytes;
  static constexpr u64 data = code + code_bytes, data_bytes = 3 * kPageBytes;
  /// Paths, buffer lists, times, signal sets: what arguments point to.
  static constexpr u64 records = data + data_bytes, records_bytes = kPageBytes;
  static constexpr u64 constant = records + records_bytes;  ///< a page to read
  static constexpr u64 arena = constant + 2 * kPageBytes, arena_bytes = 16 * kPageBytes;
  static constexpr u64 break_start = arena + arena_bytes;
  static constexpr u64 heap_limit = break_start + 24 * kPageBytes;
  static constexpr u64 stack = heap_limit + kPageBytes, stack_bytes = 2 * kPageBytes;
  static constexpr u64 end = stack + stack_bytes, window_bytes = end - code;
};

/// A call that random processes make.
struct GeneratedCall {
  const char* name;
  u32 number;
  const char* arguments;  ///< a letter for each: see processes.cpp
  u32 weight;             ///< how often it is drawn, relative to the others
};
std::span<const GeneratedCall> generated_calls();

struct RandomProcess {
  Program program;
  std::vector<u64> starts;  ///< addresses where its code may begin
};
/// A process whose code goes round for ever; a call, a fault or a limit of its lane ends it. The rows of its generator should
/// be those of process_rows(), and its registers should begin with values of first_value().
RandomProcess random_process(Random& random, const BlockGenerator& generator);
/// Rows of instructions that seldom end a lane: no exceptions, no accesses far from the registers, and of those that must be
/// aligned only some.
std::vector<u16> process_rows();
/// A value that register n (0 to 30; 31: SP) of a process may begin with.
u64 first_value(Random& random, u32 n);

}  // namespace myriarm
