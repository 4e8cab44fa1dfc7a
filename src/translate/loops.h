// SPDX-License-Identifier: Apache-2.0
// Where the loops of a region for a GPU begin, so that each has one place where all ways round it meet. Lanes of a warp that went
// round in different ways come together again only at such a place, and only if nothing else leads into the loop.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/portable.h"

namespace myriarm::translate {

struct Block;

/// Blocks are named by their addresses.
struct Loops {
  /// Ways, from a block to one that may follow it, that go back to where a loop begins. Without these there is no way round.
  std::set<std::pair<u64, u64>> back;
  /// Where loops begin that lie in no other one.
  std::set<u64> outermost;
  /// Blocks that compilers put in front of a loop, and some of its ways back go to: they test whether it is entered or gone on with, and then
  /// lead to where it begins. With each, the blocks of the loop. What leads to such a block from elsewhere needs a copy of
  /// its own of it, or it would lead into the loop.
  std::map<u64, std::set<u64>> tests;
  u32 depth = 0;  // most loops that lie in each other, the outermost one included
};

/// `roots`: the blocks where lanes enter the region other than where loops begin, the first block of the region first.
Loops loops_of(const std::map<u64, Block>& blocks, const std::vector<u64>& roots);

}  // namespace myriarm::translate
