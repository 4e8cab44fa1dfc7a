// SPDX-License-Identifier: Apache-2.0
// Whether guests have stopped changing the code that they run. While they do, launches look the span of a team up each time; once
// they have stopped, as a program has that has linked itself, a span that all teams run from is a constant of the kernel again.
// docs/design/written-code.md.
#pragma once

#include <algorithm>
#include <chrono>

#include "backends/cuda/code_delay.h"

namespace myriarm::cuda {

class SettlingCode {
 public:
  using Time = CodeDelay::Time;
  /// How long guests must have changed nothing, in ticks as Control has them: at first, some 34 ms, and at most.
  static constexpr u64 kLeastTicks = 16, kMostTicks = 512;

  /// A launch has ended for code that guests have changed. If that comes soon after the code had settled, the launch that ended had
  /// the wrong kernel, and the next time it takes twice as long.
  void changed(Time now) {
    if (has_changed_) {
      const auto since = now - settles_at_;
      if (since > 16 * length()) ticks_ = kLeastTicks;
      else if (since >= Time::duration{}) ticks_ = std::min(2 * ticks_, kMostTicks);
    }
    has_changed_ = true;
    settles_at_ = now + length();
  }
  /// The host has written the code, which is as it is to be.
  void begin_again() { *this = {}; }
  bool is_settled(Time now) const { return !has_changed_ || now >= settles_at_; }
  /// Ticks from now on until it has settled, rounded up twice as those of CodeDelay; at least one.
  u64 ticks_left(Time now) const {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(settles_at_ - now).count();
    return left <= 0 ? 1 : static_cast<u64>(left) / CodeDelay::kTickNanoseconds + 2;
  }

 private:
  std::chrono::nanoseconds length() const { return std::chrono::nanoseconds(ticks_ * CodeDelay::kTickNanoseconds); }

  bool has_changed_ = false;
  u64 ticks_ = kLeastTicks;
  Time settles_at_{};
};

}  // namespace myriarm::cuda
