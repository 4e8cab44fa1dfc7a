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
/// whether to publish its progress. kSlowQuantum is for teams that are slow, since they decode as they run or have flat
/// memory, and their lanes may run one after the other.
constexpr u32 kQuantum = 1u << 14, kSlowQuantum = 1u << 10;

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

/// The predecoded words that a team runs; none, if it decodes as it runs. In a fleet of one program (kSeveral is false)
/// they are at one address for all teams, which takes no register.
template <bool kSeveral>
struct Code {
  const View& view;
  const Operands* own_words;  // of the team's program: kRowNotPredecoded, then its words
  u32 bytes;                  // of guest code: a predecoded word is four times as long
  u32 skip;                   // with kSeveral: what to add to an offset in the window for one in own_words

  MYR_FN void find(u32 team) {
    if (kSeveral) own_words = view.code + (u64)view.team_program[team] * (view.code_words + 1);
    bytes = *(const volatile u8*)&view.own_code[team] != 0 ? 0 : view.code_words * 4;
  }

  /// The word at an offset of the window. Does not branch: where there is none it returns word 0, which runs out of
  /// line.
  MYR_FN uint4 fetch(u32 at) const {
    const Operands* words = kSeveral ? own_words : view.code;
    u32 offset = kSeveral ? at + skip : at - view.code_begin + 4;
    return __ldg((const uint4*)((const u8*)words + (u64)(offset <= bytes ? offset : 0) * 4));
  }
  MYR_FN static Operands operands(uint4 raw) {
    Operands o;
    o.kind = (u16)raw.x;
    o.row = (u16)(raw.x >> 16);
    o.rd = (u8)raw.y;
    o.rn = (u8)(raw.y >> 8);
    o.rm = (u8)(raw.y >> 16);
    o.ra = (u8)(raw.y >> 24);
    o.imm = raw.z | (u64)raw.w << 32;
    return o;
  }
};

/// Runs one lane until it has run a call or a return, something is pending, or it has used up `cpu.left`, which must
/// not be 0. Every branch in this function costs a warp that runs alone some twenty cycles: see
/// docs/design/cuda-interpreter.md. kLean: there are few registers, see kSlotPlace.
template <bool kLean, bool kSeveral>
MYR_FN void run_lane(Interpreter<true>& cpu, Code<kSeveral>& code) {
  bool goes_on;
  do {
    const Operands o = Code<kSeveral>::operands(code.fetch(cpu.at));
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
  Code<kSeveral> code{view, nullptr, 0, 0};
  code.find(team);
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
      if (__any_sync(members, (u32)clock() - reported >= kReportCycles)) {
        reported = (u32)clock();
        if (was_alive) publish(view, lane, cpu.retired(), alive ? StopCode::none : view.stops[lane].code);
        if (__any_sync(members, sees_cancel(view)) && alive) {
          view.stops[lane] = stop_record(StopCode::cancelled);
          alive = false;
        }
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
      const u32 quantum = code.bytes != 0 && !is_flat(view) ? kQuantum : kSlowQuantum;
      const u64 retired = cpu.retired(), remaining = end - retired;
      cpu.left = remaining < quantum ? (u32)remaining : quantum;
      cpu.retires_at_zero = retired + cpu.left;
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
    if (copy_pending_pages(view, team, members, cpu.pending, alive)) code.bytes = 0;
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
