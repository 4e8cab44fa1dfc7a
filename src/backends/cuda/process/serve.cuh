// SPDX-License-Identifier: Apache-2.0
// What kernels ask for where a lane stops at a call or has a signal to take. What serves it is serve_lanes.cuh.
#pragma once

#include "backends/cuda/process/machine.cuh"
#include "kernel/signal_delivery.h"

#ifdef MYRIARM_CALLS_APART
#define MYRIARM_CALLS_LINKAGE
#else
#define MYRIARM_CALLS_APART of_one_kernel
#define MYRIARM_CALLS_LINKAGE static
#define MYRIARM_CALLS_HERE
#endif

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

/// What a lane needs of the kernel before its next instruction.
enum class Wants : u8 {
  nothing,
  call,     // the call of the SVC behind which it has stopped
  fault,    // the handler of the signal that its stop is
  signals,  // what it gets of signals that wait, and of timers
};

/// Whether a lane that is a process has stopped with what may be a signal for it.
static __device__ inline bool is_signal(const View& view, u32 lane) {
  return is_fault_of_process(view.stops[lane].code) && process_of(view, team_of(lane)) != nullptr;
}

/// Where kernels are linked together, they have one serve_lanes(), which is most of the code of a kernel that has its own. The host's linker
/// sees those of all modules, so that each has a name.
inline namespace MYRIARM_CALLS_APART {
/// Does for the lanes what they want. All members call it. `end`: the count of retired instructions at which the batch of the
/// thread's lane ends. Returns whether the lane goes on; else it has a stop.
MYRIARM_CALLS_LINKAGE __device__ bool serve_lanes(const View& view, u32 members, u32 lane, Registers registers,
                                                  LanePlace& place, u64 end, Wants wants);
}  // namespace MYRIARM_CALLS_APART

/// The count of retired instructions at which a lane is to be looked at: where its batch ends, or its process has a signal to
/// take.
static __device__ inline u64 next_look(const View& view, u32 lane, const Registers& registers, LanePlace& place,
                                       u64 end) {
  if (process_of(view, team_of(lane)) == nullptr) return end;
  return smaller(end, kernel::attention_at(LaneMachine(view, lane, registers, place)));
}

}  // namespace myriarm::cuda

#ifdef MYRIARM_CALLS_HERE
#include "backends/cuda/process/serve_lanes.cuh"
#endif
