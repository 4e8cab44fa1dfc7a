// SPDX-License-Identifier: Apache-2.0
// Lists the CUDA devices, or says why there are none. Never throws: many machines have no driver.
#include <cuda_runtime_api.h>

#include <atomic>

#include "backends/backend.h"
#include "backends/cuda/view.h"
#include "support/fork.h"

namespace myriarm {
namespace {

/// Whether CUDA was begun to be used, here, by a process that fork()ed this one: it then works there alone.
bool begun_before_fork() {
  constexpr u64 kNever = ~u64{0};
  static std::atomic<u64> begun = kNever;
  const u64 now = fork_count();
  u64 first = kNever;
  return !begun.compare_exchange_strong(first, now) && first != now;
}

const char* const kForked =
    "this process is a fork() of one that had begun to use CUDA, and CUDA works in the parent alone (in Python, begin "
    "processes with spawn)";

}  // namespace

std::vector<Device> cuda_devices(std::string& why_none) {
  if (begun_before_fork()) {
    why_none = kForked;
    return {};
  }
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    cudaGetLastError();
    // Another library of the parent may have begun.
    if (error == cudaErrorInitializationError && fork_count() != 0) {
      why_none = kForked;
      return {};
    }
    // Where there is no driver, the runtime says that its version is insufficient, and gives 0 as its version.
    int driver = 0;
    const bool missing = cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0;
    why_none =
        missing ? "this machine has no NVIDIA driver" : std::string("CUDA says \"") + cudaGetErrorString(error) + "\"";
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
