// SPDX-License-Identifier: Apache-2.0
// What the kernel of every engine does for its team besides running instructions: it decides which lanes take part and
// how far they go, publishes progress to the host, copies pages that lanes wait for, and adds to the report. The rules
// are in backends/common/run_protocol.h.
#pragma once

#include "backends/cuda/team_memory.cuh"

namespace myriarm::cuda {

/// Clock cycles after which a warp publishes its progress and checks for a cancel again: some four milliseconds.
constexpr u32 kReportCycles = 1u << 23;

/// Why a lane left the instruction loop without retiring the instruction.
enum class Pending : u32 {
  none,
  stopped,      // its stop is recorded
  call,         // it has stopped behind an SVC whose call is to be served
  copy_page,    // it needs its own copy of a shared page, and then runs the instruction again
  out_of_line,  // the fast path cannot run it: it is rare, not predecoded, or its access is not simple
  look,         // it has come to where its batch ends or a timer of its process expires, or it begins
};

static __device__ inline u64& state_of(const View& view, u32 plane, u32 lane) {
  return view.state[plane * view.lanes + lane];
}

/// The Pending that a slow access results in. For a copy, the lane's stop record keeps the address.
static __device__ inline Pending pending_of(const View& view, u32 lane, const SlowResult& result) {
  if (result.outcome == SlowOutcome::done) return Pending::none;
  if (result.outcome == SlowOutcome::fault) return Pending::stopped;
  view.stops[lane].address = result.address;
  return Pending::copy_page;
}

/// StopRecord::reserved of a lane that leaves the launch before the SVC that it has run, since its call was abandoned.
constexpr u16 kBeforeCall = 1;

/// The same of a lane that goes on at once in the next launch: it has left the launch for an order and was not waiting for
/// others at a call or return, or the host has answered its call. If it waited there, lanes that parted between two calls
/// would run one after the other.
constexpr u16 kNotParked = 2;

/// How far a lane of this launch goes.
struct LaneBounds {
  u64 end;     // retired count at which the batch ends
  bool alive;  // it takes part
  bool calls;  // and begins with the call of the SVC behind which it has stopped
};
/// With `kProcesses`, as in the next functions, the team's lanes may be processes. Kernels of other programs are compiled
/// without a trace of them: docs/design/calls-on-a-gpu.md.
template <bool kProcesses>
static __device__ inline LaneBounds begin_lane(const View& view, u32 lane) {
  const u64 retired = state_of(view, kPlaneInstructions, lane);
  const Control control = *view.control;
  const StopCode stop = view.stops[lane].code;
  u64& run_end = state_of(view, kPlaneRunEnd, lane);
  if (control.phase == Phase::first) {
    run_end = end_of_run(state_of(view, kPlaneLimit, lane), retired, control.budget, stop, control.go_on != 0).bits;
  }
  const RunEnd end{run_end};
  bool calls = false;
  if constexpr (kProcesses) {
    const bool serves = control.serves_stopped != 0 && !(*(volatile u32*)&view.report->orders & kCancelOrder);
    calls = stop == StopCode::syscall &&
            (serves || view.stops[lane].reserved == kCallsAgain || view.stops[lane].reserved == kCallsHere) &&
            process_of(view, team_of(lane)) != nullptr;
  }
  const bool alive = calls || takes_part(stop, control.phase, control.go_on != 0, end, retired);
  u64& batch_end = state_of(view, kPlaneBatchEnd, lane);
  if (control.phase != Phase::again) batch_end = alive ? end_of_batch(end, retired, control.batch) : 0;
  return {batch_end, alive, calls};
}

/// Whether a lane that is under way has come to the end of its step.
static __device__ inline bool is_at_end_of_step(const View& view, u32 lane, u64 retired) {
  return view.control->in_steps != 0 && retired >= state_of(view, kPlaneBatchEnd, lane) &&
         has_budget(RunEnd{state_of(view, kPlaneRunEnd, lane)}, retired);
}

/// Publishes a lane's count and stop, which the host may read at any time. The count is written first, so that a host
/// that reads a stop then reads the count that belongs to it.
static __device__ __noinline__ void publish(const View& view, u32 lane, u64 retired, StopCode code) {
  *(volatile u64*)&view.progress[lane] = retired;
  __threadfence_system();
  *(volatile StopCode*)&view.codes[lane] = code;
}

/// What all warps must do now: Order bits. Every two milliseconds one warp reads the cancel flag in host memory, decides,
/// and writes the orders to the report for the others: if all warps read the flag, they would wait for the bus.
template <bool kProcesses>
static __device__ __noinline__ u32 current_orders(const View& view) {
  Report* report = view.report;
  const unsigned long long tick = tick_now();
  const unsigned long long before = atomicMax((unsigned long long*)&report->checked_at, tick);
  if (before < tick) {
    u32 orders = 0;
    if (*(const volatile u32*)view.cancel != 0) orders |= kCancelOrder;
    volatile u64* yields_from = &report->yields_from;
    if (before == 0) *yields_from = tick + view.control->yield_ticks;
    if (*(volatile u32*)&report->wants_code != 0 && before != 0 && tick >= *yields_from) orders |= kYieldOrder;
    if constexpr (kProcesses) {
      const u64 begin = *yields_from - view.control->yield_ticks, most = view.control->launch_ticks;
      if (most != 0 && tick >= begin + most) orders |= kHostOrder;
      const u64 differ_ticks = view.control->differ_ticks;
      if (differ_ticks != 0 && *(volatile u32*)&report->pages_differ != 0 && tick >= begin + differ_ticks) {
        orders |= kHostOrder;
      }
      volatile u64* waits_from = &report->host_waits_from;
      if (*(volatile u32*)&report->host_calls != 0 && *waits_from == 0) *waits_from = tick;
      if (*waits_from != 0 && tick >= *waits_from + view.control->host_ticks) orders |= kHostOrder;
    }
    if (orders != 0) atomicOr(&report->orders, orders);
  }
  return *(const volatile u32*)&report->orders;
}

/// Adds what the lanes of a warp did to the report of the launch. All members call it.
static __device__ __noinline__ void add_to_report(Report* report, u32 members, u64 retired, bool took_part,
                                                  StopCode code, bool left) {
  u64 sum = 0;
  for (u32 rest = members; rest != 0; rest &= rest - 1) sum += __shfl_sync(members, retired, __ffs(rest) - 1);
  const bool first = threadIdx.x % kTeam == __ffs(members) - 1;
  if (first && sum != 0) atomicAdd((unsigned long long*)&report->retired, (unsigned long long)sum);
  for (u32 reason = 0; reason < kStopCodes; reason++) {
    u32 count = __popc(__ballot_sync(members, took_part && !left && (u32)code == reason));
    if (first && count != 0) atomicAdd((unsigned long long*)&report->stops[reason], (unsigned long long)count);
  }
  u32 count = __popc(__ballot_sync(members, left));
  if (first && count != 0) atomicAdd((unsigned long long*)&report->left, (unsigned long long)count);
}

static __device__ inline void note_not_parked(const View& view, u32 lane) {
  StopRecord& stop = view.stops[lane];
  if (stop.code == StopCode::none) stop.reserved = kNotParked;
}
/// Whether a lane begins a launch as one that waits for others. To be called once.
static __device__ inline bool begins_parked(const View& view, u32 lane) {
  StopRecord& stop = view.stops[lane];
  if (stop.code == StopCode::syscall) return false;  // its call is served first
  if (stop.reserved != kNotParked) return true;
  stop.reserved = 0;
  return false;
}

/// Ends a lane's part in a launch: adds to the report, publishes the stop, and stores the count. All members call it.
/// Returns how far the lane's pc goes back: to an SVC whose call was abandoned.
template <bool kProcesses>
static __device__ inline u32 end_lane(const View& view, u32 members, u32 lane, bool took_part, u64 retired) {
  bool back = false;
  if constexpr (kProcesses) {
    back = took_part && view.stops[lane].reserved == kBeforeCall;
    if (back) {
      view.stops[lane].reserved = 0;
      if (retired != 0) retired--;
    }
  }
  const StopCode stop = view.stops[lane].code;
  bool left = took_part && is_left(stop, RunEnd{state_of(view, kPlaneRunEnd, lane)}, retired);
  if constexpr (kProcesses) {
    if (view.control->in_steps != 0) {
      const bool under_way = took_part && stop == StopCode::none;
      left = __any_sync(members, under_way && is_at_end_of_step(view, lane, retired)) && under_way;
    }
  }
  u64& count = state_of(view, kPlaneInstructions, lane);
  add_to_report(view.report, members, retired - count, took_part, stop, left);
  if (!took_part) return 0;
  publish(view, lane, retired, stop);
  count = retired;
  return back ? 4 : 0;
}

/// Makes a page of each lane that `wants` it writable, one page after the other. All members call it together. `own_table`: the
/// number of the page table of the thread's lane, which without `kProcesses` is the same for all. `failed` is set for lanes whose page
/// gets no frame. Returns whether a span of predecoded words has become shorter.
template <bool kProcesses>
static __device__ inline bool copy_pages_for(const View& view, u32 own_table, u32 members, bool wants, u64 own_page,
                                             bool& failed) {
  bool code = false;
  for (u32 wanting; (wanting = __ballot_sync(members, wants)) != 0;) {
    const u64 page = __shfl_sync(members, own_page, __ffs(wanting) - 1);
    const u32 table = kProcesses ? __shfl_sync(members, own_table, __ffs(wanting) - 1) : own_table;
    const CopyOutcome copied = make_page_writable(view, table, threadIdx.x % kTeam, members, page);
    if (wants && own_page == page && own_table == table) {
      wants = false;
      failed = copied == CopyOutcome::out_of_memory;
    }
    code |= copied == CopyOutcome::copied_code;
  }
  return code;
}

/// Copies the pages that lanes wait for. All members call it together. Returns whether a span of predecoded words has become shorter.
template <bool kProcesses>
static __device__ inline bool copy_pending_pages(const View& view, u32 team, u32 members, Pending& pending,
                                                 bool& alive) {
  const u32 lane = (u32)lane_at(team, threadIdx.x % kTeam);
  const bool wants = pending == Pending::copy_page;
  const u64 page = wants ? (untagged(view.stops[lane].address) >> kPageBits) - view.first_page : 0;
  const u32 table = kProcesses ? guest_table(view, lane) : team;
  bool failed = false;
  const bool code = copy_pages_for<kProcesses>(view, table, members, wants, page, failed);
  if (failed) {
    view.stops[lane] = stop_record(StopCode::out_of_memory);
    alive = false;
  }
  if (wants) pending = Pending::none;
  return code;
}

}  // namespace myriarm::cuda
