// SPDX-License-Identifier: Apache-2.0
// Runs one instruction for copied code: any that has no stencil, and any whose stencil has given up.
#pragma once

#include "core/operands.h"
#include "translate/lane_state.h"

namespace myriarm::cpu {

/// Runs an instruction that does not branch, at `pc`, of a Lane that has retired `retired` before it. Flags are LaneState::region_flags.
/// Returns the number of its Outcome; if that is Outcome::stop, the lane has its stop, or is to run it again.
u64 run_one(translate::LaneState* lane, const Operands* operands, u64 pc, u64 retired);

}  // namespace myriarm::cpu
