// SPDX-License-Identifier: Apache-2.0
// The CPU's stepping engine: an engine of cpu/engine.h.
#pragma once

#include "backends/cpu/lane.h"

namespace myriarm::cpu {

/// EngineEntry::run of cpu/engine.h.
void run_stepper(Lane& lane, u64 limit, u64 quantum);

}  // namespace myriarm::cpu
