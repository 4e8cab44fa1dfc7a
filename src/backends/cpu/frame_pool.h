// SPDX-License-Identifier: Apache-2.0
// Frames of the CPU backend: one reserved range of host addresses, so that a frame number is an offset and the
// pool grows without moving. Image frames come first and are shared by all lanes; pages that lanes write follow. How
// many page tables and snapshots hold a frame of the pool is counted: who wants to write to one must be the only one.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <vector>

#include "core/memory.h"

namespace myriarm::cpu {

class FramePool {
 public:
  /// Reserves addresses for `image_frames` and at most `pool_frames` more; memory is committed by the first touch.
  /// Throws DeviceError if the host refuses the addresses.
  FramePool(u64 image_frames, u64 pool_frames);
  ~FramePool();
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  u8* base() const { return base_; }
  u8* at(u32 frame) const { return base_ + (static_cast<u64>(frame) << kPageBits); }

  /// A frame of unspecified content with one holder, `zeroed` if it is known to hold zeros; 0 if the pool is spent.
  /// Any thread.
  u32 allocate(bool& zeroed);
  /// One holder more, or one less: the last one gives the frame back. Any thread, but while lanes run, no frame of a
  /// lane gets a holder more.
  void retain(u32 frame) { holders(frame).fetch_add(1, std::memory_order_relaxed); }
  void release(u32 frame) {
    if (drop(frame)) give_back({&frame, 1});
  }
  /// Release in two steps, for who has many: whether this was the last holder, and then the frame is to be given back.
  bool drop(u32 frame) {
    // Release: who finds itself the only holder writes after all that the others read. Acquire: so does the next owner.
    return holders(frame).fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  void give_back(std::span<const u32> frames);
  /// Whether there is more than one holder. If not, what other holders have read of it is over.
  bool is_shared(u32 frame) const { return holders(frame).load(std::memory_order_acquire) > 1; }

  u64 used_bytes() const;
  u64 size_bytes() const { return limit_.load() << kPageBits; }
  /// Raises the limit to at least `bytes`, as far as addresses were reserved. Returns whether that was enough.
  bool grow(u64 bytes);

  static constexpr u32 kZeroFrame = 1;  // frame 0 is never used, so that an entry of 0 is "not mapped"
  static constexpr u32 kFirstImageFrame = 2;

 private:
  std::atomic_ref<u32> holders(u32 frame) const { return std::atomic_ref<u32>(holders_[frame]); }

  u8* base_ = nullptr;
  u32* holders_ = nullptr;  // of each frame, behind the frames
  u64 reserved_ = 0;        // frames, all kinds
  u64 first_;               // first pool frame
  std::atomic<u64> next_;
  std::atomic<u64> limit_;  // pool frames that may be in use
  std::atomic<u64> free_count_{0};
  std::mutex mutex_;
  std::vector<u32> free_;
};

}  // namespace myriarm::cpu
