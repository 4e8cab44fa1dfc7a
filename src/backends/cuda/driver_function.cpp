// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/driver_function.h"

#include <cuda_runtime_api.h>

#include <string>

#include "myriarm/error.h"

namespace myriarm::cuda {

void* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status = {};
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &status);
#endif
  if (error != cudaSuccess || found == nullptr) {
    throw DeviceError(std::string("the CUDA driver has no ") + name + "; update the driver");
  }
  return found;
}

}  // namespace myriarm::cuda
