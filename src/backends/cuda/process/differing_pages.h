// SPDX-License-Identifier: Apache-2.0
// Which kernel a launch of processes gets: the one for which a page is simple though the lanes of a team differ in its
// permissions, or the one in which each other access is faster. docs/design/page-table-entries.md.
#pragma once

#include <algorithm>

#include "backends/cuda/view.h"

namespace myriarm::cuda {

/// Ticks are those of Control: some two milliseconds.
class DifferingPages {
 public:
  /// The host has changed pages of some lanes, or restored them.
  void may_differ() { may_differ_ = true; }
  /// Before a launch. `look()` counts the teams that have such pages now: it costs a wait for the device.
  template <class Look>
  void begin(View& view, Control& control, Look look) {
    const u32 teams = may_differ_ ? look() : 0;
    const bool differ = teams != 0 && teams >= view.teams / kFewTeams;
    if (ended_for_them_) delay_ = differ ? kLeastDelay : std::min(2 * delay_, kMostDelay);
    ended_for_them_ = false;
    may_differ_ = teams != 0;
    view.processes.pages_differ = differ;
    control.differ_ticks = differ ? 0 : delay_;
    // Then the host looks again.
    if (differ)
      control.launch_ticks = control.launch_ticks == 0 ? kMostDelay : std::min(control.launch_ticks, kMostDelay);
  }
  /// After it.
  void end(const Report& report) {
    may_differ_ |= report.pages_differ != 0;
    ended_for_them_ = report.pages_differ != 0 && (report.orders & kHostOrder) != 0;
  }

 private:
  /// Lanes out of step differ for a moment when each of them grows its heap. If they no longer do when the launch has ended
  /// for it, the next one goes on for twice as long.
  static constexpr u64 kLeastDelay = 8, kMostDelay = 512;
  /// Where fewer teams differ, one of so many, the others would pay for them.
  static constexpr u32 kFewTeams = 16;
  bool may_differ_ = true;
  bool ended_for_them_ = false;
  u64 delay_ = kLeastDelay;
};

}  // namespace myriarm::cuda
