// SPDX-License-Identifier: Apache-2.0
// What the words of the process that a lane runs are read with, where no call is served.
#pragma once

#include "backends/cpu/lane.h"

namespace myriarm::cpu {

struct ProcessWords {
  const Lane& lane;
  u64 guest_pages() const { return lane.guest_pages; }
  u32 entry(u64 page) const {
    if (page < lane.lane_pages) return lane.table[page];
    return page < lane.page_count ? lane.lane_table[page] : 0;
  }
  u8* locate(u32 entry, u32 offset) const { return lane.memory().locate(entry, offset); }
};

}  // namespace myriarm::cpu
