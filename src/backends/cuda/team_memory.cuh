// SPDX-License-Identifier: Apache-2.0
// The slow paths of guest memory on the device: accesses that cross granules or pages, permissions that differ by
// lane, faults, and the copy of a shared page. Out of line, since they are rare.
#pragma once

#include "backends/cuda/device_words.cuh"
#include "backends/cuda/view.h"
#include "core/slow_access.h"

namespace myriarm::cuda {

enum class SlowOutcome : u8 { done, fault, copy };
struct SlowResult {
  u64 value;
  u64 address;  // for `copy`: an address in the page that must be copied
  SlowOutcome outcome;
};

/// SlowMemory of core/slow_access.h, for one lane. All lanes of a team copy a page together, once the team has come
/// together. So a store to a shared page is abandoned here, and runs again after the copy.
struct TeamMemory {
  const View& view;
  u32 lane;
  u32 table;
  PagedMemory<kTeam> paged;
  SlowOutcome outcome = SlowOutcome::done;
  u64 copy_address = 0;

  __device__ TeamMemory(const View& v, u32 of_lane)
      : view(v), lane(of_lane), table(guest_table(v, of_lane)), paged(memory_of(v, table, place_of(of_lane))) {}
  MYR_FN u64 page_of(u64 address) const { return paged.page_of(address); }
  MYR_FN u64 page_count() const { return view.guest_pages; }
  MYR_FN u32 entry(u64 page) const { return entry_of_lane(view, table, page, paged.entry(page), paged.lane_in_team); }
  MYR_FN u8* locate(u32 entry, u32 offset) const { return paged.locate(entry, offset); }
  MYR_FN bool refuse(FaultCode fault, u64 address) {
    view.stops[lane] = fault_record(fault, address);
    outcome = SlowOutcome::fault;
    return false;
  }
  MYR_FN bool make_writable(u64 address, u32&) {
    copy_address = address;
    outcome = SlowOutcome::copy;
    return false;
  }
  MYR_FN void code_written(u64, u32) {}  // make_page_writable() has called code_page_changes()
};
static_assert(SlowMemory<TeamMemory>);

static __device__ __noinline__ SlowResult team_load(const View& view, u32 lane, u64 address, u32 size) {
  TeamMemory memory(view, lane);
  const SlowLoad loaded = load_slowly(memory, address, size);
  return {loaded.value, 0, memory.outcome};
}

/// As store_slowly(): up to 16 bytes.
static __device__ __noinline__ SlowResult team_store(const View& view, u32 lane, u64 address, u64 low, u64 high,
                                                     u32 size) {
  TeamMemory memory(view, lane);
  store_slowly(memory, address, low, high, size);
  return {0, memory.copy_address, memory.outcome};
}

/// The word at `pc`, from which an instruction was fetched: permissions are not checked again.
static __device__ __noinline__ u32 fetched_word(const View& view, u32 lane, u64 pc) {
  const TeamMemory memory(view, lane);
  return read_once<u32>(memory.locate(memory.entry(memory.page_of(pc)), (u32)pc & (kPageSize - 1)));
}

static __device__ inline u32& holders_of(const View& view, u32 unit) {
  return view.frame_holders[(unit - view.pool->first) / view.frame_units];
}

static __device__ inline u32& next_of_given_up(const View& view, u32 unit) {
  return *(u32*)(view.frames + ((u64)unit << kPageBits));
}

/// Allocates a frame with one holder for a team; returns 0 if the pool is spent. One thread calls it.
static __device__ __noinline__ u32 allocate_frame(const View& view, u32 team) {
  u32 unit = view.team_frames[team];
  if (unit != 0) view.team_frames[team] = next_of_given_up(view, unit);
  Pool* pool = view.pool;
  u32 count = *(volatile u32*)&pool->free_count;
  while (count != 0 && unit == 0) {
    u32 seen = atomicCAS(&pool->free_count, count, count - 1);
    if (seen == count) unit = view.free_frames[count - 1];
    count = seen;
  }
  if (unit == 0) {
    // Thousands of teams may allocate at once: an atomic addition never has to be tried again.
    if (*(volatile u32*)&pool->next + view.frame_units > pool->end) return 0;
    unit = atomicAdd(&pool->next, view.frame_units);
    if (unit + view.frame_units > pool->end) return 0;
  }
  holders_of(view, unit) = 1;
  return unit;
}

/// Takes one holder from a frame, and frees the frame if that was the last. Only for launches that allocate no frame.
static __device__ inline void release_frame(const View& view, u32 unit) {
  if (atomicSub(&holders_of(view, unit), 1) == 1) view.free_frames[atomicAdd(&view.pool->free_count, 1)] = unit;
}
/// The same for a launch that runs guests: the team takes its next frames from those that it has given up, and after the
/// launch the host frees the rest. The first thread of the team's warp calls it.
static __device__ inline void give_up_frame(const View& view, u32 team, u32 unit) {
  if (atomicSub(&holders_of(view, unit), 1) != 1) return;
  next_of_given_up(view, unit) = view.team_frames[team];
  view.team_frames[team] = unit;
}

/// Copies a page to a lane's column of a new frame. `from` is its first granule; the others follow `step` granules
/// apart.
static __device__ inline void copy_column(const PagedMemory<kTeam>& memory, const u64* from, u32 step, u32 to_frame) {
  if (memory.lane_in_team >= memory.granule_step) return;  // a frame of a small fleet has no such column
  u64* to = (u64*)(memory.frames + ((u64)to_frame << kPageBits)) + memory.lane_in_team;
#pragma unroll 8
  for (u32 granule = 0; granule < kPageSize / 8; granule++) to[granule * memory.granule_step] = from[granule * step];
}
/// The same, from the lane's page with this entry.
static __device__ inline void copy_column(const PagedMemory<kTeam>& memory, u32 from_entry, u32 to_frame) {
  const bool shared = (from_entry & kPageShared) != 0;
  // A thread without a column copies nothing, but it computes the address.
  copy_column(memory, (const u64*)memory.locate(from_entry, 0), shared ? 1 : memory.granule_step, to_frame);
}

static __device__ inline void touch(const View& view, u32 team, u64 page) {
  atomicOr((unsigned long long*)&view.touched[team], view.slices.bit(page));
}

/// The entry that the team's program starts with.
static __device__ inline u32 base_entry(const View& view, u32 team, u64 page) {
  return program_entry(view, view.team_program[team], page);
}
/// Whether the program has predecoded words for a page.
static __device__ inline bool is_program_code(const View& view, u32 team, u64 page) {
  return (base_entry(view, team, page) & kPageCode) != 0;
}

static __device__ inline u32& code_slot(const View& view, u32 team, u64 page) {
  return view.code_slots[team * kCodeSlots + page % kCodeSlots];
}

static __device__ inline PageHistory& history_of(const View& view, u32 team, u64 page) {
  return view.page_history[team * kCodeSlots + page % kCodeSlots];
}
/// The time in ticks of 2^21 ns, some two milliseconds.
static __device__ inline u64 tick_now() { return nanoseconds_now() >> 21; }

/// Whether a span, a CodeSpan or a GroupCode, has predecoded words for the page that lies so many bytes behind its beginning.
template <class Span>
static __device__ inline bool has_words(const Span& span, u64 at) {
  return at < *(const volatile u32*)&span.bytes && page_sources({span.words, 0, 0})[at >> kPageBits] != kNoCode;
}
/// Whether code_page_changes() has something to do for a page that a guest changes.
static __device__ inline bool is_known_code(const View& view, u32 team, u64 page) {
  const CodeSpan& code = view.team_code[team];
  const u32 begin = *(const volatile u32*)&code.begin;
  const u64 at = (page << kPageBits) - (begin & ~kHasGroup);
  return *(const volatile u32*)&history_of(view, team, page).slot == (u32)page + 1 || has_words(code, at) ||
         ((begin & kHasGroup) != 0 && has_words(view.group_code[team], at));
}

enum class Writer : u8 { guest, host };
/// To be called when the bytes or the permissions of a page change: from this page on the team decodes as it runs,
/// until its code is predecoded again. Returns whether the team's span has become shorter. One thread calls it.
static __device__ __noinline__ bool code_page_changes(const View& view, u32 team, u64 page, Writer writer) {
  CodeSpan& code = view.team_code[team];
  PageHistory& history = history_of(view, team, page);
  const u32 begin = *(volatile u32*)&code.begin;
  const u64 at = (page << kPageBits) - (begin & ~kHasGroup);
  const bool predecoded = has_words(code, at);
  const bool of_group = (begin & kHasGroup) != 0 && has_words(view.group_code[team], at);
  bool changed = predecoded || of_group;
  if (writer == Writer::host) {
    if (of_group) atomicAnd(&code.begin, ~kHasGroup);
    if (predecoded) atomicMin(&code.bytes, (u32)at);
    changed |= *(volatile u32*)&code_slot(view, team, page) == (u32)page + 1;
    host_changes_page(history, (u32)page);
  } else {
    // Plain stores: see Code::find().
    if (of_group) code.begin = begin & ~kHasGroup;
    if (predecoded) code.bytes = (u32)at;
    changed |= guest_changes_page(history, (u32)page, (u32)tick_now());
  }
  if (changed) atomicOr(&view.code_state[team], kCodeChanged);
  return predecoded;
}

/// Whether an entry names a frame of the pool, which the table holds alone or together with snapshots and other tables.
static __device__ inline bool has_frame(const View& view, u32 entry) {
  return entry != 0 && !(entry & kPageShared) && !is_flat(view);
}

/// Whether a page of a table is common to several spaces of a lane: stores are not noticed, and yet others hold its frame.
static __device__ inline bool is_common(const View& view, u32 entry) {
  return has_frame(view, entry) && !(entry & kPageCode) && holders_of(view, entry >> kPageFlagBits) > 1;
}

/// Gives a team a new frame with a copy of the page that has this entry, permissions by lane included. All threads of
/// `members`, which include lane 0, call it together. Returns 0 if the pool is spent.
static __device__ inline u32 copy_to_new_frame(const View& view, u32 team, const PagedMemory<kTeam>& memory,
                                               u32 members, u64 page, u32 entry) {
  u32 frame = memory.lane_in_team == 0 ? allocate_frame(view, team) : 0;
  frame = __shfl_sync(members, frame, 0);
  if (frame == 0) return 0;
  if (is_split(entry)) {
    const u32 own = entry_of_lane(view, team, page, entry, memory.lane_in_team);
    if (own != 0) copy_column(memory, own, frame);
    lane_permissions(view, team, page, frame << kPageFlagBits)[memory.lane_in_team] = (u8)lane_value(own);
    return frame;
  }
  copy_column(memory, entry, frame);
  if (entry & kPageDiffer) {
    lane_permissions(view, team, page, frame << kPageFlagBits)[memory.lane_in_team] =
        lane_permissions(view, team, page, entry)[memory.lane_in_team];
  }
  return frame;
}

/// Whether accesses to a page with this entry are simple in the kernels for pages in which lanes differ alone: not if nobody may read
/// it, or if it is one of zeros that only some lanes have.
static __device__ inline bool is_simple_by_lane(const View& view, u32 table, u32 entry) {
  if (!is_split(entry)) return (entry & kPageDiffer) != 0;
  const volatile Split& split = splits_of(view, table)[entry >> kPageFlagBits];
  for (u32 part = 0; part < 2; part++) {
    if (split.parts[part].shift != kZeroPages && lanes_with(split.parts[part], kReadableBit) != 0) return true;
  }
  return false;
}
/// To be called when a page of a guest has got this entry.
static __device__ inline void note_entry(const View& view, u32 table, u32 entry) {
  if (is_simple_by_lane(view, table, entry)) *(volatile u32*)&view.report->pages_differ = 1;
}

enum class CopyOutcome : u8 { copied, copied_code, out_of_memory };

/// Lets a team store to a page: copies the page if it is shared. All threads of `members`, which include lane 0, call
/// it together.
static __device__ __noinline__ CopyOutcome make_page_writable(const View& view, u32 team, u32 lane_in_team, u32 members,
                                                              u64 page) {
  PagedMemory<kTeam> memory = memory_of(view, team, lane_in_team);
  const u32 entry = *(volatile u32*)memory.entry_place(page);
  if (!(entry & (kPageShared | kPageCode))) return CopyOutcome::copied;  // already done for another lane of the team
  u32 next = entry & ~(u32)(kPageShared | kPageCode);
  const bool alone = is_flat(view) || (!(entry & kPageShared) && holders_of(view, entry >> kPageFlagBits) == 1);
  if (!alone) {
    const u32 frame = copy_to_new_frame(view, team, memory, members, page, entry);
    if (frame == 0) return CopyOutcome::out_of_memory;
    next = frame << kPageFlagBits | (next & kPageFlagMask);
    __syncwarp(members);
    // Other holders remain, so that this frees no frame.
    if (lane_in_team == 0 && !(entry & kPageShared)) atomicSub(&holders_of(view, entry >> kPageFlagBits), 1);
  }
  __syncwarp(members);
  bool code = false;
  if (lane_in_team == 0) {
    *memory.entry_place(page) = next;
    touch(view, team, page);
    note_entry(view, team, next);
    code = code_page_changes(view, team, page, Writer::guest);
  }
  code = __shfl_sync(members, code, 0);
  return code ? CopyOutcome::copied_code : CopyOutcome::copied;
}

}  // namespace myriarm::cuda
