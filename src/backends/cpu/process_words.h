// SPDX-License-Identifier: Apache-2.0
// What the words of the process that a lane runs are read with, where no call is served.
#pragma once

#include "backends/cpu/lane.h"
#include "kernel/process.h"

namespace myriarm::cpu {

/// The tables in which a lane's pages are. This is the one place where a page is the lane's or that of the space that runs.
struct LaneEntries {
  const u32 *running, *first;  // of the space that runs, and the lane's own
  u64 lane_pages;              // pages from there on are the lane's
  u64 page_count;              // entries that the lane's own table has
  u64 guest_pages;

  u32 entry(u64 page) const {
    if (page < lane_pages) return running[page];
    return page < page_count ? first[page] : entry_behind(page, guest_pages);
  }
  /// What a table that has no entry for a page stands for: kernel pages of zeros, and no layer.
  static u32 entry_behind(u64 page, u64 guest_pages) {
    constexpr u32 kZeros = FramePool::kZeroFrame << kPageFlagBits | kPageShared;
    return page < guest_pages + kernel::kKernelPages ? kZeros : 0;
  }
};

struct ProcessWords {
  const Lane& lane;
  u64 guest_pages() const { return lane.guest_pages; }
  u32 entry(u64 page) const {
    return LaneEntries{lane.table, lane.lane_table, lane.lane_pages, lane.page_count, lane.guest_pages}.entry(page);
  }
  u8* locate(u32 entry, u32 offset) const { return lane.memory().locate(entry, offset); }
};

}  // namespace myriarm::cpu
