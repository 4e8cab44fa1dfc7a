// SPDX-License-Identifier: Apache-2.0
// Takes the batches of a source apart, and checks their numbers. Who uses the bytes of a part checks its offsets.
#pragma once

#include <optional>
#include <string>

#include "linux/input_number.h"
#include "myriarm/inputs.h"

namespace myriarm::linux_process {

/// What is sent to a device at a time.
constexpr uint64_t kMostInputs = uint64_t{1} << 20, kMostBytes = uint64_t{256} << 20;

/// Throws ArgumentError if it has no input, or not as many numbers as inputs.
inline void check_size(const InputBatch& batch) {
  if (batch.size() == 0) throw ArgumentError("a batch of the queue has no input; end the queue instead");
  if (!batch.numbers.empty() && batch.numbers.size() != batch.size()) {
    throw ArgumentError("a batch of " + std::to_string(batch.size()) + " inputs has " +
                        std::to_string(batch.numbers.size()) + " numbers; give one for each");
  }
}

inline uint64_t number_of(const InputBatch& batch, uint64_t place) {
  return batch.numbers.empty() ? batch.first_number + place : batch.numbers[place];
}

/// The inputs from `begin` on and before `end`.
inline InputBatch part_of(const InputBatch& batch, uint64_t begin, uint64_t end) {
  InputBatch part = batch;
  part.first_number += begin;
  part.offsets = batch.offsets.subspan(begin, end - begin + 1);
  if (!batch.numbers.empty()) part.numbers = batch.numbers.subspan(begin, end - begin);
  return part;
}

class Batches {
 public:
  Batches(const BatchSource& source, bool ordered) : source_(source), ordered_(ordered) {}

  /// Gives the next inputs, at most kMostInputs and kMostBytes, but at least one. Throws ArgumentError.
  Supply next(InputBatch& part, bool idle) {
    if (at_ == batch_.size()) {
      batch_ = {};
      at_ = 0;
      const Supply supply = source_(batch_, idle);
      if (supply != Supply::input) {
        batch_ = {};
        return supply;
      }
      check();
    }
    uint64_t end = at_ + 1;
    const uint64_t last = batch_.offsets[at_] + kMostBytes;
    while (end < batch_.size() && end - at_ < kMostInputs && batch_.offsets[end + 1] <= last) end++;
    part = part_of(batch_, at_, end);
    at_ = end;
    return Supply::input;
  }

 private:
  void check() {
    check_size(batch_);
    for (uint64_t number : batch_.numbers) {
      check_number(number, ordered_ ? next_ : 0);
      next_ = number + 1;
    }
    if (batch_.numbers.empty()) {
      check_number(batch_.first_number, ordered_ ? next_ : 0);
      check_number(batch_.first_number + batch_.size() - 1, batch_.first_number);
      next_ = batch_.first_number + batch_.size();
    }
    if (as_file_.value_or(batch_.as_file) != batch_.as_file) {
      throw ArgumentError("a batch of the queue has files, and another has standard inputs; use a queue for each");
    }
    as_file_ = batch_.as_file;
  }

  const BatchSource& source_;
  const bool ordered_;
  InputBatch batch_;
  uint64_t at_ = 0;    // inputs of it that were given
  uint64_t next_ = 0;  // the least number of the next input
  std::optional<bool> as_file_;
};

}  // namespace myriarm::linux_process
