// SPDX-License-Identifier: Apache-2.0
#include "translate/shape.h"

#include <algorithm>
#include <deque>
#include <set>

#include "isa/control_flow.h"
#include "isa/decoder.h"

namespace myriarm::translate {
namespace {

/// The addresses that an instruction leads to inside a region, without what an indirect branch or a return does.
struct Successors {
  bool next = false;     // the instruction behind it, without a branch
  bool target = false;   // Instruction::target()
  bool resumes = false;  // the instruction behind it, once a call has returned or another engine has run this one
};

Successors successors_of(const Instruction& at, const RegionLimits& limits) {
  Successors successors;
  if (at.effects.always_stops) {
    successors.resumes = true;
    return successors;
  }
  switch (flow_of(at.operands.row)) {
    case Flow::next: successors.next = true; break;
    case Flow::call:
      successors.target = is_relative(at.operands.row) && !limits.calls_leave;
      successors.resumes = true;
      break;
    case Flow::ret: break;
    case Flow::branch:
      successors.target = is_relative(at.operands.row);
      successors.next = successors.target && at.operands.row != kRow_B_only_branch_imm;
      break;
  }
  return successors;
}

class Finder {
 public:
  Finder(const FetchWord& fetch, const RegionLimits& limits, const RefusesInstruction& refuses)
      : fetch_(fetch), limits_(limits), refuses_(refuses) {}

  /// The straight line from pc on; what it leads to waits in queue_.
  void follow(u64 pc) {
    for (; found_.size() < limits_.instructions && !found_.contains(pc); pc += 4) {
      Instruction at;
      at.pc = pc;
      if (!fetch_(pc, at.word)) return;
      at.operands = decode(decode_table(), at.word);
      at.effects = effects_of(at.operands);
      if (refuses_ && refuses_(at)) at.effects.always_stops = true;
      found_.emplace(pc, at);
      const Successors successors = successors_of(at, limits_);
      if (successors.target) queue_.push_back(at.target());
      if (successors.resumes) queue_.push_back(pc + 4);
      if (!successors.next) return;
      if (successors.target) {  // the nearer one first
        queue_.push_back(pc + 4);
        return;
      }
    }
  }
  void find(u64 entry) {
    queue_.push_back(entry);
    while (!queue_.empty() && found_.size() < limits_.instructions) {
      const u64 pc = queue_.front();
      queue_.pop_front();
      follow(pc);
    }
  }
  bool contains(u64 pc) const { return found_.contains(pc); }
  const std::map<u64, Instruction>& found() const { return found_; }

 private:
  const FetchWord& fetch_;
  const RegionLimits& limits_;
  const RefusesInstruction& refuses_;
  std::map<u64, Instruction> found_;
  std::deque<u64> queue_;
};

}  // namespace

std::vector<u64> direct_successors(const Block& block) {
  const Instruction& last = block.last();
  RegionLimits limits;
  limits.calls_leave = true;
  const Successors successors = successors_of(last, limits);
  std::vector<u64> found;
  if (successors.target) found.push_back(last.target());
  if (successors.next) found.push_back(last.pc + 4);
  return found;
}

bool find_shape(u64 entry, const FetchWord& fetch, const RegionLimits& limits, Shape& shape, std::string& why,
                const RefusesInstruction& refuses) {
  Finder finder(fetch, limits, refuses);
  finder.find(entry);
  if (!finder.contains(entry)) {
    why = "there is no code to read";
    return false;
  }
  if (finder.found().at(entry).effects.always_stops) {
    why = "its first instruction always stops";
    return false;
  }

  std::set<u64> leaders = {entry}, returns, resumed, entries;
  for (const auto& [pc, at] : finder.found()) {
    const Successors successors = successors_of(at, limits);
    const bool falls_only = successors.next && !successors.target;
    if (!falls_only) leaders.insert(pc + 4);
    if (successors.target) leaders.insert(at.target());
    const bool call_inside = successors.target && successors.resumes && finder.contains(at.target());
    if (call_inside) returns.insert(pc + 4);
    if (successors.resumes && !call_inside) resumed.insert(pc + 4);
    // Where the limit can end a run: it goes on there.
    if (successors.target && at.target() <= pc && !limits.calls_leave) entries.insert(at.target());
  }
  Block* block = nullptr;
  u64 next = 0;
  for (const auto& [pc, at] : finder.found()) {
    if (block == nullptr || pc != next || leaders.contains(pc)) block = &shape.blocks[pc];
    block->instructions.push_back(at);
    next = pc + 4;
    shape.instructions++;
    if (!at.effects.always_stops) add_effects(shape.effects, at.effects);
  }
  shape.calls_leave = limits.calls_leave;
  if (shape.calls_leave) {
    std::vector<u64> roots = {entry};
    roots.insert(roots.end(), resumed.begin(), resumed.end());
    shape.loops = loops_of(shape.blocks, roots);
    entries = shape.loops.outermost;
  }
  entries.insert(resumed.begin(), resumed.end());
  shape.entries = {entry};
  for (const u64 pc : entries) {
    if (pc == entry || shape.entries.size() == limits.entries) continue;
    const auto found = finder.found().find(pc);
    if (found != finder.found().end() && !found->second.effects.always_stops) shape.entries.push_back(pc);
  }
  for (const u64 pc : returns) {
    if (finder.contains(pc)) shape.return_points.push_back(pc);
  }
  return true;
}

}  // namespace myriarm::translate
