// SPDX-License-Identifier: Apache-2.0
// Where regions are to begin, from what lanes have noted in a launch of where they were interpreted.
#pragma once

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "backends/cuda/translated/region_table.h"

namespace myriarm::cuda {

constexpr u32 kEntry = 1;  // beside kCold and kInRegion: a region can be entered there

/// In words of guest code, of one span.
class HotPlaces {
 public:
  /// `call_targets`: where functions begin, in order. `lanes_together`: of how many lanes one notes for all.
  HotPlaces(std::vector<u32> call_targets, u64 lanes_together)
      : call_targets_(std::move(call_targets)), lanes_together_(lanes_together) {}

  /// Where to begin regions now, the hottest first, `most` at most; none is named twice. `heat` is as in RegionTable, `places` has
  /// kCold, kInRegion or kEntry for each word; `retired`: by all lanes in the launch.
  std::vector<u32> choose(std::span<const u32> heat, std::span<const u32> places, u64 retired, u64 most) {
    std::vector<std::pair<u32, u32>> hot;  // how much, and where
    for (u32 at = 0; at < heat.size(); at++) {
      if (heat[at] < kLeast || named_.contains(at) || (places[at] != kCold && places[at] != kInRegion)) continue;
      const u64 part = places[at] == kInRegion ? kPartInRegion : kPart;
      if (heat[at] * lanes_together_ * part >= retired) hot.emplace_back(heat[at], at);
    }
    std::sort(hot.rbegin(), hot.rend());
    std::vector<u32> chosen;
    std::set<u32> now;
    for (const auto& [count, at] : hot) {
      if (chosen.size() == most) break;
      // A long loop is hot wherever lanes happened to be in it. What is asked for first probably has the rest inside.
      const auto near = now.upper_bound(at - std::min(at, kNear));
      if (near != now.end() && *near <= at) continue;
      const u32 beginning = beginning_for(at);
      now.insert(beginning);
      named_.insert(beginning);
      chosen.push_back(beginning);
    }
    return chosen;
  }

 private:
  /// A place is hot if lanes have been interpreted from there on for this part of all that was retired in the launch, and for so
  /// many instructions of one lane. In a region it must be hotter: lanes get there from code that is interpreted, and one more
  /// region for what others have parts lanes that could go on together.
  static constexpr u64 kPart = 1024, kPartInRegion = 64;
  static constexpr u32 kLeast = 2048;
  /// In one launch, places less than so many words behind one that was chosen wait for the next; and a function that begins so
  /// near is chosen in place of its middle.
  static constexpr u32 kNear = 256;

  u32 beginning_for(u32 at) const {
    const auto next = std::upper_bound(call_targets_.begin(), call_targets_.end(), at);
    if (next == call_targets_.begin()) return at;
    const u32 target = *std::prev(next);
    return at - target < kNear && !named_.contains(target) ? target : at;
  }

  const std::vector<u32> call_targets_;
  const u64 lanes_together_;
  std::set<u32> named_;
};

}  // namespace myriarm::cuda
