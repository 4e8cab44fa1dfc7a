// SPDX-License-Identifier: Apache-2.0
// The interpreter of processes, for fleets that do not fill the device: more registers, fewer blocks.
#include "backends/cuda/interpreter/run_process_kernel.cuh"

namespace myriarm::cuda {

const void* process_few_blocks_kernel() { return address_of(run_process_kernel<kFewBlocks, true, false>); }

}  // namespace myriarm::cuda
