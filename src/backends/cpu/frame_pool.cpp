// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/frame_pool.h"

#include <sys/mman.h>

#include <algorithm>

#include "myriarm/error.h"

namespace myriarm::cpu {
namespace {
constexpr u64 kMostFrames = u64{1} << (32 - kPageFlagBits);
constexpr u64 kBytesPerFrame = kPageSize + sizeof(u32);  // with its number of holders
}  // namespace

FramePool::FramePool(u64 image_frames, u64 pool_frames)
    : first_(kFirstImageFrame + image_frames), next_(first_), limit_(pool_frames) {
  // Addresses for twice the limit are reserved, so that grow() can raise it. Addresses take no memory.
  reserved_ = std::min(kMostFrames, first_ + 2 * pool_frames);
  void* range = mmap(nullptr, reserved_ * kBytesPerFrame, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED || first_ >= kMostFrames) {
    if (range != MAP_FAILED) munmap(range, reserved_ * kBytesPerFrame);
    throw DeviceError("the host refuses to reserve " + std::to_string(reserved_ >> 8) +
                      " MiB of addresses for guest memory; ask for a smaller pool");
  }
  base_ = static_cast<u8*>(range);
  holders_ = reinterpret_cast<u32*>(base_ + (reserved_ << kPageBits));
  limit_ = std::min(pool_frames, reserved_ - first_);
}

FramePool::~FramePool() {
  if (base_ != nullptr) munmap(base_, reserved_ * kBytesPerFrame);
}

bool FramePool::charge(u64 frames) {
  u64 used = used_.load(std::memory_order_relaxed);
  do {
    const u64 limit = limit_.load(std::memory_order_relaxed);
    if (frames > limit || used > limit - frames) return false;
  } while (!used_.compare_exchange_weak(used, used + frames, std::memory_order_relaxed));
  return true;
}

u32 FramePool::allocate(bool& zeroed) {
  if (!charge(1)) return 0;
  if (free_count_.load(std::memory_order_relaxed) != 0) {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      u32 frame = free_.back();
      free_.pop_back();
      free_count_.store(free_.size(), std::memory_order_relaxed);
      zeroed = false;
      holders(frame).store(1, std::memory_order_relaxed);
      return frame;
    }
  }
  // Addresses for twice the limit are reserved, so that frames which another thread is about to give back are no loss.
  u64 frame = next_.fetch_add(1, std::memory_order_relaxed);
  if (frame >= reserved_) {
    next_.fetch_sub(1, std::memory_order_relaxed);
    discharge(1);
    return 0;
  }
  zeroed = true;
  holders(static_cast<u32>(frame)).store(1, std::memory_order_relaxed);
  return static_cast<u32>(frame);
}

void FramePool::give_back(std::span<const u32> frames) {
  if (frames.empty()) return;
  {
    std::lock_guard lock(mutex_);
    free_.insert(free_.end(), frames.begin(), frames.end());
    free_count_.store(free_.size(), std::memory_order_relaxed);
  }
  discharge(frames.size());
}

bool FramePool::grow(u64 bytes) {
  u64 frames = (bytes >> kPageBits) + (bytes % kPageSize != 0);
  u64 most = reserved_ - first_;
  limit_.store(std::max(limit_.load(), std::min(frames, most)));
  return frames <= most;
}

}  // namespace myriarm::cpu
