// SPDX-License-Identifier: Apache-2.0
// The clock that a fleet reads: RunResult::seconds, Poll::seconds, RunOptions::timeout and the limit of wait() are
// measured by it. It is apart from the rest of the fleet so that tests/fleet can link a clock in its place that moves
// only when a test moves it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace myriarm {

struct RunClock {
  using duration = std::chrono::steady_clock::duration;
  using time_point = std::chrono::steady_clock::time_point;

  static time_point now();
  /// Waits until the condition holds or the deadline has come, and returns whether the condition holds then. Looks at
  /// the condition when `changed` is notified. time_point::max() is no deadline.
  static bool wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, time_point deadline,
                         const std::function<bool()>& condition);
};

}  // namespace myriarm
