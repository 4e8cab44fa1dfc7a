// SPDX-License-Identifier: Apache-2.0
// How many processes, or teams of them, may be under way at the same time, when some of them have needed more memory
// together than there is. Their number is halved, and doubles again after some have ended, so that what runs twice is
// bounded: between two times that processes begin again, four times as many have ended, or the others have run for twice as
// long as before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace myriarm {

class LanesAtOnce {
 public:
  uint64_t most() const { return most_; }

  /// None of so many processes, at least two, finds memory to go on.
  void starved(uint64_t processes) {
    most_ = std::max<uint64_t>(std::min(most_, processes) / 2, 1);
    if (waited_) patience_ *= 2;
    begin_again();
  }
  /// So many processes have ended in a round. `all_ran`: none has found the memory spent.
  void round_ended(uint64_t ended, bool all_ran) {
    if (most_ == kUnbounded) return;
    ended_ += ended;
    rounds_ += all_ran;
    const bool enough_ended = ended_ >= kEndedForEach * most_;
    if (!enough_ended && rounds_ < patience_) return;
    if (enough_ended) patience_ = kFirstPatience;
    most_ = most_ > kMany ? kUnbounded : 2 * most_;
    begin_again();
    waited_ = !enough_ended;
  }

 private:
  void begin_again() {
    ended_ = rounds_ = 0;
    waited_ = false;
  }

  static constexpr uint64_t kUnbounded = std::numeric_limits<uint64_t>::max();
  static constexpr uint64_t kMany = uint64_t{1} << 24;
  static constexpr uint64_t kEndedForEach = 4;
  static constexpr uint64_t kFirstPatience = 64;  // rounds

  uint64_t most_ = kUnbounded;
  uint64_t ended_ = 0, rounds_ = 0;     // since most_ changed
  uint64_t patience_ = kFirstPatience;  // rounds after which more may begin although few have ended: some never end
  bool waited_ = false;                 // that is why most_ is what it is
};

}  // namespace myriarm
