// SPDX-License-Identifier: Apache-2.0
// The interpreter for fleets that do not fill the device: more registers, fewer blocks.
#include "backends/cuda/interpreter/run_kernel.cuh"

namespace myriarm::cuda {

const void* few_blocks_kernel() { return address_of(run_kernel<kFewBlocks, true>); }

}  // namespace myriarm::cuda
