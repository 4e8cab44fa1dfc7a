// SPDX-License-Identifier: Apache-2.0
// Waits for an action of another thread on which a test cannot block. It has no time limit: if the condition never
// holds, CTest ends the test after its TIMEOUT and reports it as failed.
#pragma once

#include <thread>

namespace myriarm::test {

/// Calls condition() until it returns true.
template <class Condition>
void until(Condition condition) {
  while (!condition()) std::this_thread::yield();
}

}  // namespace myriarm::test
