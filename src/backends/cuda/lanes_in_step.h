// SPDX-License-Identifier: Apache-2.0
// Keeps the lanes of a fleet in step: where all of them run the same code, a run goes in steps of so many instructions, and no lane begins
// the next one before all have ended theirs. Warps that are at the same code at the same time take its machine instructions from their
// multiprocessor's cache once for all: docs/design/lanes-in-step.md. The host decides; for a lane a step is a batch.
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
      : way_(steps ? Way::steps : Way::free), rounds_(rounds), short_(kShort * rounds), long_(kLong * rounds) {}

  /// Whether the run may go on in steps.
  bool is_in_use() const { return way_ != Way::free; }
  /// Instructions of the next step; ~0 if lanes do not wait for each other.
  u64 instructions() const { return way_ == Way::steps ? instructions_ : ~u64{0}; }
  /// The most ticks of the next launch; 0: as many as there may be. Where a launch ends by time, warps leave it at different places, so that
  /// a step seldom has a launch that does.
  u64 most_ticks() const {
    if (way_ == Way::free) return 0;
    if (way_ == Way::trial) return std::max(ticks(trial_seconds_ * kPart), u64{1});
    return std::max(ticks(most_seconds() - seconds_), kLookingTicks);
  }
  /// A launch of so many seconds has ended: what it has retired, how many lanes have come to the end of their step in it, and how many are
  /// within theirs.
  void launch_ended(u64 retired, u64 at_end, u64 under_way, double seconds) {
    retired_ += retired;
    at_end_ += at_end;
    under_way_ = under_way;
    seconds_ += seconds;
    if (way_ == Way::trial) look_at_trial(retired, seconds);
  }
  /// Lanes that wait for the next step.
  u64 waiting() const { return at_end_; }
  /// Lanes that had stopped for want of memory go on within their step.
  void resumed(u64 lanes) { under_way_ += lanes; }
  /// Whether all lanes that go on wait for the next step, or most do and the others take much longer; or the trial has ended.
  bool is_over() const {
    if (way_ == Way::trial) return trial_ended_;
    if (at_end_ == 0) return false;
    // With several rounds of blocks the last one is under way while the others wait.
    const u64 few = rounds_ == 1 ? at_end_ : at_end_ / kFewOf;
    return under_way_ == 0 || (under_way_ <= few && seconds_ > most_seconds());
  }
  /// Whether lanes do not wait for each other for once.
  bool tries() const { return way_ == Way::trial; }

  /// Begins the next step, or a trial. `apart`: of so many lanes at the end of their step that were compared with another one, how many were
  /// elsewhere. Lanes that differ, or take much longer than others, gain nothing from waiting, and none of this run waits again.
  void begin_next(u32 compared, u32 apart) {
    if (apart > compared / kMostApart || under_way_ != 0) way_ = Way::free;
    if (!catches_up_) {
      const double took = seconds_;
      if (took >= short_) long_steps_++;
      rate_ = took > 0 ? static_cast<double>(retired_) / took : 0;
      const u64 before = instructions_;
      if (took < short_ / 4) instructions_ *= 4;
      else if (took < short_) instructions_ *= 2;
      else if (took > long_) instructions_ = std::max(instructions_ / 2, kFirst);
      expected_ = took * (static_cast<double>(instructions_) / static_cast<double>(before));
      // Where launches are ended by time, only the first round of blocks runs in a trial, and the others would have to catch up with it.
      if (way_ == Way::steps && long_steps_ >= pause_ && rounds_ == 1) {
        way_ = Way::trial;
        trial_ended_ = is_faster_free_ = false;
        trial_seconds_ = took;
      }
    }
    begin();
  }
  /// Ends a trial. Returns whether lanes wait for each other again, all at the same count first; else none of this run does.
  bool end_trial() {
    way_ = is_faster_free_ ? Way::free : Way::steps;
    pause_ = std::min(2 * pause_, kMostPause);
    long_steps_ = 0;
    begin();
    catches_up_ = true;
    return way_ == Way::steps;
  }

 private:
  enum class Way { steps, trial, free };
  static constexpr u32 kMostApart = 8, kFewOf = 8;  // one of so many lanes
  static constexpr u32 kLeastPause = 2, kMostPause = 64;
  static constexpr double kTicksOfSecond = 1e9 / CodeDelay::kTickNanoseconds;
  /// Of the time of a step: for how long a launch of a trial goes on, for how long lanes get out of step before it counts, and how long it
  /// takes at most.
  static constexpr double kPart = 0.25, kBefore = 0.5, kMost = 2;
  /// At its end a step has multiprocessors that are idle, and lanes that do not wait stay in step for a while: so a trial always looks a
  /// little faster.
  static constexpr double kClearlyFaster = 1.15;

  static u64 ticks(double seconds) { return seconds > 0 ? static_cast<u64>(seconds * kTicksOfSecond) : 0; }
  /// A step may take twice as long as is expected of it. Nothing is known of the first one.
  double most_seconds() const { return 2 * std::max(expected_, short_ / 8); }
  /// Lanes that share machine instructions are slower the further they get out of step, and a trial in which they are is short. Lanes that
  /// got in each other's way become faster.
  void look_at_trial(u64 retired, double seconds) {
    constexpr double kNearly = 0.9, kLongEnough = 0.5, kSlower = 0.97;
    trial_ended_ = seconds_ >= trial_seconds_ * kMost * kNearly;
    if (seconds_ - seconds < trial_seconds_ * kBefore * kNearly || seconds < trial_seconds_ * kPart * kLongEnough)
      return;
    const double rate = static_cast<double>(retired) / seconds;
    is_faster_free_ = rate > rate_ * kClearlyFaster;
    trial_ended_ |= is_faster_free_ || rate < rate_ * kSlower;
  }
  void begin() {
    catches_up_ = false;
    at_end_ = under_way_ = retired_ = 0;
    seconds_ = 0;
  }

  Way way_;
  u32 rounds_;
  double short_, long_;
  u64 instructions_ = kFirst;
  bool catches_up_ = false;                       // the step only brings lanes to the same count
  u64 retired_ = 0, at_end_ = 0, under_way_ = 0;  // of the launches of this step or trial
  double seconds_ = 0;                            // the same
  double expected_ = 0, rate_ = 0;                // seconds of this step; instructions a second of the last one
  double trial_seconds_ = 0;                      // the time of the step before the trial
  bool trial_ended_ = false, is_faster_free_ = false;
  u32 long_steps_ = 0, pause_ = kLeastPause;  // steps that were not short since the last trial, until the next
};

}  // namespace myriarm::cuda
