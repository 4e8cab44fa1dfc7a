// SPDX-License-Identifier: Apache-2.0
// The CPU's interpreter of predecoded instructions: an engine of cpu/engine.h.
#pragma once

#include "backends/cpu/lane.h"

namespace myriarm::cpu {

/// EngineEntry::run of cpu/engine.h.
void run_interpreter(Lane& lane, u64 limit, u64 quantum);
/// The same, and where the lane's code has a region of translated code, it runs that.
void run_translated(Lane& lane, u64 limit, u64 quantum);
/// The same, but the lane changes between the interpreter and regions wherever it can, for tests.
void run_translated_changing(Lane& lane, u64 limit, u64 quantum);

}  // namespace myriarm::cpu
