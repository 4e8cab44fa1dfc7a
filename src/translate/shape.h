// SPDX-License-Identifier: Apache-2.0
// Which instructions a region consists of: those that direct branches and calls reach from its first one, nearest first,
// up to a bound. A call whose target belongs to the region is a branch inside it, unless calls leave regions.
#pragma once

#include <map>
#include <vector>

#include "translate/effects.h"
#include "translate/translator.h"

namespace myriarm::translate {

struct Instruction {
  u64 pc = 0;
  u32 word = 0;
  Operands operands = {};
  Effects effects;
  /// The target of a relative branch.
  u64 target() const { return pc + static_cast<u64>(static_cast<i64>(operands.offset)); }
};

/// Instructions that run one after the other: only the last may branch. If that one always stops, it is not executed: the
/// region is left before it.
struct Block {
  std::vector<Instruction> instructions;
  u64 pc() const { return instructions.front().pc; }
  const Instruction& last() const { return instructions.back(); }
};

struct Shape {
  std::map<u64, Block> blocks;     // by address
  std::vector<u64> entries;        // addresses of blocks; the first is the one asked for
  std::vector<u64> return_points;  // blocks behind calls whose targets are in the region
  u32 instructions = 0;
  Effects effects;           // of all of them
  bool calls_leave = false;  // see RegionLimits
};

/// Whether regions have no code for an instruction. It counts as one that always stops.
using RefusesInstruction = std::function<bool(const Instruction& at)>;

/// False: nothing can be translated there, and `why` says why.
bool find_shape(u64 entry, const FetchWord& fetch, const RegionLimits& limits, Shape& shape, std::string& why,
                const RefusesInstruction& refuses = nullptr);

}  // namespace myriarm::translate
