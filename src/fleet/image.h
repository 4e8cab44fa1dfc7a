// SPDX-License-Identifier: Apache-2.0
// Program segments to pages of a window: checked once, for every backend.
#pragma once

#include "backends/backend.h"

namespace myriarm {

/// Throws ArgumentError if segments overlap, wrap around, or do not fit into `memory` bytes from the lowest page up.
Image make_image(const Program& program, u64 memory, u64 lanes);

}  // namespace myriarm
