// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/frame_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include "myriarm/error.h"

namespace myriarm::cpu {
namespace {
constexpr u64 kMostFrames = u64{1} << (32 - kPageFlagBits);
constexpr u64 kBytesPerFrame = kPageSize + sizeof(u32) + sizeof(u8);  // with its number of holders, and was_used_
constexpr u64 kSmallPool = 4096;                                      // frames: 16 MiB
/// Free frames that have an order serve one lane alone, so they may be only a part of what the pool may have.
constexpr u64 kMostOrders = 2, kPartWithOrder = 4;
}  // namespace

FramePool::FramePool(u64 image_frames, u64 pool_frames, bool may_be_smaller, u64 lanes, u64 window_pages)
    : first_(kFirstImageFrame + image_frames),
      lanes_(lanes),
      window_pages_(window_pages),
      first_without_order_(first_),
      next_(first_),
      limit_(pool_frames) {
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
  const u64 windows = lanes_ * window_pages_;
  const u64 orders = windows == 0 ? 0 : std::min(kMostOrders, limit_ / kPartWithOrder / windows);
  return (orders != 0 && reserve(orders)) || reserve(0);
}

bool FramePool::reserve(u64 orders) {
  orders_ = orders;
  first_without_order_ = first_ + orders * lanes_ * window_pages_;
  next_ = first_without_order_;
  reserved_ = std::min(kMostFrames, first_without_order_ + 2 * limit_);
  void* range = mmap(nullptr, reserved_ * kBytesPerFrame, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return false;
  base_ = static_cast<u8*>(range);
  holders_ = reinterpret_cast<u32*>(base_ + (reserved_ << kPageBits));
  was_used_ = reinterpret_cast<u8*>(holders_ + reserved_);
  limit_ = std::min(limit_.load(), reserved_ - first_without_order_);
  return true;
}

FramePool::~FramePool() {
  if (base_ != nullptr) munmap(base_, reserved_ * kBytesPerFrame);
}

bool FramePool::charge(u64 frames) {
  while (!charge_as_it_is(frames)) {
    if (savings_ == nullptr || !savings_->give_up()) return false;
  }
  return true;
}

bool FramePool::charge_as_it_is(u64 frames) {
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

u32 FramePool::allocate_for(u64 lane, u64 page, bool& zeroed) {
  for (u64 order = 0; order < orders_; order++) {
    const u32 frame = static_cast<u32>(first_ + (order * lanes_ + lane) * window_pages_ + page);
    u32 none = 0;
    // Acquire: the former holders' accesses are complete.
    if (!holders(frame).compare_exchange_strong(none, 1, std::memory_order_acquire)) continue;
    if (!charge(1)) {
      holders(frame).store(0, std::memory_order_relaxed);
      return 0;
    }
    zeroed = was_used_[frame] == 0;
    was_used_[frame] = 1;
    return frame;
  }
  return allocate(zeroed);
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
  const u64 most = (reserved_ - first_without_order_) / 4;  // the pool may need the other addresses
  const u32 frame = uncounted_.fetch_add(1, std::memory_order_relaxed) < most ? take_new() : 0;
  if (frame == 0) uncounted_.fetch_sub(1, std::memory_order_relaxed);
  return frame;
}

void FramePool::give_back(std::span<const u32> frames) {
  if (frames.empty()) return;
  {
    FreeList& list = free_[list_of_thread()];
    std::lock_guard lock(list.mutex);
    const size_t before = list.frames.size();
    std::copy_if(frames.begin(), frames.end(), std::back_inserter(list.frames),
                 [this](u32 frame) { return frame >= first_without_order_; });
    free_count_.fetch_add(list.frames.size() - before, std::memory_order_relaxed);
  }
  discharge(frames.size());
}

bool FramePool::grow(u64 bytes) {
  u64 frames = (bytes >> kPageBits) + (bytes % kPageSize != 0);
  u64 most = reserved_ - first_without_order_;
  limit_.store(std::max(limit_.load(), std::min(frames, most)));
  return frames <= most;
}

}  // namespace myriarm::cpu
