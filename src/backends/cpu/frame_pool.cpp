// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/frame_pool.h"

#include <sys/mman.h>

#include <algorithm>

#include "myriarm/error.h"

namespace myriarm::cpu {
namespace {
constexpr u64 kMostFrames = u64{1} << (32 - kPageFlagBits);
constexpr u64 kBytesPerFrame = kPageSize + sizeof(u32);  // with its number of holders
constexpr u64 kSmallPool = 4096;                         // frames: 16 MiB
}  // namespace

FramePool::FramePool(u64 image_frames, u64 pool_frames, bool may_be_smaller)
    : first_(kFirstImageFrame + image_frames), next_(first_), limit_(pool_frames) {
  bool made = first_ < kMostFrames && reserve();
  if (!made && may_be_smaller) {
    while (!made && limit_ > kSmallPool) {
      limit_ = limit_ / 2;
      made = reserve();
    }
    if (made && limit_ > kSmallPool) {
      // The lanes' tables, the stacks of threads and the results need as much again.
      munmap(base_, reserved_ * kBytesPerFrame);
      limit_ = limit_ / 2;
      made = reserve();
    }
  }
  if (!made) {
    throw DeviceError("the host refuses to reserve " + std::to_string(reserved_ >> 8) +
                      " MiB of addresses for guest memory; ask for a smaller pool");
  }
}

bool FramePool::reserve() {
  reserved_ = std::min(kMostFrames, first_ + 2 * limit_);
  void* range = mmap(nullptr, reserved_ * kBytesPerFrame, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return false;
  base_ = static_cast<u8*>(range);
  holders_ = reinterpret_cast<u32*>(base_ + (reserved_ << kPageBits));
  limit_ = std::min(limit_.load(), reserved_ - first_);
  return true;
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

unsigned FramePool::list_of_thread() {
  static std::atomic<unsigned> threads{0};
  thread_local const unsigned mine = threads.fetch_add(1, std::memory_order_relaxed) % kFreeLists;
  return mine;
}

u32 FramePool::take_free() {
  const unsigned mine = list_of_thread();
  for (unsigned i = 0; i < kFreeLists; i++) {
    if (free_count_.load(std::memory_order_relaxed) == 0) return 0;
    FreeList& list = free_[(mine + i) % kFreeLists];
    std::lock_guard lock(list.mutex);
    if (list.frames.empty()) continue;
    const u32 frame = list.frames.back();
    list.frames.pop_back();
    free_count_.fetch_sub(1, std::memory_order_relaxed);
    return frame;
  }
  return 0;
}

u32 FramePool::allocate(bool& zeroed) {
  if (!charge(1)) return 0;
  if (const u32 frame = take_free(); frame != 0) {
    zeroed = false;
    holders(frame).store(1, std::memory_order_relaxed);
    return frame;
  }
  // Addresses for twice the limit are reserved, so that frames which another thread is about to give back are no loss.
  const u32 frame = take_new();
  if (frame == 0) discharge(1);
  zeroed = true;
  return frame;
}

u32 FramePool::take_new() {
  const u64 frame = next_.fetch_add(1, std::memory_order_relaxed);
  if (frame >= reserved_) {
    next_.fetch_sub(1, std::memory_order_relaxed);
    return 0;
  }
  holders(static_cast<u32>(frame)).store(1, std::memory_order_relaxed);
  return static_cast<u32>(frame);
}

u32 FramePool::allocate_uncounted() {
  const u64 most = (reserved_ - first_) / 4;  // the pool may need the other addresses
  const u32 frame = uncounted_.fetch_add(1, std::memory_order_relaxed) < most ? take_new() : 0;
  if (frame == 0) uncounted_.fetch_sub(1, std::memory_order_relaxed);
  return frame;
}

void FramePool::give_back(std::span<const u32> frames) {
  if (frames.empty()) return;
  {
    FreeList& list = free_[list_of_thread()];
    std::lock_guard lock(list.mutex);
    list.frames.insert(list.frames.end(), frames.begin(), frames.end());
    free_count_.fetch_add(frames.size(), std::memory_order_relaxed);
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
