// SPDX-License-Identifier: Apache-2.0
// How many instructions the inputs of a queue took: the longest, and the median, in memory that does not grow.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace myriarm::linux_process {

class InputLengths {
 public:
  void add(uint64_t number, uint64_t instructions) {
    const bool longer = instructions > longest_ || (instructions == longest_ && number < longest_number_);
    if (count_ == 0 || longer) longest_ = instructions, longest_number_ = number;
    counts_[class_of(instructions)]++;
    count_++;
  }
  uint64_t longest() const { return longest_; }
  /// The lowest of the inputs that took so many.
  uint64_t longest_number() const { return longest_number_; }
  /// The lower one of two in the middle; 0 if there is no input. Exact below 2 * kParts, else the middle of its class.
  uint64_t median() const {
    uint64_t seen = 0;
    for (size_t i = 0; i < counts_.size(); i++) {
      seen += counts_[i];
      if (counts_[i] != 0 && 2 * seen >= count_) return std::min(middle_of(i), longest_);
    }
    return 0;
  }

 private:
  // Each power of two is divided into so many classes of equal width, so that one is at most 1/64 of its values wide.
  static constexpr unsigned kBits = 6;
  static constexpr size_t kParts = size_t{1} << kBits;

  static size_t class_of(uint64_t value) {
    if (value < 2 * kParts) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kBits - 1;
    return shift * kParts + (value >> shift);
  }
  static uint64_t middle_of(size_t index) {
    if (index < 2 * kParts) return index;
    const size_t shift = index / kParts - 1;
    return ((index - shift * kParts) << shift) + (uint64_t{1} << shift) / 2;
  }

  std::array<uint64_t, (64 - kBits + 1)* kParts> counts_ = {};
  uint64_t count_ = 0, longest_ = 0, longest_number_ = 0;
};

}  // namespace myriarm::linux_process
