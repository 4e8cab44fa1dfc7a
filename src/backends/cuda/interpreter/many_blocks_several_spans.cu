// SPDX-License-Identifier: Apache-2.0
// The interpreter for fleets that fill the device, and whose teams run from several spans of code.
#include "backends/cuda/interpreter/run_kernel.cuh"

namespace myriarm::cuda {

const void* many_blocks_several_spans_kernel() { return address_of(run_kernel<kManyBlocks, true>); }

}  // namespace myriarm::cuda
