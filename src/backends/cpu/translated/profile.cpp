// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/translated/profile.h"

#include <algorithm>

namespace myriarm::cpu {

bool Profile::count(const void* code, u64 pc, u32 hot) {
  const u64 key = (pc ^ reinterpret_cast<u64>(code) << 20) * 0x9E3779B97F4A7C15u | 1;
  Place& place = places_[key >> 52];
  u32 hits = place.hits.load(std::memory_order_relaxed);
  if (place.key.load(std::memory_order_relaxed) != key) {
    // Another address is here, and goes when it is no longer seen as often as others.
    if (hits > 1) {
      place.hits.store(hits - 1, std::memory_order_relaxed);
      return false;
    }
    place.key.store(key, std::memory_order_relaxed);
    hits = 0;
  }
  const bool is_hot = hits + 1 >= hot;
  place.hits.store(is_hot ? 0 : hits + 1, std::memory_order_relaxed);
  return is_hot;
}

void Sampler::next(bool was_translated) {
  interval_ = was_translated ? std::min(2 * interval_, longest_) : shortest_;
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  left_ = interval_ / 2 + (random_ >> 33) % interval_ + 1;
}

}  // namespace myriarm::cpu
