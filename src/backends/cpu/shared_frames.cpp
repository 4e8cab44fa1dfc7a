// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/shared_frames.h"

#include <cstring>
#include <new>

namespace myriarm::cpu {

u32 SharedFrames::frame_of(const u8* bytes, u64 size) try {
  std::lock_guard lock(mutex_);
  const auto [at, fresh] = frames_.try_emplace(bytes, 0);
  if (!fresh) return at->second;
  const u32 frame = pool_.allocate_uncounted();
  if (frame == 0) {
    frames_.erase(at);
    return 0;
  }
  std::memcpy(pool_.at(frame), bytes, size);
  return at->second = frame;
} catch (const std::bad_alloc&) {
  return 0;
}

}  // namespace myriarm::cpu
