// SPDX-License-Identifier: Apache-2.0
// What kernels for processes do from the state arrays to the last stop, whatever runs their instructions: as run_kernel.cuh, and
// system calls are served within it. The interpreter's kernel is at the end; the other is translated/run_translated.cu.
#pragma once

#include "backends/cuda/interpreter/program_pace.h"
#include "backends/cuda/interpreter/turns.cuh"
#include "backends/cuda/process/next_inputs.cuh"
#include "backends/cuda/process/serve.cuh"

namespace myriarm::cuda {
namespace {

/// What a thread keeps of its lane while its warp does what the instructions wait for. Volatile, so that it is in local
/// memory then and in registers before and after: the compiler keeps a value that lives across such a call in local memory
/// all the time.
struct Kept {
  u64 retired;
  u64 look_at;  // the count at which the lane is looked at: see next_look()
  u32 members, at, nzcv, reported;
  Pending pending;
  u64 seen;          // `retired` when the warp last reported
  u64 work;          // what the lane had retired since `measured` when the warp last reported
  u32 measured;      // when the team's work was last added to the program's
  u32 way;           // Way
  bool chooses_way;  // kChoosesWay of how the lanes take turns; else `way` stays kLowestPc
  u32 still_times;   // how often in a row the warp has found that a lane which waits has not gone on
  bool alive, was_alive, waits;
  bool leaves;  // the warp leaves the launch
};

/// Of Kept::reported: lanes do not wait at calls and returns; those that have waited go on in the order of their progress. These are
/// in the lowest bits of a clock, since one more value that lives across the turns would take a register from the instructions.
constexpr u32 kNoWaiting = 1, kByProgress = 2;
__device__ inline u32 clock_now() { return (u32)clock() & ~(kNoWaiting | kByProgress); }
__device__ inline u32 bits_of_way(u32 way) {
  return way == Way::kNobodyWaits ? kNoWaiting : way == Way::kLeastProgress ? kByProgress : 0;
}
/// The most instructions of a lane's turn while nobody waits. The turn ends at a call or return too, and then the lane waits for
/// the turns of the others to end.
constexpr u32 kShortTurn = 64;
/// After so many times some four milliseconds in which a lane has waited for others of its team, nobody waits for as long.
/// In a full device, a lane between two calls often computes for ten milliseconds.
constexpr u32 kStillTimes = 16;

/// Gives lanes that have waited for too long their turn, together with all others of the team: one that computes without
/// a call or return would hold them up until it ends. All members call it, some hundred times a second. Returns
/// the bit for Kept::reported.
__device__ inline u32 release_waiting(volatile Kept& kept, u32 members, bool alive) {
  const u64 retired = kept.retired;
  const bool still = alive && kept.waits && retired == kept.seen;
  kept.seen = retired;
  const bool nobody_waits = (kept.reported & kNoWaiting) != 0;
  u32 times = kept.still_times;
  // While nobody waits, the same number of times is counted until the lanes wait for each other again.
  times = nobody_waits || __any_sync(members, still) ? times + 1 : 0;
  const bool changes = times == kStillTimes;
  kept.still_times = changes ? 0 : times;
  if (changes && !nobody_waits) kept.waits = false;
  return nobody_waits != changes ? kNoWaiting : 0;
}

/// Compares the ways of a program, and forgets a part of what its teams have retired. One thread at a time calls it.
__device__ inline void compare_ways(ProgramPace& pace) {
  ProgramPace seen = {};
  volatile ProgramPace& shared = pace;
  seen.best = shared.best;
  seen.comparisons = shared.comparisons;
  for (u32 way = 0; way < kWays; way++) {
    seen.retired[way] = shared.retired[way];
    seen.clocks[way] = shared.clocks[way];
    const auto forget = [](u64& sum, u64 value) {
      atomicAdd((unsigned long long*)&sum, 0 - (unsigned long long)(value >> ProgramPace::kForgottenShift));
    };
    forget(pace.retired[way], seen.retired[way]);
    forget(pace.clocks[way], seen.clocks[way]);
  }
  const u32 best = seen.choose();
  shared.comparisons = best == seen.best ? seen.comparisons + 1 : 0;
  shared.best = best;
}

/// The way of a team now; the same for all members, who all call it.
__device__ inline u32 current_way(const View& view, u32 team, u32 members) {
  const volatile ProgramPace& pace = view.paces[view.team_program[team]];
  const bool settled = view.processes.queue == nullptr && pace.comparisons >= ProgramPace::kSettled;
  const u32 way = way_of_team(team - pace.first_team, pace.teams, (u32)tick_now(), pace.best, settled);
  return __shfl_sync(members, way, __ffs(members) - 1);
}

/// Adds what the team has retired to what its program has, in the way that the team goes, and decides how it goes on. All members call
/// it, some hundred times a second. Returns the bits for Kept::reported.
__device__ inline u32 keep_pace(const View& view, volatile Kept& kept, u32 team, u32 members, bool alive) {
  const u64 work = kept.work + (kept.retired - kept.seen);
  const u32 elapsed = __shfl_sync(members, (u32)clock() - kept.measured, __ffs(members) - 1);
  kept.work = work;
  // Not if a launch has just begun, or it is an order that the team reports for.
  if (kept.chooses_way && elapsed >= kReportCycles / 2) {
    u64 sum = 0;
    for (u32 rest = members; rest != 0; rest &= rest - 1) sum += __shfl_sync(members, work, __ffs(rest) - 1);
    if (threadIdx.x % kTeam == (u32)__ffs(members) - 1) {
      ProgramPace& pace = view.paces[view.team_program[team]];
      atomicAdd((unsigned long long*)&pace.retired[kept.way], (unsigned long long)sum);
      atomicAdd((unsigned long long*)&pace.clocks[kept.way], (unsigned long long)elapsed);
      // Two ticks are a report, and who comes first compares.
      const u32 tick = (u32)tick_now(), last = *(volatile u32*)&pace.compared_at;
      if (tick - last >= 2 && atomicCAS(&pace.compared_at, last, tick) == last) compare_ways(pace);
    }
    __syncwarp(members);
    const u32 way = current_way(view, team, members);
    if (way != kept.way) {
      kept.way = way;
      kept.still_times = 0;
      kept.reported = kept.reported & ~kNoWaiting;
      if (way == Way::kNobodyWaits) kept.waits = false;
    }
    kept.work = 0;
    kept.measured = (u32)clock();
  }
  if (kept.way != Way::kNobodyWaits) return release_waiting(kept, members, alive) | bits_of_way(kept.way);
  kept.seen = kept.retired;
  return kNoWaiting;
}

/// Ends the launch of a kernel for one span if the team does not run from all of it any more: a call has changed its code, or it has
/// taken an input. Before the next instruction. All members call it.
__device__ inline void check_common_code(const View& view, volatile Kept& kept, u32 team) {
  const volatile CodeSpan& own = view.team_code[team];
  if (own.words == view.common_code.words && own.bytes == view.common_code.bytes) return;
  atomicOr(&view.report->orders, (u32)kYieldOrder);  // the host must use the other kernel
  *(volatile u32*)&view.report->wants_code = 1;      // and look at the team's code, before it uses this one again
  kept.reported = (clock_now() - kReportCycles) | (kept.reported & (kNoWaiting | kByProgress));
}

/// In steps, lets the lanes of a team that are at one pc come to the end of the step together, though they have retired different numbers of
/// instructions: none goes further than the first of them can. Lanes that are at several pcs are looked at more often than they would
/// be, but at least kLeastLook instructions apart. All members call it.
__device__ inline void look_with_first(const View& view, volatile Kept& kept, u32 members, u64 end) {
  constexpr u32 kLeastLook = 256;
  if (view.control->in_steps == 0) return;
  const u64 retired = kept.retired, rest = end > retired ? end - retired : 0;
  const u32 first = least(members, kept.alive ? (u32)smaller(rest, kNone) : kNone);
  const u64 look_at = retired + (first < kLeastLook ? kLeastLook : first);
  if (look_at < kept.look_at) kept.look_at = look_at;
}

/// What a warp does between two turns: it publishes progress and follows orders, copies pages and serves calls. The general
/// registers are in shared memory. All members call it. Out of line, as everything is that needs registers of run_kernel
/// for a short time.
template <bool kSeveral>
__device__ __noinline__ void attend(const View& view, volatile Kept& kept) {
  const u32 warp = threadIdx.x / kTeam, place = threadIdx.x % kTeam, team = blockIdx.x * kWarps + warp;
  const u32 lane = (u32)lane_at(team, place), members = kept.members;
  Pending pending = kept.pending;
  bool alive = kept.alive;
  const u64 end = state_of(view, kPlaneBatchEnd, lane);
  if (copy_pending_pages<true>(view, team, members, pending, alive)) kept.reported = kept.reported - kReportCycles;
  Wants wants = Wants::nothing;
  bool ends_step = false;
  if (pending == Pending::call || (pending == Pending::stopped && is_to_be_served(view, lane))) {
    wants = Wants::call;
  } else if (pending == Pending::stopped && is_signal(view, lane)) {
    wants = Wants::fault;
  } else if (pending == Pending::look && alive) {
    ends_step = is_at_end_of_step(view, lane, kept.retired);
    if (!ends_step && kept.retired >= end) {
      view.stops[lane] = stop_record(StopCode::budget);
      alive = false;
    } else if (process_of(view, team) != nullptr) {
      wants = Wants::signals;
    }
  }
  if (__any_sync(members, wants != Wants::nothing || pending == Pending::look)) {
    u64* const column = block_words() + warp * kSharedSlots * kTeam + place;
    const Registers registers{column, kTeam, column + kSlotFp * kTeam};
    u64& outside = view.state[kPlanePc * view.lanes + lane];
    LanePlace at{kept.at != kOutside ? view.window_begin + kept.at : outside, kept.retired, kept.nzcv};
    const bool goes_on = serve_lanes(view, members, lane, registers, at, end, wants);
    if (wants != Wants::nothing) alive = goes_on;
    kept.retired = at.retired;
    kept.nzcv = at.nzcv;
    const u64 offset = at.pc - view.window_begin;
    const bool inside = offset < view.window_bytes && (offset & 3) == 0;
    if (!inside) outside = at.pc;
    kept.at = inside ? (u32)offset : kOutside;
    kept.look_at = next_look(view, lane, registers, at, end);
    if (!kSeveral) check_common_code(view, kept, team);
  }
  kept.alive = alive;
  // While there is an order, warps that have left wait for the others.
  const bool ordered = *(volatile u32*)&view.report->orders != 0;
  // All lanes of a team end a step with the first of them. If each went on to its own end, those that have retired less would end at
  // another pc, and in a loop without calls they would never meet again.
  look_with_first(view, kept, members, end);
  ends_step = __any_sync(members, ends_step);
  if (__any_sync(members, ordered || ends_step || (u32)clock() - kept.reported >= kReportCycles)) {
    kept.reported = clock_now() | keep_pace(view, kept, team, members, alive);
    if (kept.was_alive) publish(view, lane, kept.retired, alive ? StopCode::none : view.stops[lane].code);
    kept.leaves = follow_orders<kSeveral, true>(view, members, lane, kept.at, alive);
    if (ends_step && !kept.leaves) {
      if (alive) view.stops[lane] = {};
      kept.leaves = true;
    }
  }
}

/// If the processes of all lanes have ended and there is a queue, the warp takes the next inputs; without lanes that have
/// ended it only finishes what a lane's beginning lacks. Returns whether it goes on. All members call it. Out of line, as
/// attend() is.
template <bool kSeveral>
__device__ __noinline__ bool goes_on_with_inputs(const View& view, volatile Kept& kept) {
  if (view.processes.queue == nullptr || kept.leaves) return false;
  const u32 warp = threadIdx.x / kTeam, place = threadIdx.x % kTeam, team = blockIdx.x * kWarps + warp;
  const u32 lane = (u32)lane_at(team, place), members = kept.members;
  if (__any_sync(members, kept.alive || kept.pending == Pending::call)) {
    place_start_bytes(view, members, lane);
    if (view.stops[lane].code == StopCode::out_of_memory) kept.alive = false;
    return true;
  }
  u64 retired = kept.retired;
  if (!__all_sync(members, has_ended(view, lane, retired))) return false;
  u64 pc = kept.at != kOutside ? view.window_begin + kept.at : view.state[kPlanePc * view.lanes + lane];
  if (view.stops[lane].reserved == kBeforeCall) {  // its call was abandoned, and it does not go on
    pc -= 4;
    retired -= retired != 0;
  }
  const bool runs = take_inputs(view, members, lane, retired, pc);
  const bool has_input = view.processes.queue->lanes[lane].state != QueuedState::idle;
  if (!__any_sync(members, has_input)) return false;
  u64* const own_column = block_words() + warp * kSharedSlots * kTeam + place;
  const u32 column = (u32)__cvta_generic_to_shared(own_column);
  Interpreter<true> cpu{view, column, nullptr, lane, (u32)(place * view.lane_step)};
  load_registers(cpu);
  kept.nzcv = loaded_nzcv(view, lane);
  kept.at = loaded_place(view, lane);
  const u64 count = view.state[kPlaneInstructions * view.lanes + lane];
  kept.work = kept.work + (kept.retired - kept.seen);
  kept.retired = count;
  kept.seen = count;
  // The count to look at is found here: an attend() for each input would cost a queue of short processes a seventh.
  const Registers registers{own_column, kTeam, own_column + kSlotFp * kTeam};
  LanePlace at{view.state[kPlanePc * view.lanes + lane], count, kept.nzcv};
  kept.look_at = next_look(view, lane, registers, at, state_of(view, kPlaneBatchEnd, lane));
  kept.pending = Pending::none;
  kept.alive = runs;
  kept.was_alive = has_input;
  if (kept.chooses_way) {
    kept.way = current_way(view, team, members);
    kept.still_times = 0;
    kept.reported = (kept.reported & ~(kNoWaiting | kByProgress)) | bits_of_way(kept.way);
  }
  kept.waits = kept.way != Way::kNobodyWaits;
  // The team may have to leave the launch for its code, before its first instruction.
  if (!kSeveral) check_common_code(view, kept, team);
  if (*(volatile u32*)&view.report->orders != 0)
    kept.reported = (clock_now() - kReportCycles) | (kept.reported & (kNoWaiting | kByProgress));
  return true;
}

/// The turn of a lane that is interpreted, which does not begin with its quantum used up: until it has run a call or a return,
/// something is pending, or its quantum of `most` instructions ends.
template <bool kLean, bool kSeveral, bool kOwnPages>
MYR_FN void interpret(Interpreter<true, kOwnPages>& cpu, Code<kLean, kSeveral>& code, u64 end, u32 most) {
  // A new quantum each time, so that lanes that go on together also stop together.
  const u64 retired = cpu.retired(), remaining = end - retired;
  cpu.left = remaining < most ? (u32)remaining : most;
  cpu.retires_at_zero = retired + cpu.left;
  if (code.kEachTurn) code.find(guest_table(cpu.view, cpu.lane));
  run_lane<kLean>(cpu, code);
}

/// How lanes take turns if they are interpreted. `run()` leaves Interpreter::left at 0 if the lane does not wait for others now;
/// `goes_on_first()` says which lanes go on once all wait. kChoosesWay: the team goes one of the ways of program_pace.h; then `parks` says
/// whether lanes wait for each other, and `by_progress` in which order they go on.
struct InterpretedTurns {
  static constexpr bool kChoosesWay = true;
  MYR_FN void begin(const View&, u32, u32) const {}
  template <bool kLean, bool kSeveral, bool kOwnPages>
  MYR_FN void run(Interpreter<true, kOwnPages>& cpu, Code<kLean, kSeveral>& code, u64 end, bool parks) const {
    interpret(cpu, code, end, parks ? kQuantum : kShortTurn);
  }
  MYR_FN void attend(u32) const {}
  template <bool kOwnPages>
  MYR_FN bool goes_on_first(const Interpreter<true, kOwnPages>& cpu, u32 members, u32 live, bool alive,
                            bool by_progress) const {
    return cuda::goes_on_first(cpu, members, live, alive, by_progress);
  }
};

/// A warp runs a team, from the state arrays to the last stop. `turns` as InterpretedTurns: begin() is called by all members
/// once, attend() now and then and at the end.
template <u32 kBlocks, bool kSeveral, bool kOwnPages, class Turns>
MYR_FN void run_team(const View& view, Turns& turns) {
  volatile Kept kept;
  for (bool begins = true;; begins = false) {
    const u32 thread = thread_number(), warp = thread / kTeam, lane_in_team = thread % kTeam;
    const u32 team = blockIdx.x * kWarps + warp;
    const u32 lane = (u32)lane_at(team, lane_in_team);
    const u32 column = (u32)__cvta_generic_to_shared(block_words()) + (warp * kSharedSlots * kTeam + lane_in_team) * 8;
    const u32 lane_offset = (u32)(lane_in_team * view.lane_step);
    if (begins) {
      if (team >= view.teams) return;
      // Threads without a lane leave: if they waited, they would slow the others down.
      const u32 members = __ballot_sync(0xFFFFFFFFu, lane < view.lanes);
      if (lane >= view.lanes) return;
      const LaneBounds bounds = begin_lane<true>(view, lane);
      const bool any = __ballot_sync(members, bounds.alive) != 0;
      if (!any && view.processes.queue == nullptr) return;
      Interpreter<true> loaded{view, column, nullptr, lane, lane_offset};
      load_registers(loaded);
      kept.nzcv = loaded_nzcv(view, lane);
      kept.at = loaded_place(view, lane);
      kept.retired = view.state[kPlaneInstructions * view.lanes + lane];
      kept.chooses_way = Turns::kChoosesWay;
      kept.way = Turns::kChoosesWay ? current_way(view, team, members) : (u32)Way::kLowestPc;
      kept.reported = (clock_now() - kReportCycles) | bits_of_way(kept.way);
      kept.members = members;
      kept.look_at = 0;
      kept.pending = bounds.calls ? Pending::call : Pending::look;
      kept.alive = bounds.alive && !bounds.calls;
      kept.was_alive = bounds.alive;
      kept.seen = kept.retired;
      kept.work = 0;
      kept.measured = (u32)clock();
      kept.still_times = 0;
      // At a call or return, for the others.
      kept.waits = begins_parked(view, lane) && kept.way != Way::kNobodyWaits;
      kept.leaves = false;
      if (!goes_on_with_inputs<kSeveral>(view, kept) && !any) return;
      turns.begin(view, team, members);
      attend<kSeveral>(view, kept);
    }
    // A ballot of the whole warp, which passes over threads that have left: so the compiler knows that all have one mask,
    // and does not look for others at each vote of a turn.
    const u32 members = __ballot_sync(0xFFFFFFFFu, true), reported = kept.reported;
    const bool parks = (reported & kNoWaiting) == 0;
    const u64 end = kept.look_at;
    bool alive = kept.alive, waits = kept.waits, leaves = kept.leaves;
    // What the warp has attended to may have let the lane enter another address space. Kernels for one span run only while
    // each lane has one (CudaBackend::begin_spaces()): there the address of its table follows from constants, and takes no
    // registers from the instructions.
    const u32 table = kSeveral ? guest_table(view, lane) : team;
    u32* const entries = kSeveral ? table_of(view, table, lane_in_team) : table_of_team(view, team);
    Interpreter<true, kOwnPages> cpu{view, column, entries, lane, lane_offset};
    cpu.nzcv = kept.nzcv;
    cpu.at = kept.at;
    cpu.retires_at_zero = kept.retired;
    Code<kBlocks == kManyBlocks, kSeveral> code{view, 0, nullptr, 0};
    if (!code.kEachTurn) code.find(table);
    // The shuffle hides from the compiler that this is a constant: it would load a constant again for each instruction.
    code.skip = __shfl_sync(members, 4 - view.code_begin, 0);

    for (bool attends = false; !leaves && !attends;) {
      __syncwarp(members);
      const bool used_up = alive && cpu.left == 0;
      if (__any_sync(members, used_up || (u32)clock() - reported >= kReportCycles)) {
        const bool at_end = used_up && cpu.retired() >= end;
        if (at_end) cpu.pending = Pending::look;
        const bool ordered = *(volatile u32*)&view.report->orders != 0;
        attends = __any_sync(members, at_end || ordered || (u32)clock() - reported >= kReportCycles);
      }
      const u32 live = __ballot_sync(members, alive);
      leaves = live == 0;
      if (leaves || attends) break;
      if (__all_sync(members, waits || !alive))
        waits = !turns.goes_on_first(cpu, members, live, alive, (reported & kByProgress) != 0);
      cpu.pending = Pending::none;
      if (alive && !waits) {
        turns.run(cpu, code, end, parks);
        waits = cpu.pending == Pending::none && cpu.left != 0 && parks;
        if (cpu.pending == Pending::stopped) {
          alive = false;
          if (retires_as_it_stops(view.stops[lane].code)) {
            cpu.retires_at_zero++;
            cpu.at += 4;
          }
        }
      }
      __syncwarp(members);
      attends = __any_sync(members, cpu.pending != Pending::none);
    }

    kept.nzcv = cpu.nzcv;
    kept.at = cpu.at;
    kept.retired = cpu.retired();
    kept.pending = cpu.pending;
    kept.alive = alive;
    kept.waits = waits;
    turns.attend(members);
    if (!leaves) {
      attend<kSeveral>(view, kept);
      continue;
    }
    if (goes_on_with_inputs<kSeveral>(view, kept)) {
      if (__any_sync(members, kept.pending != Pending::none)) attend<kSeveral>(view, kept);
      continue;
    }
    const u32 back = end_lane<true>(view, members, lane, kept.was_alive, cpu.retired());
    if (kept.was_alive) store_registers(cpu, back);
    if (kept.was_alive && !kept.waits) note_not_parked(view, lane);
    return;
  }
}

template <u32 kBlocks, bool kSeveral, bool kOwnPages>
__global__ void __launch_bounds__(kWarps* kTeam, kBlocks) run_process_kernel(const __grid_constant__ View view) {
  InterpretedTurns turns;
  run_team<kBlocks, kSeveral, kOwnPages>(view, turns);
}

}  // namespace
}  // namespace myriarm::cuda
