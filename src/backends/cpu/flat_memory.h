// SPDX-License-Identifier: Apache-2.0
// Memory of the shared policies: the windows of all lanes, one after the other in one array that guest and host both
// use. Lanes keep page tables, for permissions; an entry's frame number is the place of the page in the lane's window.
#pragma once

#include "backends/cpu/host_memory.h"
#include "core/memory.h"

namespace myriarm::cpu {

class FlatMemory {
 public:
  /// No flat memory: each lane has frames of its own.
  FlatMemory() = default;
  /// Throws DeviceError if the host has less memory, or if a window has more pages than there are frame numbers.
  FlatMemory(u64 lanes, u64 window_pages);

  explicit operator bool() const { return array_.data() != nullptr; }
  u64 stride() const { return stride_; }  // bytes of a window
  u8* lane(u64 index) const { return array_.data() + kPageSize + index * stride_; }
  /// Where frame 0 of this lane's table would begin. A window's first page is frame 1, since an entry of 0 is "not
  /// mapped".
  u8* frames(u64 index) const { return lane(index) - kPageSize; }
  static u32 frame_of(u64 page) { return static_cast<u32>(page + 1); }

 private:
  u64 stride_ = 0;
  LazyArray array_;  // a page, then the windows
};

}  // namespace myriarm::cpu
