// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>

namespace myriarm::python {

/// Where an iterator has said None, in a list that the queue takes from: a group ends there even if the queue takes what
/// follows at the same time, because its thread was late. Places count from the start of the run.
class GroupEnds {
 public:
  /// `listed` inputs, or batches, were listed before it said None.
  void add(uint64_t listed) {
    if (listed > last_) ends_.push_back(last_ = listed);
  }
  /// Whether a group ends behind the first `taken`. It is said once.
  bool take(uint64_t taken) {
    if (ends_.empty() || ends_.front() > taken) return false;
    ends_.pop_front();
    return true;
  }
  void clear() {
    ends_.clear();
    last_ = 0;
  }

 private:
  std::deque<uint64_t> ends_;  // fewer than the list has inputs, and one more
  uint64_t last_ = 0;
};

}  // namespace myriarm::python
