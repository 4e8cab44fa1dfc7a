// SPDX-License-Identifier: Apache-2.0
// What a warp does with the address spaces of its team's lanes: it makes them, and clears tables in which no lane has one any
// more. A space that is like another shares its pages until one of them is written to, as a snapshot does.
#pragma once

#include "backends/cuda/process/team_pages.cuh"
#include "kernel/process_table.h"

namespace myriarm::cuda {

MYR_FN u32& table_in_place(const View& view, u32 team, u32 place) {
  return view.processes.spaces.numbers[team * kTeamTables + place];
}
MYR_FN u32& lanes_in_place(const View& view, u32 team, u32 place) {
  return view.processes.spaces.present[team * kTeamTables + place];
}
/// The place of a table of a team.
MYR_FN u32 place_of_table(const View& view, u32 table) {
  return table < view.teams ? 0 : view.processes.spaces.owners[table - view.teams] % kTeamTables;
}
/// The tables of one of a lane's spaces.
MYR_FN LaneTables tables_of_space(const View& view, u32 lane, u32 number) {
  const LaneSpaces& spaces = view.processes.spaces.lanes[lane];
  const u32 team = team_of(lane);
  const auto in = [&](u32 place) { return place == 0 ? team : table_in_place(view, team, place); };
  return {in(spaces.guest[number]), in(spaces.own[number]), in(spaces.lane)};
}
/// The lane has its first space alone, and runs in it.
MYR_FN void forget_spaces(const View& view, u32 lane) {
  LaneSpaces& spaces = view.processes.spaces.lanes[lane];
  for (u32 number = 0; number < kMostSpaces; number++) spaces.own[number] = spaces.guest[number] = kNoPlace;
  spaces.running = spaces.lane = spaces.own[0] = spaces.guest[0] = 0;
  view.processes.spaces.running[lane] = {team_of(lane), team_of(lane), team_of(lane)};
}
/// The same of a lane that gets its pages in the team's table again.
static __device__ inline void return_to_team(const View& view, u32 lane) {
  forget_spaces(view, lane);
  atomicOr(&lanes_in_place(view, team_of(lane), 0), (u32)1 << place_of(lane));
  atomicAnd(&view.processes.spaces.away[team_of(lane)], ~((u32)1 << place_of(lane)));
}
MYR_FN u32& place_is_exclusive(const View& view, u32 team, u32 place) {
  return view.processes.spaces.exclusive[team * kTeamTables + place];
}
/// The lowest place whose table has nothing of the lane, and if it is to have it alone, of others; kTeamTables: there is none. A
/// program that is new to the lane differs from what others have, so that it gets a table without pages if the team has one.
MYR_FN u32 free_place(const View& view, u32 lane, bool alone, kernel::SpaceKind kind) {
  const u32 team = team_of(lane), mine = alone ? ~(u32)0 : (u32)1 << place_of(lane);
  u32 place = 1;
  if (kind == kernel::SpaceKind::fresh) {
    for (u32 empty = 1; empty < kTeamTables && *(volatile u32*)&table_in_place(view, team, empty) != 0; empty++) {
      if (*(volatile u32*)&lanes_in_place(view, team, empty) == 0) return empty;
    }
  }
  for (; place < kTeamTables; place++) {
    const u32 present = *(volatile u32*)&lanes_in_place(view, team, place);
    if (present == 0 || !(present & mine || *(volatile u32*)&place_is_exclusive(view, team, place))) break;
  }
  return place;
}

/// The pages of a table become pages of another one too, which has none there.
static __device__ inline void share_pages(const View& view, u32 members, u32 from, u32 to, u64 slices, u64 first,
                                          u64 end) {
  const PagedMemory<kTeam> old = memory_of(view, from, 0), made = memory_of(view, to, 0);
  visit_pages(view, members, slices, first, end, [&](u64 page, bool exists) {
    u32 entry = exists ? *(volatile u32*)old.entry_place(page) : 0;
    if (entry == 0) return;
    if (has_frame(view, entry)) {
      atomicAdd(&holders_of(view, entry >> kPageFlagBits), 1);
      entry |= kPageCode;
      *old.entry_place(page) = entry;
    }
    *made.entry_place(page) = entry;
    touch(view, to, page);
  });
  __syncwarp(members);
}

/// The words of a further table are decoded as they run.
static __device__ inline void run_no_span(const View& view, u32 table) {
  CodeSpan code = view.program_code[view.team_program[table]];
  code.bytes = 0;
  view.team_code[table] = code;
  view.code_state[table] = 0;
}
/// What a table knows of its code becomes what another one does, whose pages are the same.
static __device__ inline void share_code(const View& view, u32 members, u32 from, u32 to) {
  for (u32 i = threadIdx.x % kTeam; i < kCodeSlots; i += __popc(members)) {
    view.code_slots[to * kCodeSlots + i] = view.code_slots[from * kCodeSlots + i];
    view.page_history[to * kCodeSlots + i] = view.page_history[from * kCodeSlots + i];
  }
  if (threadIdx.x % kTeam == 0) {
    CodeSpan code = view.team_code[from];
    const bool had_group = (code.begin & kHasGroup) != 0;
    code.begin &= ~kHasGroup;
    view.team_code[to] = code;
    view.code_ran[to] = view.code_ran[from];
    // The host has to find the group of the new table.
    view.code_state[to] =
        (view.code_state[from] & ~(u32)kCodeReported) | kCodeShared | (had_group ? (u32)kCodeChanged : 0);
  }
  __syncwarp(members);
}

/// The page that some lanes have in a table becomes theirs in another one, where further lanes have pages. All threads of `lanes`
/// call it. False: there is no frame.
static __device__ __noinline__ bool take_page(const View& view, const TeamLanes& lanes, u32 from, u64 page) {
  const u32 thread = threadIdx.x % kTeam, to = lanes.team;
  const PagedMemory<kTeam> old = memory_of(view, from, thread), made = memory_of(view, to, thread);
  const u32 theirs = *(volatile u32*)old.entry_place(page), now = *(volatile u32*)made.entry_place(page);
  if (theirs == now && !is_split(now)) return true;
  const bool mine = lanes.changed >> thread & 1, absent = !(lanes.present >> thread & 1);
  const u32 own = entry_of_lane(view, from, page, theirs, thread);
  const u32 after = mine ? own : entry_of_lane(view, to, page, now, thread), wanted = lane_value(after);
  const u32 leader = __shfl_sync(lanes.threads, wanted, __ffs(lanes.present) - 1);
  const bool agree = __all_sync(lanes.threads, absent || wanted == leader);
  u32 next = 0, unit = 0;
  const bool one = is_one_page(lanes, after, unit);
  if (one && leader != 0 && agree) next = unit << kPageFlagBits | kPageShared | (leader & kPagePermissions);
  else if (!one || !agree) next = split_page(view, lanes, page, after);
  if (next == 0 && (!agree || leader != 0)) {
    const bool alone = has_frame(view, now) && (!(now & kPageCode) || holders_of(view, now >> kPageFlagBits) == 1);
    u32 frame = now >> kPageFlagBits;
    if (!alone) {
      frame = copy_to_new_frame(view, to, made, lanes.threads, page, now == 0 ? kSharedZeros : now);
      if (frame == 0) return false;
      __syncwarp(lanes.threads);
      if (thread == 0 && has_frame(view, now)) atomicSub(&holders_of(view, now >> kPageFlagBits), 1);
    }
    if (mine && own != 0) copy_column(old, own, frame);
    lane_permissions(view, to, page, frame << kPageFlagBits)[thread] = (u8)wanted;
    next = frame << kPageFlagBits | (agree ? leader & 7 : (u32)kPageDiffer);
  }
  __syncwarp(lanes.threads);
  if (thread == 0) {
    if (!has_frame(view, next) && has_frame(view, now)) give_up_frame(view, to, now >> kPageFlagBits);
    *made.entry_place(page) = next;
    touch(view, to, page);
    code_page_changes(view, to, page, Writer::guest);
    note_entry(view, to, next);
  }
  __syncwarp(lanes.threads);
  return true;
}
/// The same for all pages of [first, end) that they have there; without `from`, they have none afterwards.
static __device__ inline bool take_pages(const View& view, const TeamLanes& lanes, const u32* from, u64 first,
                                         u64 end) {
  const PagedMemory<kTeam> made = memory_of(view, lanes.team, 0), old = memory_of(view, from ? *from : lanes.team, 0);
  const u64 slices = used_slices(view, lanes.team) | (from ? used_slices(view, *from) : 0);
  bool done = true;
  visit_pages(view, lanes.threads, slices, first, end, [&](u64 page, bool exists) {
    const u32 now = exists ? *(volatile u32*)made.entry_place(page) : 0;
    const u32 theirs = exists && from ? *(volatile u32*)old.entry_place(page) : 0;
    for (u32 rest = __ballot_sync(lanes.threads, now != theirs || is_split(now)); rest != 0 && done; rest &= rest - 1) {
      const u64 at = __shfl_sync(lanes.threads, page, __ffs(rest) - 1);
      if (from) done = take_page(view, lanes, *from, at);
      else done = change_pages(view, lanes, {at, 1, 0, kernel::PageAction::unmap});
    }
  });
  return done;
}

enum class SpaceOutcome : u8 { made, no_table, no_memory };

/// The table in a place of a team, which is made if there is none. One thread calls it.
static __device__ inline SpaceOutcome find_table(const View& view, u32 team, u32 place, u32& table) {
  const SpacesView& spaces = view.processes.spaces;
  table = table_in_place(view, team, place);
  if (table != 0) return SpaceOutcome::made;
  if (*(volatile u32*)spaces.next < spaces.end) table = atomicAdd(spaces.next, 1u);
  if (table == 0 || table >= spaces.end) {
    table = 0;
    if (spaces.is_final) return SpaceOutcome::no_memory;
    atomicAdd(&view.report->wants_tables, 1u);
    return SpaceOutcome::no_table;
  }
  spaces.owners[table - view.teams] = team * kTeamTables + place;
  table_in_place(view, team, place) = table;
  return SpaceOutcome::made;
}

/// Gives lanes of a team a space in the table of a place where they have none. `from`: the tables of the space in which they run.
/// `alone`: it is one lane, and no other gets one there. All members call it together.
static __device__ __noinline__ SpaceOutcome make_space(const View& view, u32 members, u32 team, u32 place,
                                                       kernel::SpaceKind kind, LaneTables from, u32 lanes, bool alone) {
  using kernel::SpaceKind;
  if (place >= kTeamTables) return SpaceOutcome::no_memory;
  const bool first_thread = threadIdx.x % kTeam == 0;
  u32 table = 0, outcome = 0;
  if (first_thread) outcome = (u32)find_table(view, team, place, table);
  table = __shfl_sync(members, table, 0);
  outcome = __shfl_sync(members, outcome, 0);
  if (outcome != (u32)SpaceOutcome::made) return (SpaceOutcome)outcome;
  const u32 others = *(volatile u32*)&lanes_in_place(view, team, place);
  const u64 guest = view.guest_pages, own_end = guest + kernel::kOwnPages;
  if (others == 0) {
    if (first_thread) {
      view.team_program[table] = view.team_program[team];  // a restore may have changed it
      run_no_span(view, table);
    }
    __syncwarp(members);
    share_pages(view, members, from.own, table, view.slices.mask(guest, own_end), guest, own_end);
    if (kind == SpaceKind::fork) {
      share_pages(view, members, from.guest, table, used_slices(view, from.guest), 0, guest);
      share_code(view, members, from.guest, table);
      copy_splits(view, members, splits_of(view, from.guest), table);
    }
  } else {
    const TeamLanes changed{table, members, others | lanes, lanes};
    if (first_thread && view.group_code != nullptr)
      view.group_code[table].lanes &= ~lanes;  // they have other pages now
    __syncwarp(members);
    free_splits(view, changed);
    const u32* const guest_from = kind == SpaceKind::fork ? &from.guest : nullptr;
    if (!take_pages(view, changed, &from.own, guest, own_end)) return SpaceOutcome::no_memory;
    // Who borrows looks for the guest's pages elsewhere.
    if (kind != SpaceKind::borrow && !take_pages(view, changed, guest_from, 0, guest)) return SpaceOutcome::no_memory;
  }
  if (first_thread) {
    lanes_in_place(view, team, place) = others | lanes;
    place_is_exclusive(view, team, place) = alone;
  }
  __syncwarp(members);
  return SpaceOutcome::made;
}

/// A page that is in two tables, of which each belongs to one lane, is the same in both from now on. One thread calls it.
static __device__ inline void make_common(const View& view, u32 table, u32 other, u64 page) {
  for (const u32 in : {table, other}) {
    u32* const entry = memory_of(view, in, 0).entry_place(page);
    if (has_frame(view, *entry)) *entry &= ~(u32)kPageCode;
    code_page_changes(view, in, page, Writer::guest);  // stores are not noticed any more
  }
}
/// No lane has pages of [0, end) in a further table any more. All members call it; `give_back(frame)` is called by the first thread.
template <class GiveBack>
static __device__ inline void clear_pages(const View& view, u32 members, u32 table, u64 end, GiveBack give_back) {
  const PagedMemory<kTeam> memory = memory_of(view, table, 0);
  const u32 thread = threadIdx.x % kTeam;
  visit_pages(view, members, view.touched[table] & view.slices.mask(0, end), 0, end, [&](u64 page, bool exists) {
    const u32 entry = exists ? *(volatile u32*)memory.entry_place(page) : 0;
    if (entry != 0) *memory.entry_place(page) = 0;
    for (u32 rest = __ballot_sync(members, has_frame(view, entry)); rest != 0; rest &= rest - 1) {
      const u32 frame = __shfl_sync(members, entry, __ffs(rest) - 1) >> kPageFlagBits;
      if (thread == 0) give_back(frame);
    }
  });
  if (end == view.page_count) clear_splits(view, members, table);
  for (u32 i = thread; i < kCodeSlots; i += __popc(members)) {
    view.code_slots[table * kCodeSlots + i] = 0;
    view.page_history[table * kCodeSlots + i] = {};
  }
  __syncwarp(members);
  if (thread == 0) {
    view.touched[table] &= end == view.page_count ? 0 : view.slices.mask(end, view.page_count);
    view.code_ran[table] = 0;
    run_no_span(view, table);
  }
  __syncwarp(members);
}

/// Takes lanes from the tables in which they have no space any more. All members call it.
template <class GiveBack>
static __device__ __noinline__ void leave_tables(const View& view, u32 members, u32 team, GiveBack give_back) {
  const u32 thread = threadIdx.x % kTeam;
  const LaneSpaces& spaces = view.processes.spaces.lanes[lane_at(team, thread)];
  const u64 own_end = view.guest_pages + kernel::kOwnPages;
  u32 used[(kTeamTables + 31) / 32] = {};
  for (u32 number = 0; number < kMostSpaces; number++) {
    if (spaces.own[number] == kNoPlace) continue;
    used[spaces.own[number] / 32] |= (u32)1 << spaces.own[number] % 32;
    used[spaces.guest[number] / 32] |= (u32)1 << spaces.guest[number] % 32;
  }
  // The team's table is not cleared: it has the pages that are the lanes', whichever process runs.
  const u32 left = __ballot_sync(members, !(used[0] & 1));
  if (thread == 0) lanes_in_place(view, team, 0) &= ~left;
  // A lane takes the lowest place, so that there is no table behind a place without one.
  for (u32 place = 1; place < kTeamTables; place++) {
    const u32 table = *(volatile u32*)&table_in_place(view, team, place);
    if (table == 0) break;
    const u32 present = *(volatile u32*)&lanes_in_place(view, team, place);
    const bool has_space = used[place / 32] >> place % 32 & 1;
    const u32 gone = present & __ballot_sync(members, !has_space && spaces.lane != place);
    const u32 with_space = present & __ballot_sync(members, has_space);
    __syncwarp(members);
    if (with_space == present) continue;
    if (thread == 0) lanes_in_place(view, team, place) = present & ~gone;
    __syncwarp(members);
    // Where there are only pages of the lane, no other lane has any.
    if (with_space == 0)
      clear_pages(view, members, table, present == gone ? view.page_count : own_end,
                  [&](u32 frame) { give_back(table, frame); });
  }
}

}  // namespace myriarm::cuda
