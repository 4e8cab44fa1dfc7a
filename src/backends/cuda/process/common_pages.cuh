// SPDX-License-Identifier: Apache-2.0
// How a page of a team becomes one of the fleet: common_pages.h.
#pragma once

#include "backends/cuda/page_updates.cuh"
#include "backends/cuda/process/common_pages.h"

namespace myriarm::cuda {

constexpr u32 kPageGranules = kPageSize / 8;

/// A hash of the page that this entry names, if all lanes that are present have the same bytes there; 0: they have not. All threads of
/// `lanes` call it.
static __device__ inline u64 common_hash(const TeamLanes& lanes, const PagedMemory<kTeam>& memory, u32 entry) {
  constexpr u32 kAtOnce = 32;
  const u32 thread = threadIdx.x % kTeam;
  const int leader = __ffs(lanes.present) - 1;
  const bool here = lanes.present >> thread & 1;
  u64 hash = 0x9E3779B97F4A7C15;
  for (u32 first = 0; first < kPageGranules; first += kAtOnce) {
    bool differs = false;
    for (u32 i = first; i < first + kAtOnce; i++) {
      const u64 own = here ? *(const u64*)memory.locate(entry, 8 * i) : 0;
      const u64 leading = __shfl_sync(lanes.threads, own, leader);
      differs |= here && own != leading;
      hash = (hash ^ leading) * 0xD6E8FEB86659FD93;
      hash ^= hash >> 32;
    }
    if (__any_sync(lanes.threads, differs)) return 0;
  }
  return hash | kCommonStates;
}

/// Whether a page of the fleet has the bytes of the team's page, one granule for each thread at a time.
static __device__ inline bool has_bytes(const TeamLanes& lanes, const u64* page, const u64* own, u32 own_step) {
  bool differs = false;
  for (u32 i = threadIdx.x % kTeam; i < kPageGranules; i += (u32)__popc(lanes.threads)) {
    differs |= *(const volatile u64*)&page[i] != own[i * own_step];
  }
  return !__any_sync(lanes.threads, differs);
}

/// Finds the page of the fleet with the bytes that all lanes have in their page, or makes it. Returns its unit; 0: there is none.
static __device__ inline u32 find_common_page(const View& view, const TeamLanes& lanes, u32 entry, u64 hash) {
  constexpr u32 kProbes = 16, kPatience = 1u << 14;
  const u32 thread = threadIdx.x % kTeam, first_unit = view.pool->first - kCommonUnits;
  CommonPage* const table = (CommonPage*)(view.frames + ((u64)first_unit << kPageBits));
  const u64 filling = (hash & ~(u64)kCommonStates) | kFilling, filled = (hash & ~(u64)kCommonStates) | kFilled;
  const PagedMemory<kTeam> leading = memory_of(view, lanes.team, (u32)__ffs(lanes.present) - 1);
  const u64* const own = (const u64*)leading.locate(entry, 0);
  for (u32 probe = 0; probe < kProbes; probe++) {
    const u32 slot = ((u32)(hash >> 8) + probe) % kCommonPages;
    const u32 unit = first_unit + kCommonTableUnits + slot;
    u64* const page = (u64*)(view.frames + ((u64)unit << kPageBits));
    u64 state = 0;
    if (thread == 0) {
      state = *(volatile CommonPage*)&table[slot];
      if (state == 0) state = atomicCAS((unsigned long long*)&table[slot], 0ull, (unsigned long long)filling);
      // Another team fills it, which runs: the page is there in a moment.
      for (u32 i = 0; i < kPatience && state == filling; i++) state = *(volatile CommonPage*)&table[slot];
      __threadfence();  // what has filled the page comes before what looks at it
    }
    state = __shfl_sync(lanes.threads, state, 0);
    if (state == 0) {
      for (u32 i = thread; i < kPageGranules; i += (u32)__popc(lanes.threads)) page[i] = own[i * view.granule_step];
      __syncwarp(lanes.threads);
      if (thread == 0) {
        __threadfence();  // also what the other threads have written before they met this one
        *(volatile CommonPage*)&table[slot] = filled;
      }
      return unit;
    }
    if (state == filling) return 0;  // the team keeps its frame: a second copy would stay as long as the fleet
    if (state != filled) continue;
    __syncwarp(lanes.threads);
    if (has_bytes(lanes, page, own, view.granule_step)) return unit;
  }
  return 0;
}

/// Whether a page with this entry has a frame, and lanes may only read it.
static __device__ inline bool may_be_common(const View& view, u32 entry) {
  constexpr u32 kFlags = kPagePermissions | kPageDiffer | kPageCode;
  return has_frame(view, entry) && (entry & kFlags) == kPageReadable;
}

/// Lets such a page be one of the fleet, if all lanes that are present have the same bytes there. All threads of
/// `lanes` call it. `give_back(frame)` takes the table's hold from a frame.
template <class GiveBack>
static __device__ __noinline__ void make_page_common(const View& view, const TeamLanes& lanes, u64 page,
                                                     GiveBack give_back) {
  const PagedMemory<kTeam> memory = memory_of(view, lanes.team, threadIdx.x % kTeam);
  const u32 entry = *(volatile u32*)memory.entry_place(page);
  const u64 hash = common_hash(lanes, memory, entry);
  const u32 unit = hash == 0 ? 0 : find_common_page(view, lanes, entry, hash);
  if (unit == 0) return;
  if (threadIdx.x % kTeam == 0) {
    *memory.entry_place(page) = unit << kPageFlagBits | kPageShared | kPageReadable;
    give_back(entry >> kPageFlagBits);
  }
  __syncwarp(lanes.threads);
}

}  // namespace myriarm::cuda
