// SPDX-License-Identifier: Apache-2.0
// The kernel of the last node in a chain's graph.
#pragma once

#include "backends/cuda/view.h"

namespace myriarm::cuda {

/// Counts a batch and launches its own graph again, unless the chain is done. Arguments: Control*, Report*, const u32*
/// cancel. One thread.
const void* next_batch_function();

}  // namespace myriarm::cuda
