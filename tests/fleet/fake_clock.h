// SPDX-License-Identifier: Apache-2.0
// The clock of the fleets in these tests, in place of src/fleet/clock.cpp. It stands still until a test advances it.
#pragma once

#include <cstddef>

namespace fleet_test {

struct FakeClock {
  /// Advances the time. When this returns, every wait whose deadline has come has ended.
  static void advance(double seconds);
  /// Returns when at least this many threads wait by this clock, with a deadline or without one.
  static void await_waiting(size_t threads);
  static size_t waiting();
};

}  // namespace fleet_test
