// SPDX-License-Identifier: Apache-2.0
// The engines of the CPU backend. The backend owns lanes, memory, frames and threads; an engine runs one lane at a
// time, up to a bound, and keeps its state between two calls in the lane alone.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/lane.h"

namespace myriarm::cpu {

struct EngineEntry {
  /// Runs the lane, which has retired fewer than `limit` instructions, from lane.pc on, until
  ///   - it has a stop: lane.stop says why, and lane.pc is the address of the instruction, which has not retired;
  ///   - lane.restart is set: the instruction at lane.pc has not run and must run again, whatever lane.stop says;
  ///   - it has retired `limit` instructions in all, or about `quantum` in this call.
  /// lane.pc and lane.retired are exact when it returns. Except for where a quantum ends, all engines return with the
  /// same state.
  void (*run)(Lane& lane, u64 limit, u64 quantum);
};

const EngineEntry& engine_entry(Engine engine);
/// Engine::translate, for tests: see TranslationSetup::longest_visit.
const EngineEntry& changing_engine_entry();

}  // namespace myriarm::cpu
