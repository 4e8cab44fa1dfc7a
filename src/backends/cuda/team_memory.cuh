// SPDX-License-Identifier: Apache-2.0
// The slow paths of guest memory on the device: accesses that cross granules or pages, permissions that differ by
// lane, faults, and the copy of a shared page. Out of line, since they are rare.
#pragma once

#include "backends/cuda/view.h"

namespace myriarm::cuda {

enum class SlowOutcome : u8 { done, fault, copy };
struct SlowResult {
  u64 value;
  u64 address;  // copy: in the page that must be copied
  SlowOutcome outcome;
};

/// The instruction word at an offset of the window that holds code.
static __device__ __noinline__ u32 fetch_word(const View& view, u32 team, u32 lane_in_team, u32 at) {
  PagedMemory<kTeam> memory = memory_of(view, team, lane_in_team);
  return *(const volatile u32*)memory.locate(memory.table[at >> kPageBits], at & (kPageSize - 1));
}

/// The entry for an access to one byte; on a fault, records it and gives 0.
static __device__ inline u32 checked_entry(const View& view, const PagedMemory<kTeam>& memory, u64 lane, u64 address,
                                           Access access) {
  u64 page = memory.page_of(address);
  u32 entry = page < memory.page_count ? entry_of_lane(memory, memory.table[page]) : 0;
  FaultCode fault = permission_fault(entry, access);
  if (fault == FaultCode::none) return entry;
  view.stops[lane] = {StopCode::fault, fault, 0, 0, address << 8 >> 8};
  return 0;
}

/// Bytes of `address` that lie in its page, at most `size`.
static __device__ inline u32 in_page(u64 address, u32 size) {
  u32 room = kPageSize - ((u32)address & (kPageSize - 1));
  return size < room ? size : room;
}

static __device__ __noinline__ SlowResult team_load(const View& view, u32 team, u64 lane, u64 address, u32 size) {
  PagedMemory<kTeam> memory = memory_of(view, team, (u32)(lane % kTeam));
  u32 first = in_page(address, size);
  u32 entry = checked_entry(view, memory, lane, address, Access::read);
  if (entry == 0) return {0, 0, SlowOutcome::fault};
  u32 second_entry = entry;
  if (first < size) {
    second_entry = checked_entry(view, memory, lane, address + first, Access::read);
    if (second_entry == 0) return {0, 0, SlowOutcome::fault};
  }
  u64 value = 0;
  for (u32 i = 0; i < size; i++) {
    u32 offset = (u32)(address + i) & (kPageSize - 1);
    value |= (u64) * (const volatile u8*)memory.locate(i < first ? entry : second_entry, offset) << (8 * i);
  }
  return {value, 0, SlowOutcome::done};
}

/// Stores `size` bytes, up to 16: `low`, then `high`.
static __device__ __noinline__ SlowResult team_store(const View& view, u32 team, u64 lane, u64 address, u64 low,
                                                     u64 high, u32 size) {
  PagedMemory<kTeam> memory = memory_of(view, team, (u32)(lane % kTeam));
  u32 first = in_page(address, size);
  u32 entry = checked_entry(view, memory, lane, address, Access::write);
  if (entry == 0) return {0, 0, SlowOutcome::fault};
  u32 second_entry = entry;
  if (first < size) {
    second_entry = checked_entry(view, memory, lane, address + first, Access::write);
    if (second_entry == 0) return {0, 0, SlowOutcome::fault};
  }
  if (entry & kPageShared) return {0, address, SlowOutcome::copy};
  if (second_entry & kPageShared) return {0, address + first, SlowOutcome::copy};
  for (u32 i = 0; i < size; i++) {
    u32 offset = (u32)(address + i) & (kPageSize - 1);
    u8 byte = (u8)(i < 8 ? low >> (8 * i) : high >> (8 * (i - 8)));
    *(volatile u8*)memory.locate(i < first ? entry : second_entry, offset) = byte;
  }
  return {0, 0, SlowOutcome::done};
}

/// A frame for a team, 0 if the pool is spent. One thread.
static __device__ inline u32 allocate_frame(const View& view) {
  Pool* pool = view.pool;
  u32 count = *(volatile u32*)&pool->free_count;
  while (count != 0) {
    u32 seen = atomicCAS(&pool->free_count, count, count - 1);
    if (seen == count) return view.free_frames[count - 1];
    count = seen;
  }
  // Thousands of teams ask at once: an addition, which never has to be tried again.
  if (*(volatile u32*)&pool->next + kFrameUnits > pool->end) return 0;
  u32 unit = atomicAdd(&pool->next, kFrameUnits);
  return unit + kFrameUnits <= pool->end ? unit : 0;
}

/// Fills a lane's column of a new frame from the page's old one.
static __device__ inline void copy_column(const PagedMemory<kTeam>& memory, u32 from_entry, u32 to_frame) {
  u64* to = (u64*)(memory.frames + ((u64)to_frame << kPageBits)) + memory.lane_in_team;
  const u32 step = (from_entry & kPageShared) ? 1 : kTeam;
  const u64* from = (const u64*)memory.locate(from_entry, 0);
#pragma unroll 8
  for (u32 granule = 0; granule < kPageSize / 8; granule++) to[granule * kTeam] = from[granule * step];
}

/// Whether a page has predecoded words. A team that writes to such a page, or whose page changes, no longer runs them;
/// what is executed elsewhere is decoded as it runs anyway.
static __device__ inline bool is_predecoded(const View& view, u64 page) {
  return (page << kPageBits) - view.code_begin < (u64)view.code_words * 4;
}

enum class CopyOutcome : u8 { copied, copied_code, out_of_memory };

/// Gives a team its own copy of a shared page. The threads of `members`, lane 0 among them, together.
static __device__ __noinline__ CopyOutcome copy_team_page(const View& view, u32 team, u32 lane_in_team, u32 members,
                                                          u64 page) {
  PagedMemory<kTeam> memory = memory_of(view, team, lane_in_team);
  u32 entry = memory.table[page];
  if (!(entry & kPageShared)) return CopyOutcome::copied;  // another lane's wish has just brought it
  u32 frame = lane_in_team == 0 ? allocate_frame(view) : 0;
  frame = __shfl_sync(members, frame, 0);
  if (frame == 0) return CopyOutcome::out_of_memory;
  copy_column(memory, entry, frame);
  bool code = is_predecoded(view, page);
  __syncwarp(members);
  if (lane_in_team == 0) {
    memory.table[page] = frame << kPageFlagBits | (entry & kPageFlagMask & ~(u32)kPageShared);
    if (code) view.own_code[team] = 1;
  }
  __syncwarp(members);
  return code ? CopyOutcome::copied_code : CopyOutcome::copied;
}

}  // namespace myriarm::cuda
