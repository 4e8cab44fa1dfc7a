// SPDX-License-Identifier: Apache-2.0
// Program segments to pages of a window: checked once, for every backend.
#pragma once

#include "backends/backend.h"

namespace myriarm {

/// A program and its lanes, which the caller keeps.
struct PlacedProgram {
  const Program& program;
  u64 lanes;
};

/// Pages of a window of `memory` bytes from the lowest page of the programs up; without write permission if
/// `read_only`. Throws ArgumentError if segments overlap, wrap around, or do not fit.
Image make_image(std::span<const PlacedProgram> programs, u64 memory, bool read_only);

}  // namespace myriarm
