// SPDX-License-Identifier: Apache-2.0
// Keeps the teams of a fleet in step: where all of them run the same code, a run goes in steps of so many instructions, and no team begins
// the next one before all have ended theirs. Warps that are at the same code at the same time take its machine instructions from their
// multiprocessor's cache once for all: docs/design/lanes-in-step.md. The host decides; for a team a step is a batch that ends when the first
// of its lanes has retired so many.
#pragma once

#include <algorithm>

#include "backends/cuda/code_delay.h"
#include "core/portable.h"

namespace myriarm::cuda {

class LanesInStep {
 public:
  /// Instructions of a first step, some milliseconds: by then lanes with inputs of their own may have parted.
  static constexpr u64 kFirst = u64{1} << 14;
  /// In seconds for each round of blocks. A step that takes less is short: multiprocessors wait for each other at its end.
  static constexpr double kShort = 0.4;
  /// The same. In a step that takes more, lanes get out of step, and the next one has half the instructions.
  static constexpr double kLong = 1.6;
  /// How long a launch goes on at most, in ticks of 2 ms, in a step that takes longer than was expected.
  static constexpr u64 kLookingTicks = 32;
  /// Runs of fewer instructions for each lane have no steps: they would end within the first short ones.
  static constexpr u64 kLeastBudget = u64{1} << 20;

  /// For a run. `rounds`: of blocks that run at once, one behind the other.
  LanesInStep(bool steps, u32 rounds)
      : steps_(steps), rounds_(rounds), short_(kShort * rounds), long_(kLong * rounds) {}

  /// Whether the run may go on in steps.
  bool is_in_use() const { return steps_; }
  /// Instructions of the next step; ~0 if lanes do not wait for each other.
  u64 instructions() const { return steps_ ? instructions_ : ~u64{0}; }
  /// The most ticks of the next launch; 0: as many as there may be. Where a launch ends by time, warps leave it at different places, so that
  /// a step seldom has a launch that does.
  u64 most_ticks() const { return steps_ ? std::max(ticks(most_seconds() - seconds_), kLookingTicks) : 0; }
  /// A launch of so many seconds has ended: how many lanes are at the end of their step now, and how many are within theirs.
  void launch_ended(u64 at_end, u64 under_way, double seconds) {
    at_end_ = at_end;
    under_way_ = under_way;
    seconds_ += seconds;
  }
  /// Lanes that wait for the next step.
  u64 waiting() const { return at_end_; }
  /// Lanes that had stopped for want of memory go on: within their step, unless their team has ended it.
  void resumed(u64 lanes) { under_way_ += lanes; }
  /// Whether all lanes that go on wait for the next step, or most do and the others take much longer.
  bool is_over() const {
    if (at_end_ == 0) return false;
    // With several rounds of blocks the last one is under way while the others wait.
    const u64 few = rounds_ == 1 ? at_end_ : at_end_ / kFewOf;
    return under_way_ == 0 || (under_way_ <= few && seconds_ > most_seconds());
  }

  /// Begins the next step. `apart`: of so many lanes under way that were compared with another one, how many were elsewhere.
  /// Lanes that differ, or take much longer than others, gain nothing from waiting, and none of this run waits again.
  void begin_next(u32 compared, u32 apart) {
    if (apart > compared / kMostApart || under_way_ != 0) steps_ = false;
    const double took = seconds_;
    const u64 before = instructions_;
    if (took < short_ / 4) instructions_ *= 4;
    else if (took < short_) instructions_ *= 2;
    else if (took > long_) instructions_ = std::max(instructions_ / 2, kFirst);
    expected_ = took * (static_cast<double>(instructions_) / static_cast<double>(before));
    at_end_ = under_way_ = 0;
    seconds_ = 0;
  }

 private:
  static constexpr u32 kMostApart = 8, kFewOf = 8;  // one of so many lanes
  static constexpr double kTicksOfSecond = 1e9 / CodeDelay::kTickNanoseconds;

  static u64 ticks(double seconds) { return seconds > 0 ? static_cast<u64>(seconds * kTicksOfSecond) : 0; }
  /// A step may take twice as long as is expected of it. Nothing is known of the first one.
  double most_seconds() const { return 2 * std::max(expected_, short_ / 8); }

  bool steps_;
  u32 rounds_;
  double short_, long_;
  u64 instructions_ = kFirst;
  u64 at_end_ = 0, under_way_ = 0;     // lanes, after the last launch
  double seconds_ = 0, expected_ = 0;  // of this step: those that its launches took, and those that it should take
};

}  // namespace myriarm::cuda
