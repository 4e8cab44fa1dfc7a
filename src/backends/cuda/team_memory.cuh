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
  u32 team = (u32)(lane / kTeam);
  u32 entry = page < memory.page_count ? entry_of_lane(view, team, page, memory.table[page], memory.lane_in_team) : 0;
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
  if (entry & (kPageShared | kPageCode)) return {0, address, SlowOutcome::copy};
  if (second_entry & (kPageShared | kPageCode)) return {0, address + first, SlowOutcome::copy};
  for (u32 i = 0; i < size; i++) {
    u32 offset = (u32)(address + i) & (kPageSize - 1);
    u8 byte = (u8)(i < 8 ? low >> (8 * i) : high >> (8 * (i - 8)));
    *(volatile u8*)memory.locate(i < first ? entry : second_entry, offset) = byte;
  }
  return {0, 0, SlowOutcome::done};
}

static __device__ inline u32& holders_of(const View& view, u32 unit) {
  return view.frame_holders[(unit - view.pool->first) / view.frame_units];
}

/// A frame for a team with one holder, 0 if the pool is spent. One thread.
static __device__ __noinline__ u32 allocate_frame(const View& view) {
  Pool* pool = view.pool;
  u32 count = *(volatile u32*)&pool->free_count;
  u32 unit = 0;
  while (count != 0 && unit == 0) {
    u32 seen = atomicCAS(&pool->free_count, count, count - 1);
    if (seen == count) unit = view.free_frames[count - 1];
    count = seen;
  }
  if (unit == 0) {
    // Thousands of teams ask at once: an addition, which never has to be tried again.
    if (*(volatile u32*)&pool->next + view.frame_units > pool->end) return 0;
    unit = atomicAdd(&pool->next, view.frame_units);
    if (unit + view.frame_units > pool->end) return 0;
  }
  holders_of(view, unit) = 1;
  return unit;
}

/// Takes a holder from a frame, and frees it with the last. Only in launches that take no frame.
static __device__ inline void release_frame(const View& view, u32 unit) {
  if (atomicSub(&holders_of(view, unit), 1) == 1) view.free_frames[atomicAdd(&view.pool->free_count, 1)] = unit;
}

/// Fills a lane's column of a new frame from where its page lies: `step` granules from one granule to the next.
static __device__ inline void copy_column(const PagedMemory<kTeam>& memory, const u64* from, u32 step, u32 to_frame) {
  if (memory.lane_in_team >= memory.granule_step) return;  // a frame of a small fleet has no such column
  u64* to = (u64*)(memory.frames + ((u64)to_frame << kPageBits)) + memory.lane_in_team;
#pragma unroll 8
  for (u32 granule = 0; granule < kPageSize / 8; granule++) to[granule * memory.granule_step] = from[granule * step];
}
/// The same from the page of an entry of the lane.
static __device__ inline void copy_column(const PagedMemory<kTeam>& memory, u32 from_entry, u32 to_frame) {
  const bool shared = (from_entry & kPageShared) != 0;
  // A thread without a column copies nothing, but computes an address.
  copy_column(memory, (const u64*)memory.locate(from_entry, 0), shared ? 1 : memory.granule_step, to_frame);
}

static __device__ inline void touch(const View& view, u32 team, u64 page) {
  atomicOr((unsigned long long*)&view.touched[team], 1ull << (page >> view.slice_shift));
}

/// The entry that the program of a team begins with.
static __device__ inline u32 base_entry(const View& view, u32 team, u64 page) {
  return view.base_tables[view.team_program[team] * view.page_count + page];
}
/// Whether a page has predecoded words. A team that writes to such a page, or whose page changes, no longer runs them;
/// what is executed elsewhere is decoded as it runs anyway.
static __device__ inline bool is_predecoded(const View& view, u32 team, u64 page) {
  return (base_entry(view, team, page) & kPageCode) != 0;
}

/// An entry of a page that the team itself holds, alone or with a snapshot.
static __device__ inline bool has_frame(const View& view, u32 entry) {
  return entry != 0 && !(entry & kPageShared) && !is_flat(view);
}

/// Gives a team a frame of its own with what another page holds: all threads of `members`, lane 0 among them, together.
/// The permissions by lane come along. 0 if the pool is spent.
static __device__ inline u32 copy_to_new_frame(const View& view, u32 team, const PagedMemory<kTeam>& memory,
                                               u32 members, u64 page, u32 entry) {
  u32 frame = memory.lane_in_team == 0 ? allocate_frame(view) : 0;
  frame = __shfl_sync(members, frame, 0);
  if (frame == 0) return 0;
  copy_column(memory, entry, frame);
  if (entry & kPageDiffer) {
    lane_permissions(view, team, page, frame << kPageFlagBits)[memory.lane_in_team] =
        lane_permissions(view, team, page, entry)[memory.lane_in_team];
  }
  return frame;
}

enum class CopyOutcome : u8 { copied, copied_code, out_of_memory };

/// Lets a team store to a page: copies it if others hold it too. The threads of `members`, lane 0 among them, together.
static __device__ __noinline__ CopyOutcome make_page_writable(const View& view, u32 team, u32 lane_in_team, u32 members,
                                                              u64 page) {
  PagedMemory<kTeam> memory = memory_of(view, team, lane_in_team);
  const u32 entry = *(volatile u32*)&memory.table[page];
  if (!(entry & (kPageShared | kPageCode))) return CopyOutcome::copied;  // another lane's wish has just brought it
  const bool code = is_predecoded(view, team, page) && (entry & kPageCode);
  u32 next = entry & ~(u32)(kPageShared | kPageCode);
  const bool alone = is_flat(view) || (!(entry & kPageShared) && holders_of(view, entry >> kPageFlagBits) == 1);
  if (!alone) {
    const u32 frame = copy_to_new_frame(view, team, memory, members, page, entry);
    if (frame == 0) return CopyOutcome::out_of_memory;
    next = frame << kPageFlagBits | (next & kPageFlagMask);
    __syncwarp(members);
    // The other holder keeps it: nothing is freed while guests run.
    if (lane_in_team == 0 && !(entry & kPageShared)) atomicSub(&holders_of(view, entry >> kPageFlagBits), 1);
  }
  __syncwarp(members);
  if (lane_in_team == 0) {
    memory.table[page] = next;
    touch(view, team, page);
    if (code) view.own_code[team] = 1;
  }
  __syncwarp(members);
  return code ? CopyOutcome::copied_code : CopyOutcome::copied;
}

}  // namespace myriarm::cuda
