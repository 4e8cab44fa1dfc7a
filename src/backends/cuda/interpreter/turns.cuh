// SPDX-License-Identifier: Apache-2.0
// What the two kernels of the CUDA interpreter have in common: the turn of a lane, which lanes of a warp go on together
// (docs/design/meeting-at-calls.md), what a warp does on an order, and the registers between the state arrays and shared
// memory.
#pragma once

#include "backends/cuda/interpreter/execute.cuh"
#include "backends/cuda/start_kernel.cuh"

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

  /// The span of a team changes during a launch, but only by plain stores of this warp: the L1 cache may have it. The lanes of a group
  /// have another one, unless only what all lanes have is asked for.
  template <bool kOfAll = false>
  MYR_FN void find(u32 table) {
    if (!kSeveral) return;
    u64 words, begin_and_bytes;
    load_pair_in_order(&view.team_code[table], words, begin_and_bytes);
    if (!kOfAll && (begin_and_bytes & kHasGroup) != 0) {
      u64 words_of_group, lanes_and_bytes;
      load_pair_in_order(&view.group_code[table], words_of_group, lanes_and_bytes);
      const bool belongs = (lanes_and_bytes >> threadIdx.x % kTeam & 1) != 0;
      if (belongs) words = words_of_group, begin_and_bytes = lanes_and_bytes;
    }
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
template <bool kLean, bool kSeveral, bool kOwnPages>
MYR_FN void run_lane(Interpreter<true, kOwnPages>& cpu, Code<kLean, kSeveral>& code) {
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
        code.find(guest_table(cpu.view, cpu.lane));
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

/// If lanes run in a table from pages that may get predecoded words, tells the report of it. All members call it. `at`: where
/// the lane is; kOutside if that is outside the window, or if the lane runs in another table.
__device__ inline void note_code(const View& view, u32 members, u32 table, u32 at) {
  const CodeSpan code = code_of_lane(view, table, threadIdx.x % kTeam);
  const u32 page = at >> kPageBits, offset = at - code.begin;
  const bool predecoded = offset < code.bytes && page_sources(code)[offset >> kPageBits] != kNoCode;
  const bool stays = at != kOutside && !predecoded;
  if (stays) code_slot(view, table, page) = page + 1;
  if (!__any_sync(members, stays || *(volatile u32*)&view.code_ran[table] != 0)) return;
  const u32 now = (u32)tick_now();
  bool wants = false;
  for (u32 i = threadIdx.x % kTeam; i < kCodeSlots; i += __popc(members)) {
    const u32 slot = *(volatile u32*)&view.code_slots[table * kCodeSlots + i];
    if (slot != 0) wants |= wants_words(view.page_history[table * kCodeSlots + i], slot - 1, now);
  }
  wants = __any_sync(members, wants);
  if (threadIdx.x % kTeam == 0) {
    u32& state = view.code_state[table];
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
template <bool kSeveral, bool kProcesses>
__device__ __noinline__ bool follow_orders(const View& view, u32 members, u32 lane, u32 at, bool alive) {
  const u32 team = team_of(lane);
  if constexpr (kProcesses) {
    const u32 own = guest_table(view, lane);
    for (u32 rest = members; rest != 0;) {
      const u32 table = __shfl_sync(members, own, __ffs(rest) - 1);
      note_code(view, members, table, alive && own == table ? at : kOutside);
      rest &= ~__ballot_sync(members, own == table);
    }
  } else {
    note_code(view, members, team, alive ? at : kOutside);
  }
  u32 orders = __shfl_sync(members, current_orders<kProcesses>(view), 0);
  if (!kSeveral && *(volatile u32*)&view.team_code[team].bytes != view.common_code.bytes) {
    orders |= kYieldOrder;  // the host must use the other kernel
    atomicOr(&view.report->orders, (u32)kYieldOrder);
  }
  if (orders != 0 && alive)
    view.stops[lane] = stop_record((orders & kCancelOrder) ? StopCode::cancelled : StopCode::none);
  return __any_sync(members, orders != 0);
}

/// Whether a lane goes on, once all that are alive wait at a call or return: if they are at one pc, all do. Else those
/// deepest in the stack, and of these only the ones at the lowest pc; or, `by_progress`, at the pc of the one that has retired the least.
/// All members call it. `live`: those that are alive.
template <bool kOwnPages>
MYR_FN bool goes_on_first(const Interpreter<true, kOwnPages>& cpu, u32 members, u32 live, bool alive,
                          bool by_progress) {
  const u32 first_at = __shfl_sync(members, cpu.at, __ffs(live) - 1);
  bool chosen = alive && cpu.at == first_at;
  if (__ballot_sync(members, chosen) != live) {
    const u32 depth = alive ? (u32)(cpu.r(kSlotSP) >> 4) : kNone;
    const u32 deepest = least(members, depth);  // all members call it, so never inside a condition
    const bool candidate = alive && depth == deepest;
    // Only where it is asked for, which is the same for all members. Counts that differ by more than 2^31 are compared wrongly,
    // which only costs time.
    u32 order = cpu.at;
    if (by_progress)
      order = (u32)cpu.retired() - __shfl_sync(members, (u32)cpu.retired(), __ffs(live) - 1) + 0x80000000;
    const u32 first = least(members, candidate ? order : kNone);
    u32 chosen_at = first;
    if (by_progress) {
      const u32 behind = __ballot_sync(members, candidate && order == first);
      chosen_at = __shfl_sync(members, cpu.at, __ffs(behind) - 1);
    }
    chosen = candidate && cpu.at == chosen_at;
  }
  return chosen;
}

/// Puts the lane's registers into its column of shared memory. The host may have written more bits than some have,
/// through an ArrayView.
template <bool kOwnPages>
MYR_FN void load_registers(Interpreter<true, kOwnPages>& cpu) {
  const View& view = cpu.view;
  for (u32 slot = 0; slot <= kSlotSP; slot++) cpu.set_r(slot, view.state[slot * view.lanes + cpu.lane]);
  cpu.set_r(kSlotZero, 0);
  cpu.set_system(SystemField::fpcr, view.state[kPlaneFpcr * view.lanes + cpu.lane] & kFpcrMask);
  cpu.set_system(SystemField::fpsr, view.state[kPlaneFpsr * view.lanes + cpu.lane] & kFpsrMask);
}
MYR_FN u32 loaded_nzcv(const View& view, u32 lane) { return (u32)view.state[kPlaneNzcv * view.lanes + lane] & 15; }
MYR_FN u32 loaded_place(const View& view, u32 lane) {
  const u64 offset = view.state[kPlanePc * view.lanes + lane] - view.window_begin;
  return offset < view.window_bytes && (offset & 3) == 0 ? (u32)offset : kOutside;
}
/// Puts everything back. `back`: how many bytes pc lies before `at`.
template <bool kOwnPages>
MYR_FN void store_registers(const Interpreter<true, kOwnPages>& cpu, u32 back) {
  const View& view = cpu.view;
  for (u32 slot = 0; slot <= kSlotSP; slot++) view.state[slot * view.lanes + cpu.lane] = cpu.r(slot);
  view.state[kPlaneNzcv * view.lanes + cpu.lane] = cpu.nzcv;
  view.state[kPlaneFpcr * view.lanes + cpu.lane] = cpu.system(SystemField::fpcr);
  view.state[kPlaneFpsr * view.lanes + cpu.lane] = cpu.system(SystemField::fpsr);
  u64& pc = view.state[kPlanePc * view.lanes + cpu.lane];
  if (cpu.at != kOutside) pc = view.window_begin + cpu.at;
  if (back != 0) pc -= back;
}

}  // namespace
}  // namespace myriarm::cuda
