// SPDX-License-Identifier: Apache-2.0
// How a process ended, as Linux tells it.
#include <csignal>

#include "myriarm/linux.h"

namespace myriarm {

int linux_signal(const Stop& stop) {
  switch (stop.reason) {
    case StopReason::fault: return stop.fault == FaultKind::alignment ? SIGBUS : SIGSEGV;
    case StopReason::undefined:
    case StopReason::halt: return SIGILL;  // without a debugger HLT is an undefined instruction
    case StopReason::breakpoint: return SIGTRAP;
    case StopReason::exited: return stop.detail & kKilledStatus ? static_cast<int>(stop.detail & 0xff) : 0;
    default: return 0;
  }
}

LaneOutcome lane_outcome(const Stop& stop) {
  LaneOutcome outcome;
  outcome.stop = stop;
  outcome.signal = linux_signal(stop);
  if (stop.reason == StopReason::exited && !outcome.signal) outcome.exit_status = static_cast<int>(stop.detail);
  return outcome;
}

}  // namespace myriarm
