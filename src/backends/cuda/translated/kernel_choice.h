// SPDX-License-Identifier: Apache-2.0
// Which kernel the next launch of a fleet gets whose engine translates: that of translated code, or the interpreter's. Where lanes
// have parted for good, and programs are larger than a multiprocessor's cache of instructions, the interpreter is the faster one
// (docs/design/translation-on-a-gpu.md); so both are measured while the fleet runs.
#pragma once

#include <algorithm>

#include "core/portable.h"

namespace myriarm::cuda {

class KernelChoice {
 public:
  enum Kernel : u32 { kTranslated, kInterpreted };

  /// For the next launch. It has one result until ended() is called.
  Kernel next() const { return next_; }
  /// The most ticks of Control of the next launch if the kernel is only tried; 0: as many as there may be.
  u64 most_ticks() const { return next_ != best_ ? kTrialTicks : 0; }
  /// A launch has retired so many instructions in so many seconds.
  void ended(u64 retired, double seconds) {
    if (seconds <= 0) return;
    rate_[next_] = static_cast<double>(retired) / seconds;
    const Kernel other = best_ == kTranslated ? kInterpreted : kTranslated;
    if (next_ == other) {
      // Launches differ by some percent, so that a kernel which is hardly faster would be one time the better, and one not.
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
  static constexpr u64 kTrialTicks = 4;
  /// Launches between two trials of the other kernel: more the more often it was the slower one.
  static constexpr u32 kLeastPause = 8, kMostPause = 64;
  static constexpr double kClearlyFaster = 1.1;

  double rate_[2] = {0, 0};  // instructions a second, of the last launch
  Kernel best_ = kTranslated, next_ = kTranslated;
  u32 launches_ = 0, pause_ = kLeastPause;
};

}  // namespace myriarm::cuda
