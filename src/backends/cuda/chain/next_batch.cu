// SPDX-License-Identifier: Apache-2.0
// The kernel that ends a batch and launches the next one from the device. It has its own file, since such a launch
// needs relocatable code, which would make the interpreter slower.
#include "backends/cuda/chain/next_batch.h"

#include "backends/cuda/start_kernel.cuh"

namespace myriarm::cuda {
namespace {

__global__ void next_batch_kernel(Control* control, Report* report, const u32* cancel) {
  control->phase = Phase::next;
  control->serves_stopped = 0;
  const u64 done = ++report->batches;
  const bool starved = control->pool_may_grow && report->stops[(u32)StopCode::out_of_memory] != 0;
  const bool called = control->stops_at_calls != kServesCalls && report->stops[(u32)StopCode::syscall] != 0;
  const bool yielded = report->stops[(u32)StopCode::none] != 0 || report->host_calls != 0 || called;
  if (done >= control->batches || report->left == 0 || starved || yielded || *(const volatile u32*)cancel != 0) return;
  // The graph begins again when this kernel has ended.
  if (cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch) == cudaSuccess) report->left = 0;
}

}  // namespace

const void* next_batch_function() { return address_of(next_batch_kernel); }

}  // namespace myriarm::cuda
