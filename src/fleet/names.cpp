// SPDX-License-Identifier: Apache-2.0
// Names of stops and signals, and which signal belongs to a stop.
#include "fleet/fleet_impl.h"

namespace myriarm {

static_assert(sizeof(Stop) == sizeof(StopRecord), "a stop record is a Stop");
static_assert(static_cast<int>(StopReason::exited) == static_cast<int>(StopCode::exited), "same order");
static_assert(static_cast<int>(FaultKind::alignment) == static_cast<int>(FaultCode::alignment), "same order");
static_assert(kStopReasons == static_cast<unsigned>(StopReason::exited) + 1, "one count a reason");

const char* name(StopReason reason) {
  switch (reason) {
    case StopReason::none: return "none";
    case StopReason::halt: return "halt";
    case StopReason::syscall: return "syscall";
    case StopReason::breakpoint: return "breakpoint";
    case StopReason::budget: return "budget";
    case StopReason::fault: return "fault";
    case StopReason::undefined: return "undefined";
    case StopReason::out_of_memory: return "out_of_memory";
    case StopReason::cancelled: return "cancelled";
    case StopReason::exited: return "exited";
  }
  return "unknown";
}

const char* name(FaultKind kind) {
  switch (kind) {
    case FaultKind::none: return "none";
    case FaultKind::unmapped: return "unmapped";
    case FaultKind::read: return "read";
    case FaultKind::write: return "write";
    case FaultKind::execute: return "execute";
    case FaultKind::alignment: return "alignment";
  }
  return "unknown";
}

const char* name(Signal signal) {
  switch (signal) {
    case Signal::running: return "running";
    case Signal::halt: return "halt";
    case Signal::syscall: return "syscall";
    case Signal::checkpoint: return "checkpoint";
    case Signal::fault: return "fault";
    case Signal::breakpoint: return "breakpoint";
    case Signal::cancelled: return "cancelled";
  }
  return "unknown";
}

const char* name(Engine engine) {
  switch (engine) {
    case Engine::interpreter: return "interpreter";
    case Engine::stepper: return "stepper";
    case Engine::translate: return "translate";
    case Engine::automatic: return "auto";
  }
  return "unknown";
}

Signal signal_of(StopReason reason) {
  switch (reason) {
    case StopReason::none: return Signal::running;
    case StopReason::halt:
    case StopReason::exited: return Signal::halt;
    case StopReason::syscall: return Signal::syscall;
    case StopReason::breakpoint: return Signal::breakpoint;
    case StopReason::budget: return Signal::checkpoint;
    case StopReason::fault:
    case StopReason::undefined:
    case StopReason::out_of_memory: return Signal::fault;
    case StopReason::cancelled: return Signal::cancelled;
  }
  return Signal::running;
}

Signal signal_of(const std::array<uint64_t, kStopReasons>& stops) {
  for (Signal signal : {Signal::fault, Signal::syscall, Signal::breakpoint, Signal::cancelled, Signal::halt}) {
    for (unsigned reason = 0; reason < kStopReasons; reason++) {
      if (stops[reason] != 0 && signal_of(static_cast<StopReason>(reason)) == signal) return signal;
    }
  }
  return Signal::checkpoint;
}

}  // namespace myriarm
