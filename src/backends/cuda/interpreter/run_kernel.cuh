// SPDX-License-Identifier: Apache-2.0
// The kernel of the CUDA interpreter: one warp runs one team of 32 lanes, from the state arrays to the last stop, in one
// launch. Lanes diverge as threads of a warp do; the kernel brings them together at calls and returns:
// docs/design/meeting-at-calls.md.
#pragma once

#include "backends/cuda/interpreter/execute.cuh"

namespace myriarm::cuda {
namespace {

constexpr u32 kNone = 0xFFFFFFFFu;  // greater than any offset or depth
/// The most instructions that a lane runs before the warp comes together to check whether its batch has ended and
/// whether to publish its progress. Words without predecoded ones take many times as long, and the lanes may run one
/// after the other.
constexpr u32 kQuantum = 1u << 11;

/// The least of the members' values. All members must call it at once, so never inside a condition on one lane.
__device__ inline u32 least(u32 members, u32 value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_min_sync(members, value);
#else
  // Members are the lowest lanes of the warp; values from lanes beyond them are ignored.
  for (int step = 16; step > 0; step /= 2) {
    u32 other = __shfl_down_sync(members, value, step);
    if ((threadIdx.x % kTeam) + step < __popc(members) && other < value) value = other;
  }
  return __shfl_sync(members, value, 0);
#endif
}

/// The predecoded words that a team runs. If all teams run from one whole span (kSeveral is false), its address and its
/// length are constants.
template <bool kLean, bool kSeveral>
struct Code {
  /// With few registers, the span is looked up for each turn: kept through the whole launch, it would take registers from
  /// the instruction itself.
  static constexpr bool kEachTurn = kLean && kSeveral;

  const View& view;
  u32 skip;                   // without kLean: what to add to an offset in the window for one in own_words
  const Operands* own_words;  // with kSeveral: as CodeSpan::words
  u32 own_bytes;              // with kSeveral: of guest code; a predecoded word is four times as long

  /// The span of a team changes during a launch, but only by plain stores of this warp: the L1 cache may have it.
  MYR_FN void find(u32 team) {
    if (!kSeveral) return;
    u64 words, begin_and_bytes;
    asm volatile("ld.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(words), "=l"(begin_and_bytes)
                 : "l"(&view.team_code[team])
                 : "memory");
    own_words = (const Operands*)words;
    own_bytes = (u32)(begin_and_bytes >> 32);
  }

  /// The word at an offset of the window. Does not branch: where there is none it returns word 0, which runs out of
  /// line.
  MYR_FN uint4 fetch(u32 at) const {
    const Operands* words = kSeveral ? own_words : view.common_code.words;
    const u32 bytes = kSeveral ? own_bytes : view.common_code.bytes;
    const u32 offset = kLean ? at - view.code_begin + 4 : at + skip;
    return __ldg((const uint4*)((const u8*)words + (u64)(offset <= bytes ? offset : 0) * 4));
  }
};

/// Runs one lane until it has run a call or a return, something is pending, or it has used up `cpu.left`, which must
/// not be 0. Every branch in this function costs a warp that runs alone some twenty cycles: see
/// docs/design/cuda-interpreter.md. kLean: there are few registers, see kSlotPlace.
template <bool kLean, bool kSeveral>
MYR_FN void run_lane(Interpreter<true>& cpu, Code<kLean, kSeveral>& code) {
  bool goes_on;
  do {
    const uint4 raw = code.fetch(cpu.at);
    const Operands o = operands_of(raw.x, raw.y, raw.z, raw.w);
    cpu.next = cpu.at + 4;
    bool ends_turn = (o.row & kRowCallOrReturn) != 0;
    if (MYR_UNLIKELY(execute(cpu, o) == Outcome::stop)) {
      if (cpu.pending != Pending::out_of_line) return;
      if (kLean) cpu.save_place();
      Result result =
          execute_out_of_line(cpu.view, cpu.registers, cpu.table, cpu.lane, cpu.at, cpu.nzcv, cpu.retired(), o);
      if (kLean) {
        cpu.restore_place();
        code.find(team_of(cpu.lane));
      }
      cpu.pending = result.pending;
      cpu.nzcv = result.nzcv;
      if (result.outcome == Outcome::stop) return;
      cpu.next = result.next;
      ends_turn = result.ends_turn;
    }
    cpu.left--;
    cpu.at = cpu.next;
    if ((o.row & kRowFoldedBranch) != 0 && cpu.left != 0) {
      Operands branch;
      branch.aux = (u32)(o.row >> 10) & 15;
      branch.offset = (i32)((u32)o.row << 22) >> 20;
      cpu.next = cpu.at + 4;
      branch_conditional(cpu, branch);
      cpu.left--;
      cpu.at = cpu.next;
    }
    goes_on = !ends_turn && cpu.left != 0;
  } while (goes_on);
}

/// If a team runs from pages that may get predecoded words, tells the report of it. All members call it. `at`: where
/// the lane is, or kOutside.
__device__ inline void note_code(const View& view, u32 members, u32 team, u32 at) {
  const CodeSpan code = view.team_code[team];
  const u32 page = at >> kPageBits, offset = at - code.begin;
  const bool predecoded = offset < code.bytes && page_sources(code)[offset >> kPageBits] != kNoCode;
  const bool stays = at != kOutside && !predecoded;
  if (stays) code_slot(view, team, page) = page + 1;
  if (!__any_sync(members, stays || *(volatile u32*)&view.code_ran[team] != 0)) return;
  const u32 now = (u32)tick_now();
  bool wants = false;
  for (u32 i = threadIdx.x % kTeam; i < kCodeSlots; i += __popc(members)) {
    const u32 slot = *(volatile u32*)&view.code_slots[team * kCodeSlots + i];
    if (slot != 0) wants |= wants_words(view.page_history[team * kCodeSlots + i], slot - 1, now);
  }
  wants = __any_sync(members, wants);
  if (threadIdx.x % kTeam == 0) {
    u32& state = view.code_state[team];
    if (wants) atomicOr(&state, kCodeChanged | kCodeSlotsUsed);
    if ((*(volatile u32*)&state & (kCodeChanged | kCodeReported)) == kCodeChanged) {
      atomicOr(&state, kCodeReported);
      *(volatile u32*)&view.report->wants_code = 1;
    }
  }
  __syncwarp(members);
}

/// Follows the orders: gives a lane that is alive the stop that they mean, which is none for kYieldOrder. Returns
/// whether the warp leaves the launch. All members call it. Out of line, as everything is that needs registers of
/// run_kernel for a short time.
template <bool kSeveral>
__device__ __noinline__ bool follow_orders(const View& view, u32 members, u32 lane, u32 at, bool alive) {
  const u32 team = team_of(lane);
  note_code(view, members, team, alive ? at : kOutside);
  u32 orders = __shfl_sync(members, current_orders(view), 0);
  if (!kSeveral && *(volatile u32*)&view.team_code[team].bytes != view.common_code.bytes) {
    orders |= kYieldOrder;  // the host must use the other kernel
    atomicOr(&view.report->orders, (u32)kYieldOrder);
  }
  if (orders != 0 && alive)
    view.stops[lane] = stop_record((orders & kCancelOrder) ? StopCode::cancelled : StopCode::none);
  return __any_sync(members, orders != 0);
}

template <u32 kBlocks, bool kSeveral>
__global__ void __launch_bounds__(kWarps* kTeam, kBlocks) run_kernel(const __grid_constant__ View view) {
  extern __shared__ u64 shared[];
  const u32 warp = threadIdx.x / kTeam, lane_in_team = threadIdx.x % kTeam;
  const u32 team = blockIdx.x * kWarps + warp;
  if (team >= view.teams) return;
  const u32 lane = (u32)lane_at(team, lane_in_team);
  // Threads without a lane leave: if they waited, they would slow the others down.
  const u32 members = __ballot_sync(0xFFFFFFFFu, lane < view.lanes);
  if (lane >= view.lanes) return;
  const LaneBounds bounds = begin_lane(view, lane);
  const u64 end = bounds.end;
  bool alive = bounds.alive;
  if (__ballot_sync(members, alive) == 0) return;

  const u32 column = (u32)__cvta_generic_to_shared(shared) + (warp * kSharedSlots * kTeam + lane_in_team) * 8;
  Interpreter<true> cpu{view, column, table_of(view, team, lane_in_team), lane, (u32)(lane_in_team * view.lane_step)};
  for (u32 slot = 0; slot <= kSlotSP; slot++) cpu.set_r(slot, view.state[slot * view.lanes + lane]);
  cpu.set_r(kSlotZero, 0);
  // The host may have written more bits than these registers have, through an ArrayView.
  cpu.set_system(SystemField::fpcr, view.state[kPlaneFpcr * view.lanes + lane] & kFpcrMask);
  cpu.set_system(SystemField::fpsr, view.state[kPlaneFpsr * view.lanes + lane] & kFpsrMask);
  cpu.nzcv = (u32)view.state[kPlaneNzcv * view.lanes + lane] & 15;
  {
    u64 offset = view.state[kPlanePc * view.lanes + lane] - view.window_begin;
    bool inside = offset < view.page_count << kPageBits && (offset & 3) == 0;
    cpu.at = inside ? (u32)offset : kOutside;
  }
  const bool was_alive = alive;
  bool waits = true;  // at a call or return, waiting for the others
  Code<kBlocks == kManyBlocks, kSeveral> code{view, 0, nullptr, 0};
  if (!code.kEachTurn) code.find(team);
  // The shuffle hides from the compiler that this is a constant: it would load a constant again for each instruction.
  code.skip = __shfl_sync(members, 4 - view.code_begin, 0);
  u32 reported = (u32)clock() - kReportCycles;
  cpu.retires_at_zero = view.state[kPlaneInstructions * view.lanes + lane];

  for (;;) {
    __syncwarp(members);
    const bool used_up = alive && cpu.left == 0;
    if (__any_sync(members, used_up || (u32)clock() - reported >= kReportCycles)) {
      if (used_up && cpu.retired() >= end) {
        view.stops[lane] = stop_record(StopCode::budget);
        alive = false;
      }
      // While there is an order, warps that have left wait for the others.
      const bool ordered = *(volatile u32*)&view.report->orders != 0;
      if (__any_sync(members, ordered || (u32)clock() - reported >= kReportCycles)) {
        reported = (u32)clock();
        if (was_alive) publish(view, lane, cpu.retired(), alive ? StopCode::none : view.stops[lane].code);
        if (follow_orders<kSeveral>(view, members, lane, cpu.at, alive)) break;
      }
    }
    const u32 live = __ballot_sync(members, alive);
    if (live == 0) break;
    // Once all lanes that are alive wait at a call or return: if they are at one pc, all go on. Else those deepest in
    // the stack go on, and of these only the ones at the lowest pc.
    if (__all_sync(members, waits || !alive)) {
      u32 first_at = __shfl_sync(members, cpu.at, __ffs(live) - 1);
      bool chosen = alive && cpu.at == first_at;
      if (__ballot_sync(members, chosen) != live) {
        u32 depth = alive ? (u32)(cpu.r(kSlotSP) >> 4) : kNone;
        u32 deepest = least(members, depth);  // all members call it, so never inside a condition
        bool candidate = alive && depth == deepest;
        u32 lowest = least(members, candidate ? cpu.at : kNone);
        chosen = candidate && cpu.at == lowest;
      }
      waits = !chosen;
    }
    cpu.pending = Pending::none;
    if (alive && !waits) {
      // A new quantum each time, so that lanes that go on together also stop together.
      const u64 retired = cpu.retired(), remaining = end - retired;
      cpu.left = remaining < kQuantum ? (u32)remaining : kQuantum;
      cpu.retires_at_zero = retired + cpu.left;
      if (code.kEachTurn) code.find(team);
      run_lane<kBlocks == kManyBlocks>(cpu, code);
      waits = cpu.pending == Pending::none && cpu.left != 0;
      if (cpu.pending == Pending::stopped) {
        alive = false;
        if (retires_as_it_stops(view.stops[lane].code)) {
          cpu.retires_at_zero++;
          cpu.at += 4;
        }
      }
    }
    __syncwarp(members);
    if (copy_pending_pages(view, team, members, cpu.pending, alive)) {
      if (!code.kEachTurn) code.find(team);
      reported -= kReportCycles;
    }
  }

  const u64 retired = cpu.retired();
  end_lane(view, members, lane, was_alive, retired);
  if (!was_alive) return;
  for (u32 slot = 0; slot <= kSlotSP; slot++) view.state[slot * view.lanes + lane] = cpu.r(slot);
  view.state[kPlaneNzcv * view.lanes + lane] = cpu.nzcv;
  view.state[kPlaneFpcr * view.lanes + lane] = cpu.system(SystemField::fpcr);
  view.state[kPlaneFpsr * view.lanes + lane] = cpu.system(SystemField::fpsr);
  if (cpu.at != kOutside) view.state[kPlanePc * view.lanes + lane] = view.window_begin + cpu.at;
}

}  // namespace
}  // namespace myriarm::cuda
