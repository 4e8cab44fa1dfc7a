// SPDX-License-Identifier: Apache-2.0
// The kernel of the CUDA interpreter for programs that are no processes: one warp runs one team of 32 lanes, from the state
// arrays to the last stop, in one launch. Processes have a kernel of their own, run_process_kernel.cuh: serving calls takes
// registers from the turn of a lane, which costs some programs a tenth of their speed.
#pragma once

#include "backends/cuda/interpreter/turns.cuh"

namespace myriarm::cuda {
namespace {

template <u32 kBlocks, bool kSeveral>
__global__ void __launch_bounds__(kWarps* kTeam, kBlocks) run_kernel(const __grid_constant__ View view) {
  const u32 warp = threadIdx.x / kTeam, lane_in_team = threadIdx.x % kTeam;
  const u32 team = blockIdx.x * kWarps + warp;
  if (team >= view.teams) return;
  const u32 lane = (u32)lane_at(team, lane_in_team);
  // Threads without a lane leave: if they waited, they would slow the others down.
  const u32 members = __ballot_sync(0xFFFFFFFFu, lane < view.lanes);
  if (lane >= view.lanes) return;
  const LaneBounds bounds = begin_lane<false>(view, lane);
  const u64 end = bounds.end;
  bool alive = bounds.alive;
  if (__ballot_sync(members, alive) == 0) return;

  const u32 column = (u32)__cvta_generic_to_shared(block_words()) + (warp * kSharedSlots * kTeam + lane_in_team) * 8;
  Interpreter<true> cpu{view, column, table_of_team(view, team), lane, (u32)(lane_in_team * view.lane_step)};
  load_registers(cpu);
  cpu.nzcv = loaded_nzcv(view, lane);
  cpu.at = loaded_place(view, lane);
  const bool was_alive = alive;
  bool waits = true;  // at a call or return, waiting for the others
  Code<kBlocks == kManyBlocks, kSeveral> code{view, 0, nullptr, 0};
  if (!code.kEachTurn) code.template find<true>(team);
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
        if (follow_orders<kSeveral, false>(view, members, lane, cpu.at, alive)) break;
      }
    }
    const u32 live = __ballot_sync(members, alive);
    if (live == 0) break;
    if (__all_sync(members, waits || !alive)) waits = !goes_on_first(cpu, members, live, alive, false);
    cpu.pending = Pending::none;
    if (alive && !waits) {
      // A new quantum each time, so that lanes that go on together also stop together.
      const u64 retired = cpu.retired(), remaining = end - retired;
      cpu.left = remaining < kQuantum ? (u32)remaining : kQuantum;
      cpu.retires_at_zero = retired + cpu.left;
      if (code.kEachTurn) code.template find<true>(team);
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
    if (copy_pending_pages<false>(view, team, members, cpu.pending, alive)) {
      if (!code.kEachTurn) code.template find<true>(team);
      reported -= kReportCycles;
    }
  }

  const u64 retired = cpu.retired();
  end_lane<false>(view, members, lane, was_alive, retired);
  if (was_alive) store_registers(cpu, 0);
}

}  // namespace
}  // namespace myriarm::cuda
