// SPDX-License-Identifier: Apache-2.0
// What the words of the process that a lane runs are read with, where no call is served.
#pragma once

#include "backends/cpu/lane.h"
#include "kernel/process.h"

namespace myriarm::cpu {

struct ProcessWords {
  const Lane& lane;
  u64 guest_pages() const { return lane.guest_pages; }
  u32 entry(u64 page) const {
    if (page < lane.lane_pages) return lane.table[page];
    return page < lane.page_count ? lane.lane_table[page] : entry_behind(page, lane.guest_pages);
  }
  /// What a table that has no entry for a page stands for: kernel pages of zeros, and no layer.
  static u32 entry_behind(u64 page, u64 guest_pages) {
    constexpr u32 kZeros = FramePool::kZeroFrame << kPageFlagBits | kPageShared;
    return page < guest_pages + kernel::kKernelPages ? kZeros : 0;
  }
  u8* locate(u32 entry, u32 offset) const { return lane.memory().locate(entry, offset); }
};

}  // namespace myriarm::cpu
