// SPDX-License-Identifier: Apache-2.0
// What a warp does with the pages of its team for system calls, in a launch that runs guests. Frames that become free stay
// with the team until the launch has ended.
#pragma once

#include "backends/cuda/process/common_pages.cuh"

namespace myriarm::cuda {

/// A run of pages, as kernel::PageChange has it.
struct PageRun {
  u64 first, count;
  u32 permissions;
  kernel::PageAction action;
  u32 unit = 0;  // with `map`: the first of the units whose bytes the pages have; 0: they are zeros
};

/// Whether the change of this page for all lanes of the team is a matter of its entry alone.
static __device__ inline bool is_simple(const View& view, u32 entry, const PageRun& run) {
  const bool code = ((entry | run.permissions) & kPageExecutable) != 0 || (entry & kPageCode) != 0;
  const bool keeps_frame = run.action == kernel::PageAction::protect || !has_frame(view, entry);
  return !is_flat(view) && !code && keeps_frame && !(entry & kPageDiffer);
}
/// The shared page whose bytes lanes get that map this page.
static __device__ inline u32 content_of(u64 page, const PageRun& run) {
  return run.unit == 0 ? kSharedZeros : (run.unit + (u32)(page - run.first)) << kPageFlagBits | kPageShared;
}
/// The entry that such a page gets.
static __device__ inline u32 simple_entry(u32 entry, u64 page, const PageRun& run) {
  switch (run.action) {
    case kernel::PageAction::map: return content_of(page, run) | run.permissions;
    case kernel::PageAction::unmap: return 0;
    default: return entry == 0 ? 0 : (entry & ~7u) | run.permissions;
  }
}

/// Changes pages of a table that a lane has alone, at this place of its team. One thread calls it: no page needs a frame.
static __device__ __noinline__ void change_pages_alone(const View& view, u32 table, u32 place, const PageRun& run) {
  const PagedMemory<kTeam> memory = memory_of(view, table, place);
  for (u64 page = run.first; page < run.first + run.count; page++) {
    const u32 entry = *(volatile u32*)memory.entry_place(page);
    u32 next = simple_entry(entry_of_lane(view, table, page, entry, place), page, run);
    if (!is_simple(view, entry, run)) {
      if (next & kPageShared) next &= ~(u32)kPageCode;  // the lane no longer runs the page's predecoded words
      if (has_frame(view, entry) && !has_frame(view, next)) give_up_frame(view, table, entry >> kPageFlagBits);
      code_page_changes(view, table, page, Writer::guest);
    }
    *memory.entry_place(page) = next;
    touch(view, table, page);
  }
}

/// Lets all lanes that have pages in a table have pages of a file, by its units, if all of them ask for it. All threads of `lanes` call
/// it. Needs no frames.
static __device__ __noinline__ void share_file_pages(const View& view, const TeamLanes& lanes, const PageRun& run) {
  const u32 thread = threadIdx.x % kTeam, width = (u32)__popc(lanes.threads);
  const PagedMemory<kTeam> memory = memory_of(view, lanes.team, thread);
  for (u64 begin = 0; begin < run.count; begin += width) {
    const u64 page = run.first + begin + thread;
    const bool exists = begin + thread < run.count;
    const u32 entry = exists ? *(volatile u32*)memory.entry_place(page) : 0;
    if (exists) {
      *memory.entry_place(page) = simple_entry(entry, page, run);
      touch(view, lanes.team, page);
    }
    // What was mapped just now are zeros that all share, and nobody runs them.
    for (u32 rest = __ballot_sync(lanes.threads, exists && entry >> kPageFlagBits != kZeroUnit); rest != 0;
         rest &= rest - 1) {
      const int of = __ffs(rest) - 1;
      const u64 changed = __shfl_sync(lanes.threads, page, of);
      const u32 old = __shfl_sync(lanes.threads, entry, of);
      if (thread == 0) {
        if (has_frame(view, old)) give_up_frame(view, lanes.team, old >> kPageFlagBits);
        code_page_changes(view, lanes.team, changed, Writer::guest);
      }
    }
    __syncwarp(lanes.threads);
  }
}

/// Gives a page the frame that its change needs, and leaves what every lane sees of it as it is. False: there is none.
static __device__ inline bool reserve_frame(const View& view, const PageUpdate& update) {
  const u32 team = update.lanes.team, threads = update.lanes.threads, thread = threadIdx.x % kTeam;
  if (update.entry != 0) {
    return make_page_writable(view, team, thread, threads, update.page) != CopyOutcome::out_of_memory;
  }
  const PagedMemory<kTeam> memory = memory_of(view, team, thread);
  const u32 frame = copy_to_new_frame(view, team, memory, threads, update.page, kSharedZeros);
  if (frame == 0) return false;
  const u32 next = frame << kPageFlagBits | kPageDiffer;
  lane_permissions(view, team, update.page, next)[thread] = 0;
  __syncwarp(threads);
  if (thread == 0) {
    *memory.entry_place(update.page) = next;
    touch(view, team, update.page);
  }
  __syncwarp(threads);
  return true;
}

/// Changes pages of some lanes of a team, all of them or none. All threads of `lanes` call it. False: a frame that it
/// needs cannot be had.
static __device__ __noinline__ bool change_pages(const View& view, const TeamLanes& lanes, const PageRun& run) {
  const u32 thread = threadIdx.x % kTeam;
  const PagedMemory<kTeam> memory = memory_of(view, lanes.team, thread);
  const bool all = (lanes.present & ~lanes.changed) == 0;
  const u32 width = (u32)__popc(lanes.threads);
  const auto give_up = [&](u32 frame) { give_up_frame(view, lanes.team, frame); };
  const auto look = [&](u64 begin, u32& entry) {
    const bool exists = begin + thread < run.count;
    entry = exists ? *(volatile u32*)memory.entry_place(run.first + begin + thread) : 0;
    return __ballot_sync(lanes.threads, exists && !(all && is_simple(view, entry, run)));
  };
  // First all frames: once the first page has changed, nothing may fail.
  for (u64 begin = 0; begin < run.count; begin += width) {
    u32 entry;
    for (u32 rest = look(begin, entry); rest != 0; rest &= rest - 1) {
      const u64 page = run.first + begin + (u32)__ffs(rest) - 1;
      const PageUpdate update = plan_update(view, lanes, page, run.permissions, run.action, content_of(page, run));
      if (update.needs_frame(view) && !reserve_frame(view, update)) return false;
    }
  }
  for (u64 begin = 0; begin < run.count; begin += width) {
    u32 entry;
    const u32 others = look(begin, entry);
    if (begin + thread < run.count && !(others >> thread & 1)) {
      *memory.entry_place(run.first + begin + thread) = simple_entry(entry, run.first + begin + thread, run);
      touch(view, lanes.team, run.first + begin + thread);
    }
    for (u32 rest = others; rest != 0; rest &= rest - 1) {
      const u64 page = run.first + begin + (u32)__ffs(rest) - 1;
      const PageUpdate update = plan_update(view, lanes, page, run.permissions, run.action, content_of(page, run));
      if (thread == 0) {
        touch(view, lanes.team, page);
        code_page_changes(view, lanes.team, page, Writer::guest);
      }
      carry_out(view, update, give_up);
      __syncwarp(lanes.threads);
    }
    __syncwarp(lanes.threads);
  }
  const bool only_reads = run.action == kernel::PageAction::protect && run.permissions == kPageReadable;
  if (only_reads && view.processes.tree != nullptr && !is_flat(view)) {
    for (u64 page = run.first; page < run.first + run.count; page++) make_page_common(view, lanes, page, give_up);
  }
  return true;
}

}  // namespace myriarm::cuda
