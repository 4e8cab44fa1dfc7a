// SPDX-License-Identifier: Apache-2.0
// Which lanes go on in a round of a queue on the CPU. Threads take turns between the lanes: where all of thousands go on by a
// slice in each round, the first result of long inputs comes when nearly all of them are done. So those that began first go on
// in each round, and the others take turns, as many at a time: none waits for ever for one that never ends. A lane's
// first slice does not wait, since most inputs end in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace myriarm::linux_process {

class LongLanes {
 public:
  LongLanes(uint64_t lanes, uint64_t threads) : of_lane_(lanes), most_(kOfThread * std::max<uint64_t>(threads, 1)) {}

  void begun(std::span<const uint32_t> lanes) {
    for (uint32_t lane : lanes) of_lane_[lane] = {++begun_, false};
  }
  /// A lane has gone on by a slice, and has not ended.
  void spent_slice(uint32_t lane) { of_lane_[lane].is_long = true; }

  /// Takes the lanes that do not go on in this round out of `lanes`, and returns them.
  std::vector<uint32_t> leave_out(std::vector<uint32_t>& lanes) {
    const auto is_short = [&](uint32_t lane) { return !of_lane_[lane].is_long; };
    const auto first_long = std::stable_partition(lanes.begin(), lanes.end(), is_short);
    if (static_cast<uint64_t>(lanes.end() - first_long) <= 2 * most_) return {};
    std::sort(first_long, lanes.end(), [&](uint32_t a, uint32_t b) { return of_lane_[a].number < of_lane_[b].number; });
    // Behind the oldest ones come those whose turn it is: the ones that began after the last that had its turn, then again from the
    // beginning.
    const auto others = first_long + static_cast<ptrdiff_t>(most_);
    const auto next = std::find_if(others, lanes.end(), [&](uint32_t lane) { return of_lane_[lane].number > turn_; });
    std::rotate(others, next, lanes.end());
    const auto end = others + static_cast<ptrdiff_t>(most_);
    turn_ = of_lane_[*(end - 1)].number;
    std::vector<uint32_t> left_out(end, lanes.end());
    lanes.erase(end, lanes.end());
    return left_out;
  }

 private:
  /// So many lanes of a thread go on in each round at least, so that threads seldom wait for the end of a round.
  static constexpr uint64_t kOfThread = 16;

  struct Lane {
    uint64_t number = 0;   // how many began before it, and itself
    bool is_long = false;  // it has spent a slice
  };
  std::vector<Lane> of_lane_;
  uint64_t most_;
  uint64_t begun_ = 0;
  uint64_t turn_ = 0;  // the number of the last lane that had its turn
};

}  // namespace myriarm::linux_process
