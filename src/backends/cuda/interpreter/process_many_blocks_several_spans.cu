// SPDX-License-Identifier: Apache-2.0
// The interpreter of processes, for fleets that fill the device, and whose teams run from several spans of code.
#include "backends/cuda/interpreter/run_process_kernel.cuh"

namespace myriarm::cuda {

const void* process_many_blocks_several_spans_kernel() {
  return address_of(run_process_kernel<kManyBlocks, true, false>);
}

}  // namespace myriarm::cuda
