// SPDX-License-Identifier: Apache-2.0
#include "translate/liveness.h"

#include <vector>

#include "isa/control_flow.h"

namespace myriarm::translate {
namespace {

struct BlockSets {
  LiveRegisters reads, writes;  // reads before it writes; writes whenever it runs to its end
  std::vector<u64> successors;
};

BlockSets sets_of(const Block& block, const Shape& shape) {
  BlockSets sets;
  for (const Instruction& at : block.instructions) {
    if (at.effects.always_stops) return sets;  // the region is left before it
    sets.reads.r |= at.effects.reads_r & ~sets.writes.r;
    sets.reads.v |= at.effects.reads_v & ~sets.writes.v;
    sets.writes.r |= at.effects.always_writes_r;
    sets.writes.v |= at.effects.always_writes_v;
  }
  const Instruction& last = block.last();
  const Flow flow = flow_of(last.operands.row);
  if (flow == Flow::ret) sets.successors = shape.return_points;
  if (is_relative(last.operands.row)) sets.successors.push_back(last.target());
  if (flow == Flow::next || flow == Flow::branch) sets.successors.push_back(last.pc + 4);
  return sets;
}

}  // namespace

std::map<u64, LiveRegisters> live_registers(const Shape& shape) {
  std::map<u64, BlockSets> sets;
  std::map<u64, LiveRegisters> live;
  for (const auto& [pc, block] : shape.blocks) {
    const BlockSets& of = sets[pc] = sets_of(block, shape);
    live[pc] = of.reads;
  }
  for (bool changes = true; changes;) {
    changes = false;
    // Backwards, since most of what is live comes from behind.
    for (auto at = sets.rbegin(); at != sets.rend(); ++at) {
      const auto& [pc, of] = *at;
      LiveRegisters in = of.reads;
      for (const u64 successor : of.successors) {
        const auto found = live.find(successor);
        if (found == live.end()) continue;
        in.r |= found->second.r & ~of.writes.r;
        in.v |= found->second.v & ~of.writes.v;
      }
      LiveRegisters& before = live[pc];
      changes = changes || in.r != before.r || in.v != before.v;
      before = in;
    }
  }
  return live;
}

}  // namespace myriarm::translate
