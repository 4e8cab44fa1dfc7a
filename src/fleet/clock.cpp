// SPDX-License-Identifier: Apache-2.0
// The clock of the host, for fleets. Nothing else belongs here: tests/fleet replaces this file.
#include "fleet/clock.h"

namespace myriarm {

RunClock::time_point RunClock::now() { return std::chrono::steady_clock::now(); }

bool RunClock::wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, time_point deadline,
                          const std::function<bool()>& condition) {
  if (deadline != time_point::max()) return changed.wait_until(lock, deadline, condition);
  changed.wait(lock, condition);
  return true;
}

}  // namespace myriarm
