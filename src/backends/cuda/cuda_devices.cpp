// SPDX-License-Identifier: Apache-2.0
// Which CUDA devices there are, and why there are none. Never throws: a machine without a driver is an ordinary one.
#include <cuda_runtime_api.h>

#include "backends/backend.h"

namespace myriarm {

std::vector<Device> cuda_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return {};
  }
  std::vector<Device> all;
  for (int i = 0; i < count; i++) {
    cudaDeviceProp properties;
    size_t free = 0, total = 0;
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess || cudaSetDevice(i) != cudaSuccess ||
        cudaMemGetInfo(&free, &total) != cudaSuccess) {
      cudaGetLastError();
      continue;
    }
    all.push_back(
        {"cuda:" + std::to_string(i), properties.name, free, static_cast<u32>(properties.multiProcessorCount)});
  }
  return all;
}

std::string cuda_problem() {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count != 0) return "";
  cudaGetLastError();
  return error == cudaSuccess ? "no CUDA device was found"
                              : std::string("CUDA says \"") + cudaGetErrorString(error) + "\"";
}

}  // namespace myriarm
