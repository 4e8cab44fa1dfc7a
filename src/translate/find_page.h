// SPDX-License-Identifier: Apache-2.0
// What a region for lanes that may differ does wherever it accesses memory. The kernel has it as a function, so that its text is in a
// multiprocessor's cache of instructions once (docs/design/instruction-cache-on-a-gpu.md).
#pragma once

#include "translate/device_region.h"

namespace myriarm::translate {

/// The page of an address, of the lane at this place of its team.
MYR_FN DevicePage find_page(DeviceTeamFacts* team, u32 lane, u64 address) {
  const PagedMemory<kDeviceTeam> paged{
      (u8*)team->frames,  (u32*)team->table,     team->first_page, team->page_count, lane,
      team->granule_step, lane * team->lane_step};
  const u64 page = paged.page_of(address);
  // Volatile: a word must be read and written whole, since the lanes of a warp write there at once.
  volatile u64* const place = &team->found[page % kFoundEntries];
  const u64 found = *place;
  u32 entry = (u32)(found >> 32);
  if ((u32)found != page) {
    if (page >= paged.page_count) return {0, 0, 0};
    entry = paged.entry(page);
    *place = (u64)entry << 32 | (u32)page;
  }
  if ((entry & (kPageDiffer | kPageShared)) == (kPageDiffer | kPageShared)) {
    entry = *(const u32*)own_word_place(team->table, entry >> kPageFlagBits, lane) + ((u32)page << kPageFlagBits);
  }
  const u64 frame = team->frames + ((u64)(entry >> kPageFlagBits) << kPageBits);
  if ((entry & kPageDiffer) != 0) {
    const u8 own = *(const u8*)permissions_place(frame, paged.granule_step, lane);
    entry = (entry & ~(u32)(kPagePermissions | kPageDiffer)) | (own & kPagePermissions);
  }
  if ((entry & kPageShared) != 0) return {frame, 1, entry};
  return {frame + paged.lane_offset, paged.granule_step, entry};
}

}  // namespace myriarm::translate
