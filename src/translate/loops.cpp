// SPDX-License-Identifier: Apache-2.0
#include "translate/loops.h"

#include <algorithm>

#include "translate/shape.h"

namespace myriarm::translate {
namespace {

/// The blocks as numbers, in the order of their addresses.
class Finder {
 public:
  Finder(const std::map<u64, Block>& blocks, const std::vector<u64>& roots) {
    std::map<u64, u32> numbers;
    for (const auto& [pc, block] : blocks) {
      numbers.emplace(pc, static_cast<u32>(pcs_.size()));
      pcs_.push_back(pc);
    }
    successors_.resize(pcs_.size());
    only_tests_.resize(pcs_.size());
    order_.assign(pcs_.size(), kNone);
    for (const auto& [pc, block] : blocks) {
      const u32 number = numbers.at(pc);
      for (const u64 to : direct_successors(block)) {
        if (numbers.contains(to)) successors_[number].insert(numbers.at(to));
      }
      only_tests_[number] =
          std::all_of(block.instructions.begin(), block.instructions.end(), [](const Instruction& at) {
            const Effects& e = at.effects;
            return (e.writes_r | e.writes_v | e.writes_system) == 0 && !e.loads && !e.stores && !e.always_stops;
          });
    }
    last_ = static_cast<u32>(pcs_.size());
    for (const u64 root : roots) {
      if (numbers.contains(root)) set_order(numbers.at(root));
    }
    std::vector<u32> all;
    for (u32 at = 0; at < pcs_.size(); at++) {
      set_order(at);  // what is left nobody reaches
      all.push_back(at);
    }
    find(all, 1);
  }
  Loops take() { return std::move(loops_); }

 private:
  static constexpr u32 kNone = ~u32{0};

  /// Reverse postorder: of two blocks of a loop the one that lanes reach first has the smaller number.
  void set_order(u32 at) {
    if (order_[at] != kNone) return;
    order_[at] = kOpen;
    for (const u32 next : successors_[at]) set_order(next);
    order_[at] = --last_;
  }
  static constexpr u32 kOpen = kNone - 1;

  /// The loops among blocks, without those ways back that are known already.
  void find(const std::vector<u32>& blocks, u32 depth) {
    for (const std::vector<u32>& loop : components(blocks)) {
      const std::set<u32> inside(loop.begin(), loop.end());
      u32 begin = *std::min_element(loop.begin(), loop.end(), [&](u32 a, u32 b) { return order_[a] < order_[b]; });
      // What begins with more than a test is a loop around another one, and lanes wait at its end for those in the other.
      const u32 behind = only_tests_[begin] ? only_successor(begin, inside) : kNone;
      if (behind != kNone && behind != begin && predecessors(behind, inside) > 1) {
        std::set<u64>& of_test = loops_.tests[pcs_[begin]];
        for (const u32 at : loop) of_test.insert(pcs_[at]);
        begin = behind;
      }
      for (const u32 at : loop) {
        if (successors_[at].erase(begin) != 0) loops_.back.emplace(pcs_[at], pcs_[begin]);
      }
      if (depth == 1) loops_.outermost.insert(pcs_[begin]);
      loops_.depth = std::max(loops_.depth, depth);
      find(loop, depth + 1);
    }
  }
  u32 only_successor(u32 at, const std::set<u32>& inside) const {
    u32 only = kNone;
    for (const u32 next : successors_[at]) {
      if (!inside.contains(next)) continue;
      if (only != kNone) return kNone;
      only = next;
    }
    return only;
  }
  u32 predecessors(u32 at, const std::set<u32>& inside) const {
    u32 count = 0;
    for (const u32 from : inside) count += successors_[from].contains(at);
    return count;
  }

  /// The strongly connected components with a way round, by Tarjan's algorithm.
  std::vector<std::vector<u32>> components(const std::vector<u32>& blocks) {
    among_ = std::set<u32>(blocks.begin(), blocks.end());
    index_.clear();
    found_.clear();
    for (const u32 at : blocks) {
      if (!index_.contains(at)) connect(at);
    }
    return std::move(found_);
  }
  u32 connect(u32 at) {
    const u32 index = static_cast<u32>(index_.size());
    u32 low = index;
    index_[at] = index;
    open_.push_back(at);
    for (const u32 next : successors_[at]) {
      if (!among_.contains(next)) continue;
      if (!index_.contains(next)) {
        low = std::min(low, connect(next));
      } else if (std::find(open_.begin(), open_.end(), next) != open_.end()) {
        low = std::min(low, index_[next]);
      }
    }
    if (low == index) {
      const auto begin = std::find(open_.begin(), open_.end(), at);
      std::vector<u32> component(begin, open_.end());
      open_.erase(begin, open_.end());
      if (component.size() > 1 || successors_[at].contains(at)) found_.push_back(std::move(component));
    }
    return low;
  }

  std::vector<u64> pcs_;
  std::vector<std::set<u32>> successors_;
  std::vector<bool> only_tests_;  // whether a block does nothing but compare and branch
  std::vector<u32> order_;
  u32 last_ = 0;
  Loops loops_;
  // Of components().
  std::set<u32> among_;
  std::map<u32, u32> index_;
  std::vector<u32> open_;
  std::vector<std::vector<u32>> found_;
};

}  // namespace

Loops loops_of(const std::map<u64, Block>& blocks, const std::vector<u64>& roots) {
  return Finder(blocks, roots).take();
}

}  // namespace myriarm::translate
