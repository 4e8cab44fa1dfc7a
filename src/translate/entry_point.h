// SPDX-License-Identifier: Apache-2.0
// Where lanes enter translated code. A region that a lane leaves looks here for the entry of the next one.
#pragma once

#include "core/portable.h"

namespace myriarm::translate {

struct LaneState;

/// Why translated code has returned. In either case registers, pc and the count of retired instructions in the LaneState
/// are exact, and its region_flags are.
enum class RegionEnd : u64 {
  left,     // the lane goes on at pc: there is no region, or it has reached the limit
  stopped,  // the instruction at pc has not retired: its access was refused or must be made again (the slow path said so)
  goes_on,  // within copied code alone: the lane goes on in code that is not copied, at LaneState::next_point
};

/// Runs the lane from entry number `number` of a region on. `count`: instructions that the lane has retired, less
/// LaneState::region_limit; the lane leaves at the first check after that is no longer negative. A region that the lane
/// leaves for the entry of another one goes on there and does not return.
using RegionFunction = RegionEnd (*)(LaneState* lane, u64 number, u64 count);

/// An entry of a region.
struct EntryPoint {
  RegionFunction run;
  u64 number;
  const void* inside = nullptr;  // of copied code: where such code goes on, with its own calling convention
};

/// The entries of a code space, by instruction word.
struct EntryPoints {
  const EntryPoint* const* points = nullptr;  // null inside: the word is no entry. Other threads add entries
  u64 address = 0;                            // of the first word, a multiple of 4
  u64 bytes = 0;                              // of addresses that may be entries

  /// The entry at an address; null if there is none.
  MYR_FN const EntryPoint* at(u64 pc) const {
    const u64 offset = pc - address;
    if (offset >= bytes || (offset & 3) != 0) return nullptr;
    return __atomic_load_n(points + offset / 4, __ATOMIC_ACQUIRE);
  }
};

}  // namespace myriarm::translate
