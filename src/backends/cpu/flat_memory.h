// SPDX-License-Identifier: Apache-2.0
// Memory of the shared policies: the windows of all lanes, one behind the other in one piece that guest and host both
// use. Page tables and permissions stay; an entry's frame is where the page lies in its lane's window, always.
#pragma once

#include "backends/cpu/host_memory.h"
#include "core/memory.h"

namespace myriarm::cpu {

class FlatMemory {
 public:
  /// None: the lanes have memory of their own.
  FlatMemory() = default;
  /// Throws DeviceError if the host has not that much, or if page tables cannot name so many pages.
  FlatMemory(u64 lanes, u64 window_pages);

  explicit operator bool() const { return array_.data() != nullptr; }
  u64 stride() const { return stride_; }  // bytes of a window
  u8* lane(u64 index) const { return array_.data() + kPageSize + index * stride_; }
  /// What the frames of this lane's table count from. A window's first page is frame 1, since 0 is "not mapped".
  u8* frames(u64 index) const { return lane(index) - kPageSize; }
  static u32 frame_of(u64 page) { return static_cast<u32>(page + 1); }

 private:
  u64 stride_ = 0;
  LazyArray array_;  // a page, then the windows
};

}  // namespace myriarm::cpu
