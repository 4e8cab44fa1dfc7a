// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/memory_driver.h"

#include <string>

#include "backends/cuda/device_memory.h"
#include "myriarm/error.h"

namespace myriarm::cuda {
namespace {

/// Looks up the driver's function of this name.
template <class Function>
void find(Function*& function, const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found;
  check(cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found), "asking the CUDA driver");
  if (address == nullptr) throw DeviceError(std::string("the CUDA driver has no ") + name + "; update the driver");
  function = reinterpret_cast<Function*>(address);
}

MemoryDriver look_up() {
  MemoryDriver driver = {};
  find(driver.granularity, "cuMemGetAllocationGranularity");
  find(driver.reserve, "cuMemAddressReserve");
  find(driver.free, "cuMemAddressFree");
  find(driver.create, "cuMemCreate");
  find(driver.release, "cuMemRelease");
  find(driver.map, "cuMemMap");
  find(driver.unmap, "cuMemUnmap");
  find(driver.set_access, "cuMemSetAccess");
  return driver;
}

}  // namespace

const MemoryDriver& memory_driver() {
  static const MemoryDriver driver = look_up();
  return driver;
}

CUmemAllocationProp memory_properties(int device) {
  CUmemAllocationProp p = {};
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return p;
}

u64 mapped_piece(int device) {
  CUmemAllocationProp p = memory_properties(device);
  size_t piece = 0;
  if (memory_driver().granularity(&piece, &p, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) != CUDA_SUCCESS || piece == 0) {
    throw DeviceError("the CUDA device cannot map memory piece by piece; use another device or --device cpu");
  }
  return piece;
}

}  // namespace myriarm::cuda
