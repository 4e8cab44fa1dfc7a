// SPDX-License-Identifier: Apache-2.0
// Serves the system calls of a team's lanes that are processes, and lets them take their signals. Out of line, so that the kernels that call it keep their
// registers.
#pragma once

#include "backends/cuda/process/serve.cuh"
#include "backends/cuda/process/team_pages.cuh"
#include "kernel/serve.h"

namespace myriarm::cuda {

/// `wanted`: as ProcessView::wanted_files.
static __device__ inline void leave_for_host(const View& view, u32 lane, u32 wanted) {
  const u32 place = atomicAdd(&view.report->host_calls, 1);
  view.processes.host_calls[place] = lane;
  view.processes.wanted_files[place] = wanted;
}
/// Whether the host knows a call that the library lacks from an input that comes before this one, or from the same. It is
/// then counted, and answered here.
static __device__ inline bool is_known(const View& view, const LaneMachine& machine) {
  const u32 number = machine.number();
  if (view.processes.missing == nullptr || number >= kMissingCalls) return false;
  MissingCall& call = view.processes.missing[number];
  if (machine.input().number < *(volatile u64*)&call.lowest) return false;
  atomicAdd((unsigned long long*)&call.count, 1ull);
  *(volatile u32*)&view.report->missing_calls = 1;
  return true;
}
/// Gives a lane a stop with which it is before its SVC when the launch has ended.
static __device__ inline void abandon_call(const View& view, u32 lane, StopCode code) {
  view.stops[lane] = {code, FaultCode::none, kBeforeCall, 0, 0};
}

/// What the lane needs next when what it wanted was done. `end`: the count at which its batch ends.
static __device__ inline Wants next_wants(const LaneMachine& machine, u64 end) {
  const u64 retired = machine.retired();
  return retired < end && kernel::attention_at(machine) <= retired ? Wants::signals : Wants::nothing;
}

/// The tables of the space in which the lane of another thread runs.
static __device__ inline LaneTables tables_of_member(u32 members, const LaneMachine& machine, int of) {
  return {__shfl_sync(members, machine.tables().guest, of), __shfl_sync(members, machine.tables().own, of),
          __shfl_sync(members, machine.tables().lane, of)};
}

/// Gives the lane of one thread, `first`, a table that it has alone for the guest's pages of the space in which it runs: where others
/// have pages too, a page could not be in common for one lane and not for another. All members call it.
static __device__ __noinline__ SpaceOutcome take_guest_table(const View& view, u32 members, u32 lane, int first,
                                                             LaneMachine& machine) {
  const u32 team = team_of(lane), guest = tables_of_member(members, machine, first).guest;
  if (is_exclusive(view, guest)) return SpaceOutcome::made;
  const u32 place = __shfl_sync(members, free_place(view, lane, true, kernel::SpaceKind::fork), first);
  const SpaceOutcome moved =
      make_space(view, members, team, place, kernel::SpaceKind::fork, {guest, guest, team}, (u32)1 << first, true);
  if (moved == SpaceOutcome::made && (int)(threadIdx.x % kTeam) == first) {
    machine.place_has_moved(place_of_table(view, guest), place);
  }
  return moved;
}

/// The same for the pages that all processes of the lane have too, so that pages of the layer can be the guest's.
static __device__ __noinline__ SpaceOutcome take_own_tables(const View& view, u32 members, u32 lane, int first,
                                                            LaneMachine& machine) {
  const SpaceOutcome taken = take_guest_table(view, members, lane, first, machine);
  const LaneTables tables = tables_of_member(members, machine, first);
  if (taken != SpaceOutcome::made || is_exclusive(view, tables.lane)) return taken;
  const u64 begin = view.guest_pages + kernel::kOwnPages;
  share_pages(view, members, tables.lane, tables.guest,
              used_slices(view, tables.lane) & view.slices.mask(begin, view.page_count), begin, view.page_count);
  if ((int)(threadIdx.x % kTeam) == first) {
    atomicOr(&view.processes.spaces.away[team_of(lane)], (u32)1 << first);
    machine.lane_pages_have_moved(place_of_table(view, tables.guest));
  }
  __syncwarp(members);
  return taken;
}

/// Makes the space that the lane of one thread, `first`, asks for, and that has memory in common with the one in which it runs. Both
/// get tables that this lane has alone. All members call it.
static __device__ __noinline__ SpaceOutcome make_sharing_space(const View& view, u32 members, u32 lane, int first,
                                                               LaneMachine& machine) {
  const u32 team = team_of(lane);
  const bool mine = (int)(threadIdx.x % kTeam) == first;
  const SpaceOutcome moved = take_guest_table(view, members, lane, first, machine);
  if (moved != SpaceOutcome::made) return moved;
  const LaneTables from = tables_of_member(members, machine, first);
  const u32 place = __shfl_sync(members, free_place(view, lane, true, machine.kind), first);
  const SpaceOutcome made =
      make_space(view, members, team, place, kernel::SpaceKind::fork, from, (u32)1 << first, true);
  if (made != SpaceOutcome::made || !mine) return made;
  machine.space_is_made(place);
  const u32 table = table_in_place(view, team, place), count = kernel::range_count(machine);
  for (u32 i = 0; i < count; i++) {
    const kernel::Range range = kernel::range_at(machine, i);
    if (!(range.flags & kernel::kSharedMemory)) continue;
    for (u64 at = range.begin; at < range.end; at += kPageSize)
      make_common(view, from.guest, table, machine.page_of(at));
  }
  return made;
}

/// Makes the spaces that lanes ask for: those that ask for the same get them together; and gives lanes the tables of their own that
/// they ask for. All members call it. `asks` is cleared for lanes that have theirs. Returns what kept a lane from it that still asks.
static __device__ __noinline__ SpaceOutcome make_spaces(const View& view, u32 members, u32 lane, LaneMachine& machine,
                                                        bool& asks) {
  const u32 team = team_of(lane);
  if (view.processes.spaces.lanes == nullptr) {
    if (view.processes.spaces.is_final) return SpaceOutcome::no_memory;
    if (asks) atomicAdd(&view.report->wants_tables, 1u);
    return SpaceOutcome::no_table;
  }
  SpaceOutcome kept_from = SpaceOutcome::made;
  bool open = asks;
  for (u32 asking; (asking = __ballot_sync(members, open)) != 0;) {
    const int first = __ffs(asking) - 1;
    const bool joins = machine.need == Need::own_tables;
    const u32 own_kind = (u32)machine.kind << 2 | (u32)joins << 1 | (u32)(machine.shares_memory && !joins);
    const u32 kind = __shfl_sync(members, own_kind, first);
    if ((kind & 3) != 0) {
      const bool mine = open && (int)(threadIdx.x % kTeam) == first;
      const SpaceOutcome outcome = (kind & 2) != 0 ? take_own_tables(view, members, lane, first, machine)
                                                   : make_sharing_space(view, members, lane, first, machine);
      if (!mine) continue;
      open = false;
      kept_from = outcome;
      asks = outcome != SpaceOutcome::made;
      continue;
    }
    const u32 own_place = open ? free_place(view, lane, false, machine.kind) : kTeamTables;
    const u32 place = __shfl_sync(members, own_place, first);
    const LaneTables from = tables_of_member(members, machine, first);
    const bool mine = open && own_place == place && own_kind == kind && machine.tables().guest == from.guest &&
                      machine.tables().own == from.own;
    const u32 lanes = __ballot_sync(members, mine);
    const SpaceOutcome outcome =
        make_space(view, members, team, place, (kernel::SpaceKind)(kind >> 2), from, lanes, false);
    if (!mine) continue;
    open = false;
    kept_from = outcome;
    if (outcome != SpaceOutcome::made) continue;
    asks = false;
    machine.space_is_made(place);
  }
  return kept_from;
}

/// Changes the pages that lanes ask for: those that ask for the same have it done together. All members call it. `failed` is set for
/// lanes that do not get a frame which they need.
static __device__ __noinline__ void change_pages_for(const View& view, u32 members, u32 lane, LaneMachine& machine,
                                                     bool asks, bool& failed) {
  for (u32 asking; (asking = __ballot_sync(members, asks)) != 0;) {
    const kernel::PageChange& own = machine.change;
    const int first = __ffs(asking) - 1;
    const u64 begin = __shfl_sync(members, own.begin, first), end_of_all = __shfl_sync(members, own.end, first);
    const u32 kind = (u32)own.action << 8 | own.permissions, kind_of_all = __shfl_sync(members, kind, first);
    const u32 table = __shfl_sync(members, machine.table, first), unit = __shfl_sync(members, machine.unit, first);
    const bool mine = asks && own.begin == begin && own.end == end_of_all && kind == kind_of_all &&
                      machine.table == table && machine.unit == unit;
    const bool gone = view.processes.keep_memory == 0 && view.stops[lane].code == StopCode::exited;
    const u32 here = __ballot_sync(members, !gone);
    const u32 present = here & lanes_with_page(view, table, (begin >> kPageBits) - view.first_page);
    const TeamLanes lanes{table, members, present, __ballot_sync(members, mine)};
    const PageRun run{(begin >> kPageBits) - view.first_page, (end_of_all - begin) >> kPageBits, kind_of_all & 0xFF,
                      (kernel::PageAction)(kind_of_all >> 8), unit};
    const bool changed = change_pages(view, lanes, run);
    if (!mine) continue;
    asks = false;
    failed = !changed;
    machine.need = Need::nothing;
    if (changed) machine.change_is_made();
  }
}

inline namespace MYRIARM_CALLS_APART {
__device__ __noinline__ bool serve_lanes(const View& view, u32 members, u32 lane, Registers registers, LanePlace& place,
                                         u64 end, Wants wants) {
  const u32 team = team_of(lane);
  LaneMachine machine(view, lane, registers, place);
  bool goes_on = false;
  const StopRecord stop = view.stops[lane];
  if (wants == Wants::call && machine.input().on_host && stop.reserved != kCallsHere) {
    leave_for_host(view, lane, 0);
    wants = Wants::nothing;
  }
  while (__any_sync(members, wants != Wants::nothing)) {
    machine.begin_attempt();
    const bool attempts = wants != Wants::nothing;
    bool answered = false;
    if (attempts) {
      using kernel::Served;
      const kernel::Result result = wants == Wants::call    ? kernel::serve(machine)
                                    : wants == Wants::fault ? kernel::deliver_fault(machine, stop)
                                                            : kernel::deliver(machine);
      const bool known = wants == Wants::call && result.served == Served::missing && is_known(view, machine);
      if (result.served == Served::answered || result.served == Served::replaced || result.served == Served::waits ||
          known) {
        if (wants == Wants::call && kernel::sets_x0(result.served)) registers.at(0) = (u64)result.value;
        view.stops[lane] = {};
        goes_on = answered = true;
        if (wants == Wants::call && stop.reserved == kCallsHere) machine.note_result(result);
        wants = next_wants(machine, end);
      } else if (result.served == Served::ended) {
        view.stops[lane] = stop_record(StopCode::exited, (u32)result.value);
        goes_on = false;
        answered = true;
        wants = Wants::nothing;
        if (view.processes.keep_memory == 0) machine.leave_all_spaces();
      } else if (result.served == Served::missing || machine.need == Need::host || machine.awaits_content()) {
        if (wants == Wants::call) leave_for_host(view, lane, machine.wanted());  // else the lane keeps its stop
        wants = Wants::nothing;
      } else if (machine.need == Need::room) {
        abandon_call(view, lane, StopCode::none);
        atomicOr(&view.report->orders, (u32)kHostOrder);
        wants = Wants::nothing;
      } else if (wants == Wants::call && !kernel::goes_back_to_svc(machine)) {
        // If the pool is spent, the lane leaves the launch behind its SVC, and has no call to be served in the next one.
        view.stops[lane] = {};
        wants = Wants::signals;
      }
    }
    __syncwarp(members);
    const bool open = !answered && wants != Wants::nothing;
    bool failed = false;
    // In step, so that lanes which want the same pages get them together.
    u64 more = open && machine.need == Need::own_page ? machine.pages : 0;
    for (; __any_sync(members, more != 0); machine.page++) {
      copy_pages_for<true>(view, machine.table, members, more != 0, machine.page, failed);
      more = failed || more == 0 ? 0 : more - 1;
    }
    bool asks = open && (machine.need == Need::space || machine.need == Need::own_tables);
    if (__any_sync(members, asks)) {
      const SpaceOutcome outcome = make_spaces(view, members, lane, machine, asks);
      failed |= asks && outcome == SpaceOutcome::no_memory;
      if (asks && outcome == SpaceOutcome::no_table) {
        // The host makes tables, and the call is made again, without a stop of its own.
        view.stops[lane] = {StopCode::syscall, FaultCode::none, stop.reserved == kCallsHere ? kCallsHere : kCallsAgain,
                            0, 0};
        atomicAdd(&view.report->waits_for_tables, 1u);
        atomicOr(&view.report->orders, (u32)kHostOrder);
        goes_on = false;
        wants = Wants::nothing;
      }
    }
    if (__any_sync(members, open && machine.need == Need::change)) {
      change_pages_for(view, members, lane, machine, open && machine.need == Need::change, failed);
    }
    if (failed) {
      // What is no call begins again at the instruction where the lane is.
      if (wants == Wants::call) abandon_call(view, lane, StopCode::out_of_memory);
      else view.stops[lane] = stop_record(StopCode::out_of_memory);
      goes_on = false;
      wants = Wants::nothing;
    }
    if (attempts && (answered || wants == Wants::nothing)) machine.call_has_ended(answered);
    if (__any_sync(members, machine.spaces_changed)) {
      leave_tables(view, members, team, [&](u32 table, u32 frame) { give_up_frame(view, table, frame); });
      machine.spaces_changed = false;
    }
  }
  return goes_on;
}
}  // namespace MYRIARM_CALLS_APART

}  // namespace myriarm::cuda
