// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/memory_driver.h"

#include "backends/cuda/driver_function.h"

namespace myriarm::cuda {
namespace {

MemoryDriver look_up() {
  MemoryDriver driver = {};
  find_driver_function(driver.granularity, "cuMemGetAllocationGranularity");
  find_driver_function(driver.reserve, "cuMemAddressReserve");
  find_driver_function(driver.free, "cuMemAddressFree");
  find_driver_function(driver.create, "cuMemCreate");
  find_driver_function(driver.release, "cuMemRelease");
  find_driver_function(driver.map, "cuMemMap");
  find_driver_function(driver.unmap, "cuMemUnmap");
  find_driver_function(driver.set_access, "cuMemSetAccess");
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

}  // namespace myriarm::cuda
