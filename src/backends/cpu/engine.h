// SPDX-License-Identifier: Apache-2.0
// What the backend knows of its engines. The backend owns lanes, memory, frames and threads; an engine runs one lane at
// a time, up to a bound, and keeps nothing from one call to the next but what it finds in the lane.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/lane.h"

namespace myriarm::cpu {

struct EngineEntry {
  /// Runs the lane from lane.pc, which has retired fewer than `limit` instructions, until
  ///   - it has a stop: lane.stop says why, and lane.pc is that of the instruction, which has not retired;
  ///   - lane.restart is set: the instruction at lane.pc has not run and must run again, whatever lane.stop says;
  ///   - it has retired `limit` instructions in all, or about `quantum` in this call.
  /// lane.pc and lane.retired are exact when it returns. Engines agree on all of this to the instruction.
  void (*run)(Lane& lane, u64 limit, u64 quantum);
};

const EngineEntry& engine_entry(Engine engine);

}  // namespace myriarm::cpu
