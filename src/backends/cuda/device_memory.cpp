// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device_memory.h"

#include "backends/cuda/memory_driver.h"
#include "myriarm/error.h"

namespace myriarm::cuda {

void check(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  std::string text = std::string(doing) + " failed: " + cudaGetErrorString(error);
  if (error == cudaErrorMemoryAllocation) text += "; ask for fewer lanes, less memory or a smaller pool";
  throw DeviceError(text);
}

u64 mapped_piece(int device) {
  CUmemAllocationProp p = memory_properties(device);
  size_t piece = 0;
  if (memory_driver().granularity(&piece, &p, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) != CUDA_SUCCESS || piece == 0) {
    throw DeviceError("the CUDA device cannot map memory piece by piece; use another device or --device cpu");
  }
  return piece;
}

GrowingRange::GrowingRange(int device, u64 most_bytes) : device_(device) {
  granularity_ = mapped_piece(device);
  reserved_ = (most_bytes + granularity_ - 1) / granularity_ * granularity_;
  CUdeviceptr address = 0;
  if (memory_driver().reserve(&address, reserved_, 0, 0, 0) != CUDA_SUCCESS) {
    throw DeviceError("the CUDA driver refuses to reserve " + std::to_string(reserved_ >> 20) +
                      " MiB of addresses for guest memory; ask for a smaller pool");
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): CUDA's driver gives addresses as integers
  data_ = reinterpret_cast<u8*>(address);
}

GrowingRange::~GrowingRange() {
  for (const Chunk& chunk : chunks_) {
    memory_driver().unmap(reinterpret_cast<CUdeviceptr>(data_) + chunk.offset, chunk.bytes);
    memory_driver().release(chunk.handle);
  }
  if (data_ != nullptr) memory_driver().free(reinterpret_cast<CUdeviceptr>(data_), reserved_);
}

bool GrowingRange::grow(u64 bytes) {
  if (bytes > reserved_) return false;
  bytes = (bytes + granularity_ - 1) / granularity_ * granularity_;
  if (bytes <= bytes_) return true;
  CUmemAllocationProp p = memory_properties(device_);
  Chunk chunk{bytes_, bytes - bytes_, 0};
  if (memory_driver().create(&chunk.handle, chunk.bytes, &p, 0) != CUDA_SUCCESS) return false;
  CUdeviceptr at = reinterpret_cast<CUdeviceptr>(data_) + chunk.offset;
  CUmemAccessDesc access = {p.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (memory_driver().map(at, chunk.bytes, 0, chunk.handle, 0) != CUDA_SUCCESS) {
    memory_driver().release(chunk.handle);
    return false;
  }
  if (memory_driver().set_access(at, chunk.bytes, &access, 1) != CUDA_SUCCESS) {
    memory_driver().unmap(at, chunk.bytes);
    memory_driver().release(chunk.handle);
    return false;
  }
  chunks_.push_back(chunk);
  bytes_ = bytes;
  return true;
}

}  // namespace myriarm::cuda
