// SPDX-License-Identifier: Apache-2.0
// The numbers of inputs that have results. They come almost in order, so that a few ranges hold all of them.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace myriarm::cli {

class NumberSet {
 public:
  void add(uint64_t number) {
    if (contains(number)) return;
    size_++;
    uint64_t begin = number, end = number + 1;
    const auto after = ends_.upper_bound(number);
    if (after != ends_.begin() && std::prev(after)->second == begin) begin = std::prev(after)->first;
    if (after != ends_.end() && after->first == end) {
      end = after->second;
      ends_.erase(after);
    }
    ends_[begin] = end;
  }
  bool contains(uint64_t number) const {
    const auto after = ends_.upper_bound(number);
    return after != ends_.begin() && number < std::prev(after)->second;
  }
  uint64_t size() const { return size_; }
  /// One more than the highest number; 0 if there is none.
  uint64_t end() const { return ends_.empty() ? 0 : std::prev(ends_.end())->second; }

 private:
  std::map<uint64_t, uint64_t> ends_;  // of ranges that do not touch, by their first numbers
  uint64_t size_ = 0;
};

}  // namespace myriarm::cli
