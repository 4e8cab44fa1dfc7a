// SPDX-License-Identifier: Apache-2.0
// Pages of the layer that are pages of the guest too, in tables that one lane has alone: kernel/mapped_pages.h. Both entries name one
// frame, and neither is copied on write; no other lane has pages there that could be in the way. One thread does it.
#pragma once

#include "backends/cuda/process/spaces.cuh"

namespace myriarm::cuda {

/// A page of the guest becomes this page of the layer, which is own. `give_back(table, frame)` takes a table's hold from a frame.
template <class GiveBack>
static __device__ inline void join_file_page(const View& view, const LaneTables& tables, u64 page, u64 file_page,
                                             u32 permissions, GiveBack give_back) {
  u32& entry = *memory_of(view, tables.guest, 0).entry_place(page);
  const u32 frame = *memory_of(view, tables.lane, 0).entry_place(file_page) >> kPageFlagBits;
  if (!has_frame(view, entry) || entry >> kPageFlagBits != frame) {
    if (has_frame(view, entry)) give_back(tables.guest, entry >> kPageFlagBits);
    atomicAdd(&holders_of(view, frame), 1);
  }
  entry = frame << kPageFlagBits | (permissions & 7);
  touch(view, tables.guest, page);
}

/// A page of the layer becomes another one. Those of the guest stay.
template <class GiveBack>
static __device__ inline void part_file_page(const View& view, u32 lane, const LaneTables& tables, u64 file_page,
                                             GiveBack give_back) {
  if (tables.lane == team_of(lane)) return;  // nothing of the guest has ever been a page of it
  u32& entry = *memory_of(view, tables.lane, 0).entry_place(file_page);
  if (!has_frame(view, entry) || holders_of(view, entry >> kPageFlagBits) == 1) return;
  give_back(tables.lane, entry >> kPageFlagBits);
  entry = kSharedZeros;
  touch(view, tables.lane, file_page);
}

}  // namespace myriarm::cuda
