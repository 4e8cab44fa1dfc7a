// SPDX-License-Identifier: Apache-2.0
// The driver's virtual memory calls. They are looked up at run time, so that the program starts on a machine without a driver.
#pragma once

#include <cuda.h>

namespace myriarm::cuda {

struct MemoryDriver {
  decltype(&cuMemGetAllocationGranularity) granularity;
  decltype(&cuMemAddressReserve) reserve;
  decltype(&cuMemAddressFree) free;
  decltype(&cuMemCreate) create;
  decltype(&cuMemRelease) release;
  decltype(&cuMemMap) map;
  decltype(&cuMemUnmap) unmap;
  decltype(&cuMemSetAccess) set_access;
};
/// Throws DeviceError if the driver lacks one.
const MemoryDriver& memory_driver();

/// Memory of a device.
CUmemAllocationProp memory_properties(int device);
}  // namespace myriarm::cuda
