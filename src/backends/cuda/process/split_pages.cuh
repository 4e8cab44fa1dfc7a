// SPDX-License-Identifier: Apache-2.0
// How a warp finds and makes splits of a table: split_pages.h. Only the warp of the table's team changes them, in a launch that runs guests.
#pragma once

#include "backends/cuda/process/table_pages.cuh"

namespace myriarm::cuda {

/// Whether all lanes that have a page have the same shared one. `own`: the entry of the page for the thread's lane, 0 if it has none.
/// `unit`: that page; 0: no lane has it. All threads of `lanes` call it.
static __device__ inline bool is_one_page(const TeamLanes& lanes, u32 own, u32& unit) {
  const bool has = (lanes.present >> threadIdx.x % kTeam & 1) && own != 0;
  const u32 having = __ballot_sync(lanes.threads, has);
  unit = having == 0 ? 0 : __shfl_sync(lanes.threads, own, __ffs(having) - 1) >> kPageFlagBits;
  return __all_sync(lanes.threads, !has || ((own & kPageShared) && own >> kPageFlagBits == unit));
}

/// Split::shift for this unit of this page.
MYR_FN u32 shift_to(u32 unit, u64 page) { return unit == kZeroUnit ? kZeroPages : (unit - (u32)page) & kUnitMask; }
MYR_FN bool operator==(const Split& a, const Split& b) {
  bool same = a.shift == b.shift;
  for (u32 bit = 0; bit < kValueBits; bit++) same &= a.values[bit] == b.values[bit];
  return same;
}

/// What the lanes that are present have of a page without a frame.
static __device__ inline Split lanes_have(const View& view, const TeamLanes& lanes, u64 page, u32 entry) {
  Split have = {};
  if (is_split(entry)) {
    const volatile Split& split = splits_of(view, lanes.team)[entry >> kPageFlagBits];
    have.shift = split.shift;
    for (u32 bit = 0; bit < kValueBits; bit++) have.values[bit] = split.values[bit] & lanes.present;
  } else if (entry != 0) {
    have.shift = shift_to(entry >> kPageFlagBits, page);
    for (u32 bit = 0; bit < kValueBits; bit++) have.values[bit] = lane_value(entry) >> bit & 1 ? lanes.present : 0;
  }
  return have;
}
/// The entry of such a page if all lanes that are present have the same of it; false: a split is needed.
static __device__ inline bool is_same_for_all(const TeamLanes& lanes, u64 page, const Split& have, u32& entry) {
  entry = 0;
  if (have.values[kMappedBit] == 0) return true;
  u32 value = 0;
  for (u32 bit = 0; bit < kValueBits; bit++) {
    if (have.values[bit] != 0 && have.values[bit] != lanes.present) return false;
    value |= (u32)(have.values[bit] != 0) << bit;
  }
  const u32 unit = have.shift == kZeroPages ? kZeroUnit : (have.shift + (u32)page) & kUnitMask;
  entry = unit << kPageFlagBits | kPageShared | (value & kPagePermissions);
  return true;
}

/// The number of the table's split with which lanes have these pages, the same for all threads. It is made if there is none; kNoSplit:
/// no split is free. All threads of `lanes` call it.
static __device__ __noinline__ u32 find_split(const View& view, const TeamLanes& lanes, const Split& wanted) {
  const u32 thread = threadIdx.x % kTeam, width = (u32)__popc(lanes.threads);
  if (view.processes.splits == nullptr) return kNoSplit;
  volatile Split* const splits = splits_of(view, lanes.team);
  u32 free = kNoSplit;
  for (u32 begin = 0; begin < kSplits; begin += width) {
    const u32 index = begin + thread;
    const bool exists = index < kSplits, is_free = exists && splits[index].values[kMappedBit] == 0;
    bool is_wanted = exists && splits[index].shift == wanted.shift;
    for (u32 bit = 0; bit < kValueBits && is_wanted; bit++) is_wanted = splits[index].values[bit] == wanted.values[bit];
    const u32 found = __ballot_sync(lanes.threads, is_wanted), empty = __ballot_sync(lanes.threads, is_free);
    if (found != 0) return begin + (u32)__ffs(found) - 1;
    if (free == kNoSplit && empty != 0) free = begin + (u32)__ffs(empty) - 1;
  }
  if (free != kNoSplit) {
    if (thread == 0) {
      splits[free].shift = wanted.shift;
      for (u32 bit = 0; bit < kValueBits; bit++) splits[free].values[bit] = wanted.values[bit];
    }
    split_words(view, lanes.team)[free * kSplitLanes + thread] = own_word(wanted, thread);
  }
  __syncwarp(lanes.threads);
  return free;
}
/// The entry of a page that lanes have from one unit, each with its own `value`, a lane_value(); 0: there is no split for it. All
/// threads of `lanes` call it.
static __device__ inline u32 split_page(const View& view, const TeamLanes& lanes, u64 page, u32 unit, u32 value) {
  if (page >= view.guest_pages) return 0;
  const bool present = lanes.present >> threadIdx.x % kTeam & 1;
  Split have;
  have.shift = shift_to(unit, page);
  for (u32 bit = 0; bit < kValueBits; bit++)
    have.values[bit] = __ballot_sync(lanes.threads, present && (value >> bit & 1));
  const u32 split = find_split(view, lanes, have);
  return split == kNoSplit ? 0 : split << kPageFlagBits | kPageShared | kPageDiffer;
}

/// Makes splits free that no entry of the table names, if few are free. To be called before a change, which then keeps those that it
/// makes. All threads of `lanes` call it.
static __device__ __noinline__ void free_splits(const View& view, const TeamLanes& lanes) {
  constexpr u32 kFew = kSplits / 8;
  const u32 thread = threadIdx.x % kTeam, width = (u32)__popc(lanes.threads);
  if (view.processes.splits == nullptr) return;
  volatile Split* const splits = splits_of(view, lanes.team);
  u32 count = 0;
  for (u32 begin = 0; begin < kSplits && count < kFew; begin += width) {
    const u32 index = begin + thread;
    count += (u32)__popc(__ballot_sync(lanes.threads, index < kSplits && splits[index].values[kMappedBit] == 0));
  }
  if (count >= kFew) return;
  u32 used[kSplits / 32] = {};
  const PagedMemory<kTeam> memory = memory_of(view, lanes.team, thread);
  visit_pages(view, lanes.threads, used_slices(view, lanes.team), 0, view.guest_pages, [&](u64 page, bool exists) {
    const u32 entry = exists ? *(volatile u32*)memory.entry_place(page) : 0;
    if (is_split(entry)) used[(entry >> kPageFlagBits) / 32] |= (u32)1 << (entry >> kPageFlagBits) % 32;
  });
  __syncwarp(lanes.threads);
  for (u32 word = 0; word < kSplits / 32; word++) {
    u32 all = 0;
    for (u32 rest = lanes.threads; rest != 0; rest &= rest - 1)
      all |= __shfl_sync(lanes.threads, used[word], __ffs(rest) - 1);
    for (u32 i = thread; i < 32; i += width) {
      if (!(all >> i & 1)) splits[word * 32 + i].values[kMappedBit] = 0;
    }
  }
  __syncwarp(lanes.threads);
}

/// A table's splits become those of another one, to which its entries go. All members call it.
static __device__ inline void copy_splits(const View& view, u32 members, const Split* from, u32 to) {
  if (view.processes.splits == nullptr) return;
  const u32* const words = (const u32*)from;
  u32* const copies = (u32*)splits_of(view, to);
  constexpr u32 kWords = kSplits * sizeof(Split) / sizeof(u32);
  const u32 thread = threadIdx.x % kTeam, width = (u32)__popc(members);
  for (u32 i = thread; i < kWords; i += width) copies[i] = *(const volatile u32*)&words[i];
  __syncwarp(members);
  const volatile Split* const splits = splits_of(view, to);
  for (u32 begin = 0; begin < kSplits; begin += width) {
    const u32 mine = begin + thread;
    for (u32 rest = __ballot_sync(members, mine < kSplits && splits[mine].values[kMappedBit] != 0); rest != 0;
         rest &= rest - 1) {
      const u32 index = begin + (u32)__ffs(rest) - 1;
      split_words(view, to)[index * kSplitLanes + thread] = own_word(splits[index], thread);
    }
  }
  __syncwarp(members);
}
/// The same of a table of which no entry is left.
static __device__ inline void clear_splits(const View& view, u32 members, u32 table) {
  if (view.processes.splits == nullptr) return;
  const u32 thread = threadIdx.x % kTeam;
  for (u32 i = thread; i < kSplits; i += (u32)__popc(members)) splits_of(view, table)[i].values[kMappedBit] = 0;
  __syncwarp(members);
}

}  // namespace myriarm::cuda
