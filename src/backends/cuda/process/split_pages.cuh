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
  bool same = true;
  for (u32 part = 0; part < 2; part++) {
    same &= a.parts[part].shift == b.parts[part].shift;
    for (u32 bit = 0; bit < kValueBits; bit++) same &= a.parts[part].values[bit] == b.parts[part].values[bit];
  }
  return same;
}
/// Gives the parts their order, and empty ones the words of an empty one.
MYR_FN void put_in_order(Split& split) {
  SplitPart &first = split.parts[0], &second = split.parts[1];
  for (SplitPart& part : split.parts) {
    if (part.values[kMappedBit] == 0) part = {};
  }
  const bool only_second = first.values[kMappedBit] == 0, both = !only_second && second.values[kMappedBit] != 0;
  if (!only_second && !(both && second.shift < first.shift)) return;
  const SplitPart other = first;
  first = second;
  second = other;
}
/// Lanes get pages with this shift and this value; they have no others. False: lanes have pages of two other files.
MYR_FN bool add_lanes(Split& split, u32 lanes, u32 shift, u32 value) {
  SplitPart &first = split.parts[0], &second = split.parts[1];
  const bool is_first = first.values[kMappedBit] == 0 || first.shift == shift;
  SplitPart& part = is_first ? first : second;
  if (!is_first && second.values[kMappedBit] != 0 && second.shift != shift) return false;
  part.shift = shift;
  for (u32 bit = 0; bit < kValueBits; bit++) part.values[bit] |= value >> bit & 1 ? lanes : 0;
  put_in_order(split);
  return true;
}

/// What the lanes that are present have of a page without a frame.
static __device__ inline Split lanes_have(const View& view, const TeamLanes& lanes, u64 page, u32 entry) {
  Split have = {};
  if (is_split(entry)) {
    const volatile Split& split = splits_of(view, lanes.team)[entry >> kPageFlagBits];
    for (u32 part = 0; part < 2; part++) {
      have.parts[part].shift = split.parts[part].shift;
      for (u32 bit = 0; bit < kValueBits; bit++)
        have.parts[part].values[bit] = split.parts[part].values[bit] & lanes.present;
    }
    put_in_order(have);
  } else if (entry != 0) {
    add_lanes(have, lanes.present, shift_to(entry >> kPageFlagBits, page), lane_value(entry));
  }
  return have;
}
/// The entry of such a page if all lanes that are present have the same of it; false: a split is needed.
static __device__ inline bool is_same_for_all(const TeamLanes& lanes, u64 page, const Split& have, u32& entry) {
  entry = 0;
  if (is_free(have)) return true;
  const SplitPart& part = have.parts[0];
  u32 value = 0;
  for (u32 bit = 0; bit < kValueBits; bit++) {
    if (part.values[bit] != 0 && part.values[bit] != lanes.present) return false;
    value |= (u32)(part.values[bit] != 0) << bit;
  }
  const u32 unit = part.shift == kZeroPages ? kZeroUnit : (part.shift + (u32)page) & kUnitMask;
  entry = unit << kPageFlagBits | kPageShared | (value & kPagePermissions);
  return true;
}

static __device__ inline void make_free(volatile Split& split) {
  for (u32 part = 0; part < 2; part++) split.parts[part].values[kMappedBit] = 0;
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
    const bool exists = index < kSplits;
    bool is_wanted = exists;
    for (u32 part = 0; part < 2 && is_wanted; part++) {
      is_wanted = splits[index].parts[part].shift == wanted.parts[part].shift;
      for (u32 bit = 0; bit < kValueBits && is_wanted; bit++)
        is_wanted = splits[index].parts[part].values[bit] == wanted.parts[part].values[bit];
    }
    const u32 found = __ballot_sync(lanes.threads, is_wanted);
    const u32 empty = __ballot_sync(lanes.threads, exists && is_free(splits[index]));
    if (found != 0) return begin + (u32)__ffs(found) - 1;
    if (free == kNoSplit && empty != 0) free = begin + (u32)__ffs(empty) - 1;
  }
  if (free != kNoSplit) {
    if (thread == 0) {
      for (u32 part = 0; part < 2; part++) {
        splits[free].parts[part].shift = wanted.parts[part].shift;
        for (u32 bit = 0; bit < kValueBits; bit++)
          splits[free].parts[part].values[bit] = wanted.parts[part].values[bit];
      }
    }
    split_words(view, lanes.team)[free * kSplitLanes + thread] = own_word(wanted, thread);
  }
  __syncwarp(lanes.threads);
  return free;
}
/// The entry of a page that lanes have in different ways. `own`: its entry for the thread's lane, 0 if it has none. 0: there is no split
/// for it, or a lane has it in a frame, or they have it from more than two files. All threads of `lanes` call it.
static __device__ inline u32 split_page(const View& view, const TeamLanes& lanes, u64 page, u32 own) {
  if (page >= view.guest_pages) return 0;
  const bool has = (lanes.present >> threadIdx.x % kTeam & 1) && own != 0;
  if (__any_sync(lanes.threads, has && !(own & kPageShared))) return 0;
  const u32 unit = own >> kPageFlagBits;
  Split have = {};
  u32 rest = __ballot_sync(lanes.threads, has);
  for (SplitPart& part : have.parts) {
    if (rest == 0) break;
    const u32 of_part = __shfl_sync(lanes.threads, unit, __ffs(rest) - 1);
    part.shift = shift_to(of_part, page);
    for (u32 bit = 0; bit < kValueBits; bit++)
      part.values[bit] = __ballot_sync(lanes.threads, has && unit == of_part && (lane_value(own) >> bit & 1));
    rest &= ~part.values[kMappedBit];
  }
  if (rest != 0) return 0;
  put_in_order(have);
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
    count += (u32)__popc(__ballot_sync(lanes.threads, index < kSplits && is_free(splits[index])));
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
      if (!(all >> i & 1)) make_free(splits[word * 32 + i]);
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
    for (u32 rest = __ballot_sync(members, mine < kSplits && !is_free(splits[mine])); rest != 0; rest &= rest - 1) {
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
  for (u32 i = thread; i < kSplits; i += (u32)__popc(members)) make_free(splits_of(view, table)[i]);
  __syncwarp(members);
}

}  // namespace myriarm::cuda
