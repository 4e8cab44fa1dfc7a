// SPDX-License-Identifier: Apache-2.0
// How the host starts kernels. Where tests compile them for the processor (tests/emulated_gpu/), nobody knows the form with three
// angle brackets, and a kernel's address alone does not say what its arguments are.
#pragma once

#include "core/portable.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#else
#include <emulated_gpu/threads.h>
#endif

namespace myriarm::cuda {

/// What cudaLaunchKernel() takes for a kernel.
template <class... Parameters>
const void* address_of(void (*kernel)(Parameters...)) {
#if defined(__CUDACC__)
  return (const void*)kernel;
#else
  return emulated_gpu::launchable(kernel);
#endif
}

/// Starts a kernel without dynamic shared memory.
template <class... Parameters, class... Arguments>
void start(void (*kernel)(Parameters...), dim3 blocks, u32 threads, cudaStream_t stream,
           const Arguments&... arguments) {
#if defined(__CUDACC__)
  kernel<<<blocks, threads, 0, stream>>>(arguments...);
#else
  emulated_gpu::launch(
      blocks, threads, 0, [=] { kernel(arguments...); }, stream);
#endif
}

}  // namespace myriarm::cuda
