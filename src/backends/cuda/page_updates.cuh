// SPDX-License-Identifier: Apache-2.0
// How a page of some lanes of a team is mapped, unmapped or protected: for calls of the host, and for system calls that
// the device serves.
#pragma once

#include "backends/cuda/team_memory.cuh"
#include "kernel/machine.h"

namespace myriarm::cuda {

/// The lanes of a team whose pages change, and the threads that change them: thread l works for the lane at place l.
struct TeamLanes {
  u32 team;
  u32 threads;  // those that call the functions below together; thread 0 is one of them
  u32 present;  // the lanes that have memory: threads of others only help
  u32 changed;  // the lanes whose page changes
};

/// What the permissions of a page are for one lane: 0, or kLaneMapped with flags.
constexpr u32 kLaneMapped = 8;
static __device__ inline u32 lane_value(u32 entry) {
  return entry == 0 ? 0 : (entry & (kPageReadable | kPageWritable | kPageExecutable)) | kLaneMapped;
}

/// What becomes of one page.
struct PageUpdate {
  TeamLanes lanes;
  u64 page;
  kernel::PageAction action;
  u32 content;  // with `map`: an entry without permissions of the shared page whose bytes the lanes get
  u32 entry;    // of the page now
  u32 wanted;   // the lane_value() that this thread's lane will have
  u32 leader;   // the same of the first lane that is present
  bool mine;    // this thread's lane is one of those that change
  bool agree;   // all lanes will have the same
  // All lanes have the bytes of one shared page then, or none has the page any more: the entry becomes that page, or 0, and the
  // team's frame is given back.
  bool gives;
  bool alone;  // the page has a frame that nothing else holds

  /// Whether the page must get a frame.
  __device__ bool needs_frame(const View& view) const {
    return !gives && !is_flat(view) && !(agree && action == kernel::PageAction::protect) && !alone;
  }
};

constexpr u32 kSharedZeros = kZeroUnit << kPageFlagBits | kPageShared;

/// Whether the lanes that are present and whose page does not change have the bytes of a shared page. `own`: the entry of the page for
/// the thread's lane. All threads of `lanes` call it.
static __device__ inline bool others_have(const View& view, const TeamLanes& lanes, u32 own, u32 shared) {
  constexpr u32 kGranules = kPageSize / 8, kGranulesAtOnce = 64;
  const u32 thread = threadIdx.x % kTeam;
  const bool is_other = (lanes.present & ~lanes.changed) >> thread & 1;
  const PagedMemory<kTeam> memory = memory_of(view, lanes.team, thread);  // locate() does not depend on the page
  for (u32 first = 0; first < kGranules; first += kGranulesAtOnce) {
    bool differs = false;
    for (u32 i = first; i < first + kGranulesAtOnce && is_other; i++) {
      differs |= *(const u64*)memory.locate(own, 8 * i) != *(const u64*)memory.locate(shared, 8 * i);
    }
    if (__any_sync(lanes.threads, differs)) return false;
  }
  return true;
}

/// `content`: as PageUpdate has it.
static __device__ inline PageUpdate plan_update(const View& view, const TeamLanes& lanes, u64 page, u32 permissions,
                                                kernel::PageAction action, u32 content = kSharedZeros) {
  using kernel::PageAction;
  const u32 thread = threadIdx.x % kTeam;
  const u32 entry = *(volatile u32*)memory_of(view, lanes.team, thread).entry_place(page);
  const bool mine = lanes.changed >> thread & 1, absent = !(lanes.present >> thread & 1);
  const u32 own = entry_of_lane(view, lanes.team, page, entry, thread);
  u32 wanted = lane_value(own);
  if (mine && (action == PageAction::map || wanted != 0)) wanted = permissions | kLaneMapped;
  if (mine && action == PageAction::unmap) wanted = 0;
  const u32 leader = __shfl_sync(lanes.threads, wanted, __ffs(lanes.present) - 1);
  const bool agree = __all_sync(lanes.threads, absent || wanted == leader);
  const bool all_change = (lanes.present & ~lanes.changed) == 0;
  bool gives = !is_flat(view) && action != PageAction::protect && (all_change || (agree && leader == 0));
  // Lanes that map a file one after the other end with its pages in common, but for those that some have written to.
  if (!gives && agree && action == PageAction::map && content != kSharedZeros && !is_flat(view))
    gives = others_have(view, lanes, own, content);
  const bool alone = has_frame(view, entry) && (!(entry & kPageCode) || holders_of(view, entry >> kPageFlagBits) == 1);
  return {lanes, page, action, content, entry, wanted, leader, mine, agree, gives, alone};
}

/// To be called when lanes have come to differ in the permissions of a page.
static __device__ inline void note_differing(const View& view) { *(volatile u32*)&view.report->pages_differ = 1; }

/// Makes the change; false if that needs a frame and there is none. `give_back(frame)` takes the team's hold from a frame.
template <class GiveBack>
static __device__ inline bool carry_out(const View& view, const PageUpdate& update, GiveBack give_back) {
  using kernel::PageAction;
  const u32 thread = threadIdx.x % kTeam, team = update.lanes.team, entry = update.entry, leader = update.leader;
  const PagedMemory<kTeam> memory = memory_of(view, team, thread);
  const bool present = update.lanes.present >> thread & 1;
  const bool fills = update.mine && update.action != PageAction::protect;
  u32 next;
  if (update.gives) {
    next = leader == 0 ? 0 : update.content | (leader & 7);
    if (thread == 0 && has_frame(view, entry)) give_back(entry >> kPageFlagBits);
  } else if (is_flat(view)) {
    const u32 flat = flat_unit(view, team, update.page) << kPageFlagBits;
    if (fills && present) {
      u64* to = (u64*)memory.locate(flat, 0);
      for (u32 granule = 0; granule < kPageSize / 8; granule++) to[granule] = 0;
    }
    lane_permissions(view, team, update.page, 0)[thread] = (u8)update.wanted;
    next = update.agree && leader == 0 ? 0 : flat | (update.agree ? leader & 7 : (u32)kPageDiffer);
  } else if (update.agree && update.action == PageAction::protect) {
    next = leader == 0 ? entry : (entry & ~(u32)(7 | kPageDiffer)) | (leader & 7);
    if (entry & kPageShared) next &= ~(u32)kPageCode;  // the team no longer runs the page's predecoded words
  } else {
    // The lanes differ in permissions, or only some get other bytes: the page needs a frame with permissions by lane.
    u32 frame = entry >> kPageFlagBits;
    if (!update.alone) {
      const u32 from = entry == 0 ? kSharedZeros : entry;
      frame = copy_to_new_frame(view, team, memory, update.lanes.threads, update.page, from);
      if (frame == 0) return false;
      if (thread == 0 && has_frame(view, entry)) atomicSub(&holders_of(view, entry >> kPageFlagBits), 1);
    }
    if (fills) copy_column(memory, update.content, frame);
    lane_permissions(view, team, update.page, frame << kPageFlagBits)[thread] = (u8)update.wanted;
    next = frame << kPageFlagBits | (update.agree ? leader & 7 : (u32)kPageDiffer);
  }
  __syncwarp(update.lanes.threads);
  if (thread == 0) {
    *memory.entry_place(update.page) = next;
    if (next & kPageDiffer) note_differing(view);
  }
  return true;
}

}  // namespace myriarm::cuda
