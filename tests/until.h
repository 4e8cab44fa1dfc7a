// SPDX-License-Identifier: Apache-2.0
// How a test waits for something that another thread does and that it cannot block on. There is no limit of time: if
// the condition never holds, CTest ends the test after its TIMEOUT and reports it as failed.
#pragma once

#include <thread>

namespace myriarm::test {

/// Returns when condition() is true, which it asks again and again.
template <class Condition>
void until(Condition condition) {
  while (!condition()) std::this_thread::yield();
}

}  // namespace myriarm::test
