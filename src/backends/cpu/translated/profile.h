// SPDX-License-Identifier: Apache-2.0
// Where lanes spend their time. A thread looks at the lane that it runs at the end of a quantum, which is at a taken
// branch: so it finds the targets of branches in hot code, and no instruction takes longer because of it. What was seen
// decides what is translated, and when; never a result.
#pragma once

#include <array>
#include <atomic>

#include "core/portable.h"

namespace myriarm::cpu {

/// How often lanes were seen at an address, for the addresses that are seen most. Any thread may call it. Counts may be
/// lost when threads meet, and addresses share their places.
class Profile {
 public:
  /// Counts a lane at this address of this code. True: lanes were there `hot` times since it was last true.
  bool count(const void* code, u64 pc, u32 hot);

 private:
  struct Place {
    std::atomic<u64> key{0};
    std::atomic<u32> hits{0};
  };
  std::array<Place, 4096> places_;
};

/// How often lanes of one thread have left translated code for addresses that are no entry. Copied code costs so little that a
/// few times are enough to translate what follows, and looks at the ends of quanta would not find it.
class ExitCounts {
 public:
  /// Counts a lane that leaves for this address of this code. True: it is the `hot`-th to do so.
  bool count(const void* code, u64 pc, u32 hot) {
    const u64 key = (pc ^ reinterpret_cast<u64>(code) << 20) * 0x9E3779B97F4A7C15u | 1;
    Place& place = places_[key >> 54];
    if (place.key != key) place = {key, 0};
    return ++place.hits == hot;
  }

 private:
  struct Place {
    u64 key = 0;
    u32 hits = 0;
  };
  std::array<Place, 1024> places_;
};

/// What one thread has retired, by tier. The thread adds to it; any other may read it meanwhile.
class RetiredByTier {
 public:
  /// The thread takes up a lane that has retired so many instructions.
  void begin(u64 retired) { retired_before_ = retired, translated_before_ = copied_before_ = 0; }
  /// What that lane has retired until now, in all and since it was taken up in translated and in copied code.
  void note(u64 retired, u64 translated, u64 copied) {
    add(interpreted_, retired - retired_before_ - (translated - translated_before_));
    add(translated_, translated - translated_before_);
    add(copied_, copied - copied_before_);
    retired_before_ = retired, translated_before_ = translated, copied_before_ = copied;
  }
  u64 interpreted() const { return interpreted_.load(std::memory_order_relaxed); }
  u64 translated() const { return translated_.load(std::memory_order_relaxed); }
  u64 copied() const { return copied_.load(std::memory_order_relaxed); }  // of translated()

 private:
  static void add(std::atomic<u64>& count, u64 more) {
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  std::atomic<u64> interpreted_{0}, translated_{0}, copied_{0};
  u64 retired_before_ = 0, translated_before_ = 0, copied_before_ = 0;
};

/// When one thread looks next: a count of instructions, over all lanes that the thread runs. It varies, so that looks do
/// not keep step with loops; and it grows while all lanes are found in translated code.
class Sampler {
 public:
  explicit Sampler(u64 interval, u64 longest, u64 seed) : shortest_(interval), longest_(longest), random_(seed) {
    next(false);
  }
  u64 left() const { return left_; }
  /// To be called with what the thread has run. True: it is time to look, and then next() must be called.
  bool is_due(u64 instructions) {
    left_ -= instructions < left_ ? instructions : left_;
    return left_ == 0;
  }
  void next(bool was_translated);
  ExitCounts exits;
  RetiredByTier retired;

 private:
  u64 shortest_, longest_, random_, interval_ = 0, left_ = 0;
};

}  // namespace myriarm::cpu
