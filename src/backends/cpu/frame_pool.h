// SPDX-License-Identifier: Apache-2.0
// The frames of the CPU backend. They lie in one reserved range of host addresses, so that a frame number is an offset
// and the pool grows without moving. Image frames come first, which all lanes share; then the frames of the pool, for
// pages that lanes write. Each of these counts its holders: the page tables and snapshots that refer to it. A lane may
// write to a frame only if the lane's table is its only holder.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <vector>

#include "core/memory.h"

namespace myriarm::cpu {

/// Who has memory of the pool that is of use, and that nobody misses.
class PoolSavings {
 public:
  virtual ~PoolSavings() = default;
  /// Gives some of it back. False: there is none. Any thread may call it, whatever it holds.
  virtual bool give_up() noexcept = 0;
};

class FramePool {
 public:
  /// Reserves addresses for `image_frames` and at most `pool_frames` more; memory is committed by the first touch.
  /// Throws DeviceError if the host refuses the addresses; if the pool `may_be_smaller`, only if it refuses them for a
  /// small pool too. If they are few, `lanes` with windows of so many pages each get frames in the order of their pages.
  FramePool(u64 image_frames, u64 pool_frames, bool may_be_smaller = false, u64 lanes = 0, u64 window_pages = 0);
  ~FramePool();
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  u8* base() const { return base_; }
  u8* at(u32 frame) const { return base_ + (static_cast<u64>(frame) << kPageBits); }

  /// Returns a frame with one holder, or 0 if the pool is spent. `zeroed`: the frame is known to hold zeros; else its
  /// content is unspecified. Any thread may call it.
  u32 allocate(bool& zeroed);
  /// The same for a page of a lane's window, of which at most one thread at a time asks. With has_order() the frames of pages
  /// that follow each other do so too, but for pages whose frames of before have holders still.
  u32 allocate_for(u64 lane, u64 page, bool& zeroed);
  bool has_order() const { return orders_ != 0; }
  /// A frame of zeros that is never freed and not counted; 0 if there are no addresses left. Any thread may call it.
  u32 allocate_uncounted();
  /// Adds or removes a holder; removing the last one frees the frame. Any thread may call them, but retain() only while
  /// no lane runs: a lane that is a frame's only holder writes to it without asking again.
  void retain(u32 frame) { holders(frame).fetch_add(1, std::memory_order_relaxed); }
  void release(u32 frame) {
    if (drop(frame)) give_back({&frame, 1});
  }
  /// release() in two steps, for callers that have many frames: drop() returns whether it removed the last holder, and
  /// the caller then passes the frame to give_back().
  bool drop(u32 frame) {
    // Release: the holder that remains may write as soon as it sees a count of 1, so our reads must be complete.
    // Acquire: the same for the next owner of the frame, if we are the last holder.
    return holders(frame).fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  void give_back(std::span<const u32> frames);
  /// Counts memory of another kind as used, as this many frames. False: the pool is spent, savings included. Any thread may call
  /// them.
  bool charge(u64 frames);
  void discharge(u64 frames) { used_.fetch_sub(frames, std::memory_order_relaxed); }
  /// Whose memory is given up before the pool is spent; null: nobody's. To be called while no other thread uses the pool.
  void set_savings(PoolSavings* savings) { savings_ = savings; }
  /// Whether the frame has more than one holder. If not, all reads by earlier holders are complete.
  bool is_shared(u32 frame) const { return holders(frame).load(std::memory_order_acquire) > 1; }

  u32 holders_of(u32 frame) const { return holders(frame).load(std::memory_order_acquire); }

  u64 used_bytes() const { return used_.load() << kPageBits; }
  u64 size_bytes() const { return limit_.load() << kPageBits; }
  /// Raises the limit to at least `bytes`, as far as addresses were reserved. Returns whether that was enough.
  bool grow(u64 bytes);

  static constexpr u32 kZeroFrame = 1;  // frame 0 is never used, so that an entry of 0 is "not mapped"
  static constexpr u32 kFirstImageFrame = 2;

 private:
  /// Reserves addresses for twice the limit, so that grow() can raise it. Addresses take no memory.
  bool reserve();
  bool reserve(u64 orders);

  std::atomic_ref<u32> holders(u32 frame) const { return std::atomic_ref<u32>(holders_[frame]); }

  bool charge_as_it_is(u64 frames);

  PoolSavings* savings_ = nullptr;
  u8* base_ = nullptr;
  u32* holders_ = nullptr;  // number of holders of each frame; lies behind the frames
  u64 reserved_ = 0;        // frames with addresses, image frames included
  u64 first_;               // first pool frame
  /// Frames in the order of pages: a window of each lane, and then, for pages whose first frame is held, all of them again.
  /// They are as other frames, but in no list when they are free: one without holders is.
  const u64 lanes_, window_pages_;
  u64 orders_ = 0;
  u64 first_without_order_;
  u8* was_used_ = nullptr;  // of frames with an order: whether the frame may hold something else than zeros
  std::atomic<u64> next_;
  std::atomic<u64> limit_;  // pool frames that may be in use, with those charged
  std::atomic<u64> used_{0};
  std::atomic<u64> uncounted_{0};  // frames of allocate_uncounted()
  /// Free frames, in several lists so that threads which begin and end lanes seldom wait for each other.
  struct alignas(64) FreeList {
    std::mutex mutex;
    std::vector<u32> frames;
  };
  static constexpr unsigned kFreeLists = 16;
  static unsigned list_of_thread();
  /// A frame that was never used; 0 if there is none.
  u32 take_new();
  /// Takes a frame from the thread's own list, or from another; 0 if there is none.
  u32 take_free();

  std::atomic<u64> free_count_{0};
  FreeList free_[kFreeLists];
};

}  // namespace myriarm::cpu
