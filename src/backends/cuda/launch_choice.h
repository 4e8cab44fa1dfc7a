// SPDX-License-Identifier: Apache-2.0
// Which of two ways the next launch of a fleet goes, where only the program decides which one is faster: both are measured while the
// fleet runs.
#pragma once

#include <algorithm>

#include "core/portable.h"

namespace myriarm::cuda {

class LaunchChoice {
 public:
  /// The other way is tried for so many ticks of Control.
  explicit LaunchChoice(u64 trial_ticks = 4) : trial_ticks_(trial_ticks) {}
  /// For the next launch: 0 or 1, and 0 at first. It has one result until ended() is called.
  u32 next() const { return next_; }
  /// The most ticks of Control of the next launch if a way is only tried; 0: as many as there may be.
  u64 most_ticks() const { return next_ != best_ ? trial_ticks_ : 0; }
  /// A launch says nothing about the way that it went.
  void ended_otherwise() {
    if (next_ != best_) next_ = best_, launches_ = 0;
  }
  /// A launch has retired so many instructions in so many seconds.
  void ended(u64 retired, double seconds) {
    if (seconds <= 0) return;
    rate_[next_] = static_cast<double>(retired) / seconds;
    const u32 other = 1 - best_;
    if (next_ == other) {
      // Launches differ by some percent, so that a way which is hardly faster would be one time the better, and one not.
      if (rate_[other] > rate_[best_] * kClearlyFaster) {
        best_ = other;
        pause_ = kLeastPause;
      } else {
        pause_ = std::min(2 * pause_, kMostPause);
      }
      next_ = best_;
      launches_ = 0;
      return;
    }
    launches_++;
    next_ = launches_ >= pause_ ? other : best_;
  }

 private:
  /// Launches between two trials of the other way: more the more often it was the slower one.
  static constexpr u32 kLeastPause = 8, kMostPause = 64;
  static constexpr double kClearlyFaster = 1.1;

  double rate_[2] = {0, 0};  // instructions a second, of the last launch
  u64 trial_ticks_;
  u32 best_ = 0, next_ = 0, launches_ = 0, pause_ = kLeastPause;
};

}  // namespace myriarm::cuda
