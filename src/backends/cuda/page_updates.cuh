// SPDX-License-Identifier: Apache-2.0
// How a page of some lanes of a team is mapped, unmapped or protected: for calls of the host, and for system calls that
// the device serves.
#pragma once

#include "backends/cuda/process/split_pages.cuh"
#include "kernel/machine.h"

namespace myriarm::cuda {

constexpr u32 kSharedZeros = kZeroUnit << kPageFlagBits | kPageShared;

/// What a plan is made for.
enum class PlanFor : u8 {
  host,    // a change by the host, of which many warps make a part at once: it makes no splits
  frames,  // to find out which pages need frames, before any page changes: no bytes are compared
  change,
};

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
  // All lanes that will have the page have one shared page, or none will: the entry becomes `shared`, and the team's frame is given back.
  bool gives;
  u32 shared;
  bool alone;  // the page has a frame that nothing else holds

  /// Whether the entry gets other permissions and stays as it is otherwise. Where lanes have pages of two files, it names none of them.
  __device__ bool changes_permissions_alone() const {
    return agree && action == kernel::PageAction::protect && !is_split(entry);
  }
  /// Whether the page must get a frame.
  __device__ bool needs_frame(const View& view) const {
    return !gives && !is_flat(view) && !changes_permissions_alone() && !alone;
  }
};

/// Whether the lanes that are present and whose page does not change have the bytes of a shared page. `own`: the entry of the page for
/// the thread's lane. All threads of `lanes` call it.
static __device__ inline bool others_have(const View& view, const TeamLanes& lanes, u32 own, u32 shared) {
  constexpr u32 kGranules = kPageSize / 8, kGranulesAtOnce = 64;
  const u32 thread = threadIdx.x % kTeam;
  const bool has_it = (own & kPageShared) && own >> kPageFlagBits == shared >> kPageFlagBits;
  const bool compares = ((lanes.present & ~lanes.changed) >> thread & 1) && !has_it;
  const PagedMemory<kTeam> memory = memory_of(view, lanes.team, thread);  // locate() does not depend on the page
  for (u32 first = 0; first < kGranules; first += kGranulesAtOnce) {
    bool differs = false;
    for (u32 i = first; i < first + kGranulesAtOnce && compares; i++) {
      differs |= *(const u64*)memory.locate(own, 8 * i) != *(const u64*)memory.locate(shared, 8 * i);
    }
    if (__any_sync(lanes.threads, differs)) return false;
  }
  return true;
}

/// `content`: as PageUpdate has it. All threads of `lanes` call it.
static __device__ inline PageUpdate plan_update(const View& view, const TeamLanes& lanes, u64 page, u32 permissions,
                                                kernel::PageAction action, PlanFor plan_for,
                                                u32 content = kSharedZeros) {
  using kernel::PageAction;
  const u32 thread = threadIdx.x % kTeam;
  const u32 entry = *(volatile u32*)memory_of(view, lanes.team, thread).entry_place(page);
  const bool mine = lanes.changed >> thread & 1, absent = !(lanes.present >> thread & 1);
  const u32 own = entry_of_lane(view, lanes.team, page, entry, thread);
  u32 after = own;
  if (mine && action == PageAction::map) after = content | permissions;
  else if (mine && action == PageAction::unmap) after = 0;
  else if (mine && own != 0) after = (own & ~(u32)kPagePermissions) | permissions;
  const u32 wanted = lane_value(after);
  const u32 leader = __shfl_sync(lanes.threads, wanted, __ffs(lanes.present) - 1);
  const bool agree = __all_sync(lanes.threads, absent || wanted == leader);
  u32 unit = 0, shared = 0;
  bool gives = !is_flat(view) && is_one_page(lanes, after, unit);
  if (gives && agree) {
    shared = leader == 0 ? 0 : unit << kPageFlagBits | kPageShared | (leader & kPagePermissions);
  } else if (gives) {
    shared = plan_for == PlanFor::host ? 0 : split_page(view, lanes, page, after);
    gives = shared != 0;
  } else if (agree && plan_for == PlanFor::change && action == PageAction::map && content != kSharedZeros &&
             !is_flat(view)) {
    // Lanes that map a file one after the other end with its pages in common, but for those that some have written to.
    gives = others_have(view, lanes, own, content);
    shared = content | (leader & kPagePermissions);
  }
  const bool alone = has_frame(view, entry) && (!(entry & kPageCode) || holders_of(view, entry >> kPageFlagBits) == 1);
  return {lanes, page, action, content, entry, wanted, leader, mine, agree, gives, shared, alone};
}

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
    next = update.shared;
    if (thread == 0 && has_frame(view, entry)) give_back(entry >> kPageFlagBits);
  } else if (is_flat(view)) {
    const u32 flat = flat_unit(view, team, update.page) << kPageFlagBits;
    if (fills && present) {
      u64* to = (u64*)memory.locate(flat, 0);
      for (u32 granule = 0; granule < kPageSize / 8; granule++) to[granule] = 0;
    }
    lane_permissions(view, team, update.page, 0)[thread] = (u8)update.wanted;
    next = update.agree && leader == 0 ? 0 : flat | (update.agree ? leader & 7 : (u32)kPageDiffer);
  } else if (update.changes_permissions_alone()) {
    next = leader == 0 ? entry : (entry & ~(u32)(7 | kPageDiffer)) | (leader & 7);
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
    note_entry(view, team, next);
  }
  return true;
}

}  // namespace myriarm::cuda
