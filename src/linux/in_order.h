// SPDX-License-Identifier: Apache-2.0
// Puts what becomes ready in any order into the order of tickets 0, 1, 2, ...
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace myriarm::linux_process {

template <class T>
class InOrder {
 public:
  void put(uint64_t ticket, T value) {
    while (waiting_.size() <= ticket - passed_) waiting_.emplace_back();
    waiting_[ticket - passed_] = std::move(value);
  }
  /// The next one, if it is there.
  std::optional<T> take() {
    if (waiting_.empty() || !waiting_.front()) return std::nullopt;
    std::optional<T> next = std::move(waiting_.front());
    waiting_.pop_front();
    passed_++;
    return next;
  }

 private:
  std::deque<std::optional<T>> waiting_;  // from the ticket passed_ on
  uint64_t passed_ = 0;
};

}  // namespace myriarm::linux_process
