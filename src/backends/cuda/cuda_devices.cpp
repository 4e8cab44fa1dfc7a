// SPDX-License-Identifier: Apache-2.0
// Lists the CUDA devices, or says why there are none. Never throws: many machines have no driver.
#include <cuda_runtime_api.h>

#include "backends/backend.h"
#include "backends/cuda/view.h"

namespace myriarm {

std::vector<Device> cuda_devices(std::string& why_none) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    cudaGetLastError();
    why_none = std::string("CUDA says \"") + cudaGetErrorString(error) + "\"";
    return {};
  }
  why_none = "no CUDA device was found";
  std::vector<Device> all;
  for (int i = 0; i < count; i++) {
    cudaDeviceProp properties;
    size_t free = 0, total = 0;
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess || cudaSetDevice(i) != cudaSuccess ||
        cudaMemGetInfo(&free, &total) != cudaSuccess) {
      cudaGetLastError();
      continue;
    }
    all.push_back({"cuda:" + std::to_string(i), properties.name, free, static_cast<u32>(properties.multiProcessorCount),
                   DeviceKind::cuda, static_cast<u32>(i), cuda::kTeam});
  }
  return all;
}

}  // namespace myriarm
