// SPDX-License-Identifier: Apache-2.0
// The interpreter of processes, for fleets that fill the device, and whose teams all run from one span of code.
#include "backends/cuda/interpreter/run_process_kernel.cuh"

namespace myriarm::cuda {

const void* process_many_blocks_kernel() { return address_of(run_process_kernel<kManyBlocks, false, false>); }

}  // namespace myriarm::cuda
