// SPDX-License-Identifier: Apache-2.0
// Which instructions a region consists of: those that direct branches and calls reach from its first one, nearest first,
// up to a bound. A call whose target belongs to the region is a branch inside it, unless calls leave regions.
#pragma once

#include <map>
#include <vector>

#include "translate/effects.h"
#include "translate/loops.h"
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
  Loops loops;               // if calls leave; else a loop goes back to lower addresses

  /// Whether the way from a block to one that may follow it goes back. Each way round a loop has such a step.
  bool goes_back(u64 from, u64 to) const { return calls_leave ? loops.back.contains({from, to}) : to <= from; }
  /// The most instructions that retire between two steps back.
  u32 longest_run() const {
    u32 run = instructions;
    for (const auto& [pc, loop] : loops.tests) run += static_cast<u32>(blocks.at(pc).instructions.size());
    return run;
  }
};

/// The addresses to which a block leads within its function by itself, if blocks of the region begin there: not by what an
/// indirect branch, a return or a call does.
std::vector<u64> direct_successors(const Block& block);

/// Whether regions have no code for an instruction. It counts as one that always stops.
using RefusesInstruction = std::function<bool(const Instruction& at)>;

/// False: nothing can be translated there, and `why` says why.
bool find_shape(u64 entry, const FetchWord& fetch, const RegionLimits& limits, Shape& shape, std::string& why,
                const RefusesInstruction& refuses = nullptr);

}  // namespace myriarm::translate
