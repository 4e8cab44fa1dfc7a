// SPDX-License-Identifier: Apache-2.0
// Serves the system calls of a team's lanes that are processes. Out of line, so that the kernels that call it keep their
// registers.
#pragma once

#include "backends/cuda/process/machine.cuh"
#include "backends/cuda/process/team_pages.cuh"
#include "kernel/serve.h"

namespace myriarm::cuda {

/// Whether the call of the SVC behind which a lane has stopped is to be served. If the launch is to end for it instead, the
/// report says so from now on.
static __device__ inline bool is_to_be_served(const View& view, u32 lane) {
  if (view.stops[lane].code != StopCode::syscall || process_of(view, team_of(lane)) == nullptr) return false;
  const u32 stops = view.control->stops_at_calls;
  volatile u64* waits_from = &view.report->host_waits_from;
  if (stops == kReturnsForCalls && *waits_from == 0) *waits_from = tick_now();
  return stops == kServesCalls;
}

static __device__ inline void leave_for_host(const View& view, u32 lane) {
  view.processes.host_calls[atomicAdd(&view.report->host_calls, 1)] = lane;
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

/// Serves the calls of the lanes that have `calls`, which have stopped behind an SVC; `retired` includes it. All members
/// call it. Returns whether the thread's lane goes on; else it has a stop.
static __device__ __noinline__ bool serve_calls(const View& view, u32 members, u32 lane, Registers registers,
                                                u64 retired, bool calls) {
  const u32 team = team_of(lane);
  LaneMachine machine(view, lane, registers, retired);
  bool goes_on = false, open = calls;
  if (open && machine.input().on_host) {
    leave_for_host(view, lane);
    open = false;
  }
  while (__any_sync(members, open)) {
    machine.begin_attempt();
    if (open) {
      const kernel::Result result = kernel::serve(machine);
      open = result.served == kernel::Served::again;
      if (result.served == kernel::Served::answered) {
        registers.at(0) = (u64)result.value;
        view.stops[lane] = {};
        goes_on = true;
      } else if (result.served == kernel::Served::ended) {
        view.stops[lane] = stop_record(StopCode::exited, (u32)result.value);
      } else if (result.served == kernel::Served::missing && is_known(view, machine)) {
        registers.at(0) = (u64)result.value;
        view.stops[lane] = {};
        goes_on = true;
      } else if (result.served == kernel::Served::missing || machine.need == Need::host) {
        leave_for_host(view, lane);
        open = false;
      } else if (machine.need == Need::room) {
        abandon_call(view, lane, StopCode::none);
        atomicOr(&view.report->orders, (u32)kHostOrder);
        open = false;
      }
    }
    __syncwarp(members);
    bool failed = false;
    copy_pages_for(view, team, members, open && machine.need == Need::own_page, machine.page, failed);
    for (u32 wanting; (wanting = __ballot_sync(members, open && !failed && machine.need == Need::change)) != 0;) {
      // Lanes that ask for the same have it done together.
      const kernel::PageChange& own = machine.change;
      const int first = __ffs(wanting) - 1;
      const u64 begin = __shfl_sync(members, own.begin, first), end = __shfl_sync(members, own.end, first);
      const u32 kind = (u32)own.action << 8 | own.permissions, kind_of_all = __shfl_sync(members, kind, first);
      const bool mine =
          (wanting >> threadIdx.x % kTeam & 1) && own.begin == begin && own.end == end && kind == kind_of_all;
      const bool gone = view.processes.keep_memory == 0 && view.stops[lane].code == StopCode::exited;
      const TeamLanes lanes{team, members, __ballot_sync(members, !gone), __ballot_sync(members, mine)};
      const PageRun run{(begin >> kPageBits) - view.first_page, (end - begin) >> kPageBits, kind_of_all & 0xFF,
                        (kernel::PageAction)(kind_of_all >> 8)};
      const bool changed = change_pages(view, lanes, run);
      if (mine) {
        machine.need = Need::nothing;
        failed = !changed;
        if (changed) machine.change_is_made();
      }
    }
    if (failed) {
      abandon_call(view, lane, StopCode::out_of_memory);
      open = false;
    }
  }
  return goes_on;
}

}  // namespace myriarm::cuda
