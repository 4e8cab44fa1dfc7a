// SPDX-License-Identifier: Apache-2.0
// The interpreter for fleets of several programs that fill the device.
#include "backends/cuda/interpreter/run_kernel.cuh"

namespace myriarm::cuda {

const void* many_blocks_several_programs_kernel() { return (const void*)run_kernel<kManyBlocks, true>; }

}  // namespace myriarm::cuda
