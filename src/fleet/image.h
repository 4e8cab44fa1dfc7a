// SPDX-License-Identifier: Apache-2.0
// Turns the segments of programs into pages of a window of guest addresses, and checks them, once for every backend.
#pragma once

#include "backends/backend.h"

namespace myriarm {

/// A program and how many lanes run it. The caller keeps the program alive.
struct PlacedProgram {
  const Program& program;
  u64 lanes;
};

/// The pages of the programs in a window of `memory` bytes that begins at their lowest page. With `read_only` no page
/// is writable. Throws ArgumentError if segments overlap, wrap around, or do not fit.
Image make_image(std::span<const PlacedProgram> programs, u64 memory, bool read_only, const ProcessOptions& processes);

}  // namespace myriarm
