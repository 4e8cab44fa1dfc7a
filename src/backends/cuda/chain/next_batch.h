// SPDX-License-Identifier: Apache-2.0
// The last node of a chain's graph.
#pragma once

#include "backends/cuda/view.h"

namespace myriarm::cuda {

/// Counts a batch and launches the graph that it is in again, unless the chain is done. Arguments: Control*, Report*,
/// const u32* cancel. One thread.
const void* next_batch_function();

}  // namespace myriarm::cuda
