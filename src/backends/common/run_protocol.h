// SPDX-License-Identifier: Apache-2.0
// How far a lane may go in a run and in a batch, and which stopped lanes a run resumes. Each backend calls these
// functions for each of its lanes, on the host or on the device; the loop over batches is backends/run_batches.h.
#pragma once

#include "core/stop.h"

namespace myriarm {

/// Whether the stop of a lane that is a process may be a signal for which it has a handler.
MYR_FN bool is_fault_of_process(StopCode code) {
  return code == StopCode::fault || code == StopCode::undefined || code == StopCode::breakpoint ||
         code == StopCode::halt;
}

/// The place of a batch in its run.
enum class Phase : u32 {
  first,  // the first batch
  next,   // a later batch
  again,  // the same batch continues: the host has cleared the out_of_memory stop of some lanes
};

/// The most instructions that a lane can retire, whatever its limit: an engine may hold 16 times the count in 64 bits.
constexpr u64 kMostRetired = (u64)1 << 58;

/// Where a run ends for a lane, in 64 bits, so that it fits a plane of the lanes' state: a count of retired
/// instructions, and one flag.
struct RunEnd {
  /// The lane had StopCode::budget when the run began, and this run does not resume such lanes.
  static constexpr u64 kExcluded = (u64)1 << 63;
  u64 bits;

  MYR_FN u64 count() const { return bits & ~kExcluded; }
  MYR_FN bool is_excluded() const { return (bits & kExcluded) != 0; }
  /// The same without the flag, for a lane that got a new stop: the run may resume it.
  MYR_FN RunEnd included() const { return {count()}; }
};

MYR_FN u64 saturating_add(u64 a, u64 b) { return a + b < a ? ~(u64)0 : a + b; }
MYR_FN u64 smaller(u64 a, u64 b) { return a < b ? a : b; }

/// Where a run ends for a lane with this limit, count and stop. `go_on` is RunOrder::go_on.
MYR_FN RunEnd end_of_run(u64 limit, u64 retired, u64 budget, StopCode stop, bool go_on) {
  u64 count = smaller(smaller(limit, saturating_add(retired, budget)), kMostRetired);
  return {stop == StopCode::budget && !go_on ? count | RunEnd::kExcluded : count};
}

/// Whether a lane with StopCode::budget may retire more instructions in this run.
MYR_FN bool has_budget(RunEnd end, u64 retired) { return !end.is_excluded() && retired < end.count(); }

/// Whether a lane takes part in a batch.
MYR_FN bool takes_part(StopCode stop, Phase phase, bool go_on, RunEnd end, u64 retired) {
  switch (stop) {
    case StopCode::none: return true;
    case StopCode::budget: return phase == Phase::first ? go_on : phase == Phase::next && has_budget(end, retired);
    case StopCode::cancelled: return phase == Phase::first && go_on;
    default: return false;
  }
}

/// Where a batch ends for a lane that takes part in it.
MYR_FN u64 end_of_batch(RunEnd end, u64 retired, u64 batch) {
  return smaller(end.count(), saturating_add(retired, batch));
}

/// Whether a lane that took part in a batch is left for the next one.
MYR_FN bool is_left(StopCode stop, RunEnd end, u64 retired) {
  return stop == StopCode::budget && retired < end.count();
}

}  // namespace myriarm
