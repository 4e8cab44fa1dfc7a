// SPDX-License-Identifier: Apache-2.0
// The loop of Backend::run(), the same on every backend: it dispatches batches until the order is carried out, no lane
// is left, or the run is cancelled. The backend passes the functions that dispatch a batch, or a chain of batches.
#pragma once

#include "backends/backend.h"
#include "backends/common/run_protocol.h"

namespace myriarm {

/// What one dispatch did: RunReport's fields, of this dispatch alone. `stops` does not count lanes that are left.
using DispatchReport = RunReport;

/// `dispatch(phase, batches)` runs at most that many batches and returns a DispatchReport.
/// `cancelled()` tells whether cancel() was called.
/// `resume_starved()` finds more memory and clears the stop of the lanes that ran out of it; false: it cannot.
template <class Dispatch, class Cancelled, class ResumeStarved>
RunReport run_batches(const RunOrder& order, Dispatch dispatch, Cancelled cancelled, ResumeStarved resume_starved) {
  constexpr auto kOutOfMemory = static_cast<u32>(StopCode::out_of_memory);
  constexpr auto kBudget = static_cast<u32>(StopCode::budget);
  RunReport total;
  Phase phase = order.first ? Phase::first : Phase::next;
  u64 batches = order.batches != 0 ? order.batches : 1;
  for (;;) {
    const DispatchReport report = dispatch(phase, batches);
    const bool again = phase == Phase::again;
    total.retired += report.retired;
    total.left = again ? total.left + report.left : report.left;
    total.paused = report.paused;
    // A batch that continues was counted when it began.
    total.batches += report.batches - again;
    for (u32 code = 0; code < kStopCodes; code++) total.stops[code] += report.stops[code];
    if (report.stops[kOutOfMemory] != 0 && resume_starved()) {
      total.stops[kOutOfMemory] -= report.stops[kOutOfMemory];
      phase = Phase::again;
      batches = 1;
      continue;
    }
    const bool returns = order.returns_for_calls && total.stops[static_cast<u32>(StopCode::syscall)] != 0;
    if (returns || cancelled() || total.left == 0 || total.batches >= order.batches) break;
    phase = Phase::next;
    batches = order.batches - total.batches;
  }
  total.stops[kBudget] += total.left;
  return total;
}

}  // namespace myriarm
