// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace myriarm::python {

/// Where the iterator of a run has said None, in a list of inputs, or of batches, that the queue takes from. A group ends there
/// even if the queue, because its thread was late, could take what follows at the same time.
class GroupEnds {
 public:
  /// The iterator has said None, while so many wait in the list.
  void add(size_t waiting) {
    const uint64_t end = taken_ + waiting;
    if (end > newest_) ends_.push_back(newest_ = end);
  }
  /// The queue has taken one more.
  void count_taken() { taken_++; }
  /// Whether a group ends behind those that were taken. It says so once for each end.
  bool pass_end() {
    if (ends_.empty() || ends_.front() > taken_) return false;
    ends_.pop_front();
    return true;
  }
  void clear() { *this = {}; }

 private:
  uint64_t taken_ = 0;         // in this run
  std::deque<uint64_t> ends_;  // how many were taken when each is reached; at most one more than wait in the list
  uint64_t newest_ = 0;
};

}  // namespace myriarm::python
