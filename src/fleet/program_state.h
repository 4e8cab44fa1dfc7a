// SPDX-License-Identifier: Apache-2.0
// What a frozen program has beside its segments, pc and sp. Fleet::freeze() makes it, and every backend gets it through
// what it offers for single lanes: fields that are written, and pages behind the window.
#pragma once

#include <array>
#include <vector>

#include "fleet/image.h"

namespace myriarm {

struct ProgramState {
  u64 window_begin = 0;  ///< of the lane's fleet: the program may have unmapped its lowest page
  /// By Field. Zero for pc, sp and limit, which are not part of the state.
  std::array<u64, static_cast<size_t>(Field::count)> fields{};
  std::vector<u8> kernel_words;  ///< the lane's kernel pages, if it was a process; else empty
};

/// Gives the lanes of programs with a state their registers and counts, in a backend that was just made.
void write_states(Backend& backend, std::span<const PlacedProgram> programs);

}  // namespace myriarm
