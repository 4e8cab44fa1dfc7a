// SPDX-License-Identifier: Apache-2.0
// How far a lane may go: budgets, batches and which stops a run takes up. Each backend asks these functions about each
// of its lanes, on the host or on the device; the loop over batches is backends/run_batches.h.
#pragma once

#include "core/stop.h"

namespace myriarm {

/// What a batch is to its run.
enum class Phase : u32 {
  first,  // a run begins with it
  next,   // another batch of the same run
  again,  // the batch goes on: the host has mended what stopped some lanes, which have no stop now
};

/// A lane retires no more than this in all, whatever its limit: engines may count in units of 16.
constexpr u64 kMostRetired = (u64)1 << 58;

/// How far a lane may go in a run, as a number that a plane of the lanes' state holds: a count of retired
/// instructions, and one flag.
struct RunEnd {
  /// The lane had StopCode::budget when a run began that leaves such lanes alone.
  static constexpr u64 kSitsOut = (u64)1 << 63;
  u64 bits;

  MYR_FN u64 count() const { return bits & ~kSitsOut; }
  MYR_FN bool sits_out() const { return (bits & kSitsOut) != 0; }
  /// The end of a lane that was given a new stop: the run takes it up again.
  MYR_FN RunEnd taken_up() const { return {count()}; }
};

MYR_FN u64 saturating_add(u64 a, u64 b) { return a + b < a ? ~(u64)0 : a + b; }
MYR_FN u64 smaller(u64 a, u64 b) { return a < b ? a : b; }

/// Where a run ends for a lane with this limit, count and stop. `go_on`: as RunOrder has it.
MYR_FN RunEnd end_of_run(u64 limit, u64 retired, u64 budget, StopCode stop, bool go_on) {
  u64 count = smaller(smaller(limit, saturating_add(retired, budget)), kMostRetired);
  return {stop == StopCode::budget && !go_on ? count | RunEnd::kSitsOut : count};
}

/// Whether the run has a further batch for a lane that stopped for its budget.
MYR_FN bool has_budget(RunEnd end, u64 retired) { return !end.sits_out() && retired < end.count(); }

/// Whether a batch runs a lane.
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
