// SPDX-License-Identifier: Apache-2.0
// Finds the predecoded instructions that a lane runs: nothing else decides which region serves a page.
#pragma once

#include "backends/cpu/lane.h"

namespace myriarm::cpu {

/// Who owns the predecoded instructions of a page that a lane runs.
enum class CodeOwner : u8 { none, program, lane };
CodeOwner code_owner(const Lane& lane, u64 address);

/// Makes the region that contains pc the current one, and sets lane.place for `retired` instructions so far. False: it
/// recorded a fault, put pc into far_pc, and set op to the far marker.
bool enter_region(Lane& lane, u64 pc, u64 retired);

/// To be called when bytes were written: the lane's own regions decode them again.
void code_written(Lane& lane, u64 address, u64 size);
/// Gives the lane its own copy of each of the program's regions, which it runs from then on.
void privatise_code(Lane& lane);

}  // namespace myriarm::cpu
