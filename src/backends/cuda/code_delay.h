// SPDX-License-Identifier: Apache-2.0
// How long a fleet runs before guests' code may be predecoded once more: twice as long each time, and first as long as it took, then
// twice, up to many times as long, so that a guest that rewrites code all the time costs little; and from the shortest time again after
// a quiet period. A program that links itself has new code a few times at its beginning, and runs slowly until it is predecoded.
#pragma once

#include <algorithm>
#include <chrono>

#include "core/portable.h"

namespace myriarm::cuda {

class CodeDelay {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr u64 kTickNanoseconds = u64{1} << 21;    // as the device counts: Report::checked_at
  static constexpr u64 kFirstTicks = 2, kMostTicks = 512;  // some 4 ms, and a second
  static constexpr u64 kTimesTheCost = 32;

  /// Code was predecoded just now, which took so long.
  void begin(Time now, std::chrono::nanoseconds cost = {}) {
    if (now - due_ > 16 * length()) begin_again();
    const u64 worth = times_ * static_cast<u64>(cost.count()) / kTickNanoseconds;
    ticks_ = std::min(std::max(next_ticks_, worth), kMostTicks);
    next_ticks_ = std::min(2 * next_ticks_, kMostTicks);
    times_ = std::min(2 * times_, kTimesTheCost);
    due_ = now + length();
  }
  /// The next time is as the first.
  void begin_again() {
    next_ticks_ = kFirstTicks;
    times_ = 1;
  }
  bool is_over(Time now) const { return now >= due_; }
  /// Ticks from now on until it is over, rounded up twice, since the device's clock and this one tick at different times;
  /// at least kFirstTicks: warps look for orders no more often.
  u64 ticks_left(Time now) const {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(due_ - now).count();
    return std::max(kFirstTicks, left <= 0 ? 0 : static_cast<u64>(left) / kTickNanoseconds + 2);
  }

 private:
  std::chrono::nanoseconds length() const { return std::chrono::nanoseconds(ticks_ * kTickNanoseconds); }

  u64 ticks_ = 0, next_ticks_ = kFirstTicks, times_ = 1;
  Time due_{};
};

}  // namespace myriarm::cuda
