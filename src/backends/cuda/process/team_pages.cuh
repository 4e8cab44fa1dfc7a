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

  /// With `map`: the unit of a page.
  __device__ u32 unit_of(u64 page) const { return unit == 0 ? kZeroUnit : unit + (u32)(page - first); }
  /// The same as an entry without permissions.
  __device__ u32 content_of(u64 page) const { return unit_of(page) << kPageFlagBits | kPageShared; }
};

/// Whether code may lie in a page with this entry of a table.
static __device__ inline bool may_be_code(const View& view, u32 table, u32 entry) {
  if (!is_split(entry)) return (entry & (kPageExecutable | kPageCode)) != 0;
  const volatile Split& split = splits_of(view, table)[entry >> kPageFlagBits];
  return (lanes_with(split.parts[0], kExecutableBit) | lanes_with(split.parts[1], kExecutableBit)) != 0;
}

/// What lanes have of a page without a frame once the page has changed. False: they have it from more than two files then.
static __device__ inline bool change_one_page(const TeamLanes& lanes, u64 page, const PageRun& run, Split& have) {
  const bool protects = run.action == kernel::PageAction::protect;
  const u32 value = (run.permissions & kPagePermissions) | kLaneMapped;
  for (SplitPart& part : have.parts) {
    const u32 changed = lanes.changed & part.values[kMappedBit];
    for (u32 bit = 0; bit < kValueBits; bit++)
      part.values[bit] = (part.values[bit] & ~changed) | (protects && (value >> bit & 1) ? changed : 0);
  }
  put_in_order(have);
  return run.action != kernel::PageAction::map ||
         add_lanes(have, lanes.changed, shift_to(run.unit_of(page), page), value);
}

/// Changes pages of a table that a lane has alone, at this place of its team. One thread calls it: no page needs a frame.
static __device__ __noinline__ void change_pages_alone(const View& view, u32 table, u32 place, const PageRun& run) {
  const PagedMemory<kTeam> memory = memory_of(view, table, place);
  for (u64 page = run.first; page < run.first + run.count; page++) {
    const u32 entry = *(volatile u32*)memory.entry_place(page);
    u32 next = 0;
    if (run.action == kernel::PageAction::map) {
      next = run.content_of(page) | run.permissions;
    } else if (run.action == kernel::PageAction::protect) {
      const u32 own = entry_of_lane(view, table, page, entry, place);
      if (own != 0) next = (own & ~(u32)kPagePermissions) | run.permissions;
    }
    const bool loses_frame = has_frame(view, entry) && !has_frame(view, next);
    const bool code = may_be_code(view, table, entry) || may_be_code(view, table, next);
    if (loses_frame || code || (entry & kPageDiffer)) {
      if (next & kPageShared) next &= ~(u32)kPageCode;  // the lane no longer runs the page's predecoded words
      if (loses_frame) give_up_frame(view, table, entry >> kPageFlagBits);
      code_page_changes(view, table, page, Writer::guest);
    }
    *memory.entry_place(page) = next;
    touch(view, table, page);
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

/// What becomes of a thread's page if a run of pages changes.
struct PlannedPage {
  u64 page;
  u32 entry;  // now
  u32 next;   // with `by_entry`: then
  bool
      by_entry;  // the page has no frame and needs none, or it changes for all lanes alike: it is a matter of its entry alone
  bool rest;  // or else it is to be planned by itself
};
/// Plans for a page of each thread, from the one at this place of a run on, and makes the splits that they need. All threads of `lanes`
/// call it.
static __device__ __noinline__ PlannedPage plan_pages(const View& view, const TeamLanes& lanes, const PageRun& run,
                                                      u64 begin) {
  const u64 place = begin + threadIdx.x % kTeam, page = run.first + place;
  const bool exists = place < run.count, all = (lanes.present & ~lanes.changed) == 0;
  const u32 entry = exists ? *(volatile u32*)memory_of(view, lanes.team, 0).entry_place(page) : 0;
  u32 next = 0;
  bool by_entry = false, splits = false;
  Split have = {};
  if (exists && has_frame(view, entry)) {
    const bool code = may_be_code(view, lanes.team, entry | run.permissions);
    by_entry = run.action == kernel::PageAction::protect && all && !code && !(entry & kPageDiffer);
    next = (entry & ~(u32)kPagePermissions) | run.permissions;
  } else if (exists && !is_flat(view)) {
    have = lanes_have(view, lanes, page, entry);
    const bool one = change_one_page(lanes, page, run, have);
    by_entry = one && is_same_for_all(lanes, page, have, next);
    splits = one && !by_entry && page < view.guest_pages;
  }
  for (u32 open; (open = __ballot_sync(lanes.threads, splits)) != 0;) {
    const int leader = __ffs(open) - 1;
    Split wanted;
    for (u32 part = 0; part < 2; part++) {
      wanted.parts[part].shift = __shfl_sync(lanes.threads, have.parts[part].shift, leader);
      for (u32 bit = 0; bit < kValueBits; bit++)
        wanted.parts[part].values[bit] = __shfl_sync(lanes.threads, have.parts[part].values[bit], leader);
    }
    const u32 split = find_split(view, lanes, wanted);
    if (!splits || !(have == wanted)) continue;
    splits = false;
    by_entry = split != kNoSplit;
    next = split << kPageFlagBits | kPageShared | kPageDiffer;
  }
  return {page, entry, next, by_entry, exists && !by_entry};
}

/// Whether a change of pages may need splits: some lanes alone change them, or lanes have them in different ways, and keep these.
static __device__ inline bool needs_splits(const View& view, const TeamLanes& lanes, const PageRun& run) {
  if ((lanes.present & ~lanes.changed) != 0) return true;
  if (run.action != kernel::PageAction::protect) return false;
  const PagedMemory<kTeam> memory = memory_of(view, lanes.team, 0);
  const u32 thread = threadIdx.x % kTeam, width = (u32)__popc(lanes.threads);
  for (u64 begin = 0; begin < run.count; begin += width) {
    const bool exists = begin + thread < run.count;
    if (__any_sync(lanes.threads, exists && is_split(*(volatile u32*)memory.entry_place(run.first + begin + thread))))
      return true;
  }
  return false;
}

/// Lets pages that lanes may only read, and that have frames, be pages of the fleet where lanes have the same bytes. All threads of
/// `lanes` call it.
static __device__ __noinline__ void make_pages_common(const View& view, const TeamLanes& lanes, const PageRun& run) {
  const u32 thread = threadIdx.x % kTeam, width = (u32)__popc(lanes.threads);
  const PagedMemory<kTeam> memory = memory_of(view, lanes.team, thread);
  for (u64 begin = 0; begin < run.count; begin += width) {
    const u64 page = run.first + begin + thread;
    const bool may_be = begin + thread < run.count && may_be_common(view, *(volatile u32*)memory.entry_place(page));
    for (u32 rest = __ballot_sync(lanes.threads, may_be); rest != 0; rest &= rest - 1) {
      make_page_common(view, lanes, run.first + begin + (u32)__ffs(rest) - 1,
                       [&](u32 frame) { give_up_frame(view, lanes.team, frame); });
    }
  }
}

/// Changes pages of some lanes of a team, all of them or none. All threads of `lanes` call it. False: a frame that it
/// needs cannot be had.
static __device__ __noinline__ bool change_pages(const View& view, const TeamLanes& lanes, const PageRun& run) {
  const u32 thread = threadIdx.x % kTeam, width = (u32)__popc(lanes.threads);
  const PagedMemory<kTeam> memory = memory_of(view, lanes.team, thread);
  if (needs_splits(view, lanes, run)) free_splits(view, lanes);
  const auto plan_by_itself = [&](u64 page, PlanFor plan_for) {
    return plan_update(view, lanes, page, run.permissions, run.action, plan_for, run.content_of(page));
  };
  // First all frames: once the first page has changed, nothing may fail.
  for (u64 begin = 0; begin < run.count; begin += width) {
    const PlannedPage own = plan_pages(view, lanes, run, begin);
    for (u32 rest = __ballot_sync(lanes.threads, own.rest); rest != 0; rest &= rest - 1) {
      const PageUpdate update = plan_by_itself(run.first + begin + (u32)__ffs(rest) - 1, PlanFor::frames);
      if (update.needs_frame(view) && !reserve_frame(view, update)) return false;
    }
  }
  for (u64 begin = 0; begin < run.count; begin += width) {
    const PlannedPage own = plan_pages(view, lanes, run, begin);
    if (own.by_entry) {
      *memory.entry_place(own.page) = own.next;
      touch(view, lanes.team, own.page);
      if (own.page < view.guest_pages) note_entry(view, lanes.team, own.next);
    }
    const bool code = own.by_entry && own.entry != own.next && own.page < view.guest_pages &&
                      (may_be_code(view, lanes.team, own.entry) || may_be_code(view, lanes.team, own.next)) &&
                      is_known_code(view, lanes.team, own.page);
    for (u32 rest = __ballot_sync(lanes.threads, code); rest != 0; rest &= rest - 1) {
      if (thread == 0) code_page_changes(view, lanes.team, run.first + begin + (u32)__ffs(rest) - 1, Writer::guest);
    }
    for (u32 rest = __ballot_sync(lanes.threads, own.rest); rest != 0; rest &= rest - 1) {
      const PageUpdate update = plan_by_itself(run.first + begin + (u32)__ffs(rest) - 1, PlanFor::change);
      if (thread == 0) {
        touch(view, lanes.team, update.page);
        code_page_changes(view, lanes.team, update.page, Writer::guest);
      }
      carry_out(view, update, [&](u32 frame) { give_up_frame(view, lanes.team, frame); });
      __syncwarp(lanes.threads);
    }
    __syncwarp(lanes.threads);
  }
  const bool only_reads = run.action == kernel::PageAction::protect && run.permissions == kPageReadable;
  if (only_reads && view.processes.tree != nullptr && !is_flat(view)) make_pages_common(view, lanes, run);
  return true;
}

}  // namespace myriarm::cuda
