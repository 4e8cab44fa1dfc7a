// SPDX-License-Identifier: Apache-2.0
// Which predecoded instructions a lane runs: the one place that answers where those of a page are.
#pragma once

#include "backends/cpu/lane.h"

namespace myriarm::cpu {

/// Whose predecoded instructions a page has, for a lane.
enum class CodeOwner : u8 { none, program, lane };
CodeOwner code_owner(const Lane& lane, u64 address);

/// Makes the region that holds pc the current one, and sets the place for `retired` instructions so far. False: the
/// fault is recorded; pc is kept in far_pc with op at the far marker.
bool enter_region(Lane& lane, u64 pc, u64 retired);

/// Tells a lane's code that bytes were written.
void code_written(Lane& lane, u64 address, u64 size);
/// Takes the lane off the program's code: it gets a copy of each region.
void privatise_code(Lane& lane);

}  // namespace myriarm::cpu
