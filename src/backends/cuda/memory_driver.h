// SPDX-License-Identifier: Apache-2.0
// The driver's virtual memory calls.
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
