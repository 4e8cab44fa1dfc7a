// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/first_level_cache.h"

#include <cuda_runtime_api.h>
#include <driver_types.h>

#include "backends/cuda/device_memory.h"

namespace myriarm::cuda {
namespace {

u32 attribute_of(int device, cudaDeviceAttr attribute) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, device), "asking for the device's size");
  return static_cast<u32>(value);
}

}  // namespace

Multiprocessors multiprocessors_of(int device) {
  return {attribute_of(device, cudaDevAttrMultiProcessorCount),
          attribute_of(device, cudaDevAttrMaxSharedMemoryPerMultiprocessor),
          attribute_of(device, cudaDevAttrReservedSharedMemoryPerBlock)};
}

void divide_for(const Launch& launch, const Multiprocessors& device, bool few) {
  if (launch.shared_bytes == 0) return;
  check(cudaGetLastError(), "starting the engine");
  // Only a request: a launch is as right without it, so a refusal is none of the run's.
  const int percent = shared_percent(launch.blocks, launch.shared_bytes, device, few);
  if (cudaFuncSetAttribute(launch.kernel, cudaFuncAttributePreferredSharedMemoryCarveout, percent) != cudaSuccess)
    cudaGetLastError();
}

}  // namespace myriarm::cuda
