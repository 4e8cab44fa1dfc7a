// SPDX-License-Identifier: Apache-2.0
// How a warp visits the pages of a page table, and for which lanes.
#pragma once

#include "backends/cuda/team_memory.cuh"

namespace myriarm::cuda {

/// The lanes of a team whose pages change, and the threads that change them: thread l works for the lane at place l.
struct TeamLanes {
  u32 team;     // or the number of a further table
  u32 threads;  // those that call the functions below together: the lowest ones
  u32 present;  // the lanes that have memory: threads of others only help
  u32 changed;  // the lanes whose page changes
};

/// The slices of a table that may have entries.
static __device__ inline u64 used_slices(const View& view, u32 table) {
  const u64 touched = *(volatile u64*)&view.touched[table];
  return table < view.teams ? touched | view.program_slices[view.team_program[table]] : touched;
}
/// Calls `visit(page, exists)` in step for the pages of these slices, a page for each thread.
template <class Visit>
static __device__ inline void visit_pages(const View& view, u32 members, u64 slices, u64 first, u64 end, Visit visit) {
  const u32 thread = threadIdx.x % kTeam, width = (u32)__popc(members);
  for (; slices != 0; slices &= slices - 1) {
    const u32 slice = (u32)__ffsll((long long)slices) - 1;
    const u64 begin = view.slices.first(slice), behind = smaller(view.slices.end(slice), end);
    for (u64 at = begin < first ? first : begin; at < behind; at += width) visit(at + thread, at + thread < behind);
  }
}

}  // namespace myriarm::cuda
