// SPDX-License-Identifier: Apache-2.0
// Frames with pages of files that processes map. Each page of a file is there once, from the first mapping on as long as the
// fleet, and no lane writes to it: a store copies it, as that of an image frame. They are not counted in the pool, so that
// what a lane finds of memory depends on no other lane; they take at most what the files take.
#pragma once

#include <mutex>
#include <unordered_map>

#include "backends/cpu/frame_pool.h"

namespace myriarm::cpu {

class SharedFrames {
 public:
  explicit SharedFrames(FramePool& pool) : pool_(pool) {}

  /// The frame of the page that begins with the `size` bytes at `bytes`, at most a page, which never change. 0 if the host
  /// has no memory for it. Any thread may call it.
  u32 frame_of(const u8* bytes, u64 size);

 private:
  FramePool& pool_;
  std::mutex mutex_;
  std::unordered_map<const u8*, u32> frames_;  // by the place of the page in its file's bytes
};

}  // namespace myriarm::cpu
