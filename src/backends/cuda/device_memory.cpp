// SPDX-License-Identifier: Apache-2.0
// The range of frames uses the driver's virtual memory calls. They are looked up at run time, so that the program
// starts on a machine without a driver.
#include "backends/cuda/device_memory.h"

#include <cuda.h>

#include <algorithm>

#include "myriarm/error.h"

namespace myriarm::cuda {

void check(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  std::string text = std::string(doing) + " failed: " + cudaGetErrorString(error);
  if (error == cudaErrorMemoryAllocation) text += "; ask for fewer lanes, less memory or a smaller pool";
  throw DeviceError(text);
}

namespace {

/// The driver's function of this name.
template <class Function>
Function* driver_call(const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found;
  check(cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found), "asking the CUDA driver");
  if (address == nullptr) throw DeviceError(std::string("the CUDA driver has no ") + name + "; update the driver");
  return reinterpret_cast<Function*>(address);
}

struct Driver {
  decltype(&cuMemGetAllocationGranularity) granularity =
      driver_call<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
  decltype(&cuMemAddressReserve) reserve = driver_call<decltype(cuMemAddressReserve)>("cuMemAddressReserve");
  decltype(&cuMemAddressFree) free = driver_call<decltype(cuMemAddressFree)>("cuMemAddressFree");
  decltype(&cuMemCreate) create = driver_call<decltype(cuMemCreate)>("cuMemCreate");
  decltype(&cuMemRelease) release = driver_call<decltype(cuMemRelease)>("cuMemRelease");
  decltype(&cuMemMap) map = driver_call<decltype(cuMemMap)>("cuMemMap");
  decltype(&cuMemUnmap) unmap = driver_call<decltype(cuMemUnmap)>("cuMemUnmap");
  decltype(&cuMemSetAccess) set_access = driver_call<decltype(cuMemSetAccess)>("cuMemSetAccess");
};
const Driver& driver() {
  static const Driver calls;
  return calls;
}

CUmemAllocationProp properties(int device) {
  CUmemAllocationProp p = {};
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return p;
}

}  // namespace

GrowingRange::GrowingRange(int device, u64 most_bytes) : device_(device) {
  CUmemAllocationProp p = properties(device);
  size_t granularity = 0;
  if (driver().granularity(&granularity, &p, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) != CUDA_SUCCESS ||
      granularity == 0) {
    throw DeviceError("the CUDA device cannot map memory piece by piece; use another device or --device cpu");
  }
  granularity_ = granularity;
  reserved_ = (most_bytes + granularity_ - 1) / granularity_ * granularity_;
  CUdeviceptr address = 0;
  if (driver().reserve(&address, reserved_, 0, 0, 0) != CUDA_SUCCESS) {
    throw DeviceError("the CUDA driver refuses to reserve " + std::to_string(reserved_ >> 20) +
                      " MiB of addresses for guest memory; ask for a smaller pool");
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): CUDA's driver gives addresses as integers
  data_ = reinterpret_cast<u8*>(address);
}

GrowingRange::~GrowingRange() {
  for (const Chunk& chunk : chunks_) {
    driver().unmap(reinterpret_cast<CUdeviceptr>(data_) + chunk.offset, chunk.bytes);
    driver().release(chunk.handle);
  }
  if (data_ != nullptr) driver().free(reinterpret_cast<CUdeviceptr>(data_), reserved_);
}

bool GrowingRange::grow(u64 bytes) {
  if (bytes > reserved_) return false;
  bytes = (bytes + granularity_ - 1) / granularity_ * granularity_;
  if (bytes <= bytes_) return true;
  CUmemAllocationProp p = properties(device_);
  Chunk chunk{bytes_, bytes - bytes_, 0};
  if (driver().create(&chunk.handle, chunk.bytes, &p, 0) != CUDA_SUCCESS) return false;
  CUdeviceptr at = reinterpret_cast<CUdeviceptr>(data_) + chunk.offset;
  CUmemAccessDesc access = {p.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (driver().map(at, chunk.bytes, 0, chunk.handle, 0) != CUDA_SUCCESS) {
    driver().release(chunk.handle);
    return false;
  }
  if (driver().set_access(at, chunk.bytes, &access, 1) != CUDA_SUCCESS) {
    driver().unmap(at, chunk.bytes);
    driver().release(chunk.handle);
    return false;
  }
  chunks_.push_back(chunk);
  bytes_ = bytes;
  return true;
}

}  // namespace myriarm::cuda
