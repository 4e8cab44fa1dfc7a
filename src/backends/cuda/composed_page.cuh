// SPDX-License-Identifier: Apache-2.0
// A page of a team that is put together from columns of other frames: what a restore does where the lanes have different sources.
#pragma once

#include "backends/backend.h"
#include "backends/cuda/page_updates.cuh"

namespace myriarm::cuda {

/// Gives a page of a table a new frame, in which the lane of each thread gets the page that this entry names in column `from_place`
/// of its frame. `here`: it has pages in the table; one lane has. A whole warp calls it. Returns the table's entry, or 0 if there is
/// no frame.
static __device__ inline u32 compose_page(const View& view, u32 table, u64 page, bool here, u32 entry, u32 from_place) {
  constexpr u32 kAll = 0xFFFFFFFFu;
  const u32 thread = threadIdx.x % kTeam, wanted = page_value(here ? entry : 0);
  const u32 leader = __shfl_sync(kAll, wanted, __ffs(__ballot_sync(kAll, here)) - 1);
  const bool agree = __all_sync(kAll, !here || wanted == leader);
  u32 frame = thread == 0 ? allocate_frame(view, table) : 0;
  frame = __shfl_sync(kAll, frame, 0);
  if (frame == 0) return 0;
  if (here) {
    const PagedMemory<kTeam> from = memory_of(view, table, from_place);  // locate() does not depend on the table
    const u32 or_zeros = entry == 0 ? kSharedZeros : entry;
    copy_column(memory_of(view, table, thread), (const u64*)from.locate(or_zeros, 0),
                (or_zeros & kPageShared) ? 1 : view.granule_step, frame);
  }
  lane_permissions(view, table, page, frame << kPageFlagBits)[thread] = (u8)wanted;
  __syncwarp();
  return frame << kPageFlagBits | (agree ? leader & 7 : (u32)kPageDiffer);
}

}  // namespace myriarm::cuda
