// SPDX-License-Identifier: Apache-2.0
// The interpreter of processes, for fleets that fill the device, while lanes of a team differ in the permissions of
// pages.
#include "backends/cuda/interpreter/run_process_kernel.cuh"

namespace myriarm::cuda {

const void* process_many_blocks_own_pages_kernel() { return address_of(run_process_kernel<kManyBlocks, true, true>); }

}  // namespace myriarm::cuda
