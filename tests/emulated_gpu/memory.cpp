// SPDX-License-Identifier: Apache-2.0
// Devices and their memory. Each allocation is one of the host's own, so that the address sanitizer sees what lies beyond it.
//   MYRIARM_EMULATED_GPUS=N         how many there are; 1 without it
//   MYRIARM_EMULATED_GPU_MEMORY=M   of each, in MiB; 4096 without it
#include "memory.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <driver_types.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

namespace {

constexpr size_t kGranularity = size_t{2} << 20, kAlignment = 256;
constexpr int kMostDevices = 8, kMultiprocessors = 2;
// Memory of a device is not zero when it is given; where there is much of it, only its beginning shows that.
constexpr int kUnwritten = 0xA5;
constexpr size_t kMostUnwritten = size_t{16} << 20;

long number_of(const char* name, long otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtol(text, nullptr, 10);
}
int device_count() {
  return static_cast<int>(std::clamp(number_of("MYRIARM_EMULATED_GPUS", 1), 0L, long{kMostDevices}));
}
size_t memory_of_device() {
  return static_cast<size_t>(std::max(16L, number_of("MYRIARM_EMULATED_GPU_MEMORY", 4096))) << 20;
}

struct Allocation {
  size_t bytes;
  int device;  // -1: pinned memory of the host
};
/// Memory that is mapped where somebody wants it.
struct Piece {
  size_t bytes;
  int device;
  int file;  // -1: it has been released
  unsigned mappings = 0;
};
struct Memory {
  std::mutex mutex;
  std::map<const void*, Allocation> allocations;
  std::map<CUmemGenericAllocationHandle, Piece> pieces;
  std::map<CUdeviceptr, CUmemGenericAllocationHandle> mapped;
  CUmemGenericAllocationHandle last_handle = 0;
  size_t used[kMostDevices] = {};
};
Memory& memory() {
  static Memory* const all = new Memory;  // threads may free when the process ends
  return *all;
}
thread_local int current_device = 0;

/// Counts bytes as those of a device; false: it has too few left.
bool take(int device, size_t bytes) {
  if (memory_of_device() - memory().used[device] < bytes) return false;
  memory().used[device] += bytes;
  return true;
}

cudaError_t allocate(void** address, size_t bytes, int device) {
  std::lock_guard lock(memory().mutex);
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (device >= 0 && !take(device, bytes)) return cudaErrorMemoryAllocation;
  *address = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (*address == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*address, kUnwritten, std::min(bytes, kMostUnwritten));
  memory().allocations[*address] = {bytes, device};
  return cudaSuccess;
}
cudaError_t release(void* address) {
  if (address == nullptr) return cudaSuccess;
  std::lock_guard lock(memory().mutex);
  const auto found = memory().allocations.find(address);
  if (found == memory().allocations.end()) return cudaErrorInvalidValue;
  if (found->second.device >= 0) memory().used[found->second.device] -= found->second.bytes;
  memory().allocations.erase(found);
  std::free(address);
  return cudaSuccess;
}

void drop_unused(CUmemGenericAllocationHandle handle) {
  const Piece& piece = memory().pieces.at(handle);
  if (piece.file >= 0 || piece.mappings != 0) return;
  memory().used[piece.device] -= piece.bytes;
  memory().pieces.erase(handle);
}

}  // namespace

bool emulated_gpu::is_pinned(const void* address) {
  std::lock_guard lock(memory().mutex);
  auto behind = memory().allocations.upper_bound(address);
  if (behind == memory().allocations.begin()) return false;
  const auto& [first, allocation] = *std::prev(behind);
  return allocation.device < 0 &&
         static_cast<const char*>(address) < static_cast<const char*>(first) + allocation.bytes;
}

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorSymbolNotFound: return "named symbol not found";
    default: return "invalid argument";
  }
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 12050;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  static const std::map<std::string_view, void*> functions = {
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(cuMemGetAllocationGranularity)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(cuMemAddressReserve)},
      {"cuMemAddressFree", reinterpret_cast<void*>(cuMemAddressFree)},
      {"cuMemCreate", reinterpret_cast<void*>(cuMemCreate)},
      {"cuMemRelease", reinterpret_cast<void*>(cuMemRelease)},
      {"cuMemMap", reinterpret_cast<void*>(cuMemMap)},
      {"cuMemUnmap", reinterpret_cast<void*>(cuMemUnmap)},
      {"cuMemSetAccess", reinterpret_cast<void*>(cuMemSetAccess)},
      {"cuLinkCreate", reinterpret_cast<void*>(cuLinkCreate)},
      {"cuLinkAddData", reinterpret_cast<void*>(cuLinkAddData)},
      {"cuLinkComplete", reinterpret_cast<void*>(cuLinkComplete)},
      {"cuLinkDestroy", reinterpret_cast<void*>(cuLinkDestroy)},
      {"cuModuleLoadData", reinterpret_cast<void*>(cuModuleLoadData)},
      {"cuModuleUnload", reinterpret_cast<void*>(cuModuleUnload)},
      {"cuModuleGetFunction", reinterpret_cast<void*>(cuModuleGetFunction)},
      {"cuModuleGetGlobal", reinterpret_cast<void*>(cuModuleGetGlobal)},
      {"cuFuncSetAttribute", reinterpret_cast<void*>(cuFuncSetAttribute)},
      {"cuLaunchKernel", reinterpret_cast<void*>(cuLaunchKernel)},
      {"cuCtxGetCurrent", reinterpret_cast<void*>(cuCtxGetCurrent)},
      {"cuCtxSetCurrent", reinterpret_cast<void*>(cuCtxSetCurrent)},
      {"cuGetErrorString", reinterpret_cast<void*>(cuGetErrorString)},
  };
  const auto known = functions.find(name);
  *function = known == functions.end() ? nullptr : known->second;
  *found = *function == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= device_count()) return cudaErrorInvalidDevice;
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= device_count()) return cudaErrorInvalidDevice;
  *properties = {"emulated GPU", kMultiprocessors};
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = kMultiprocessors; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 7; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 5; break;
    default:
      if (attribute == cudaDevAttrMaxSharedMemoryPerMultiprocessor) *value = 228 << 10;
      else if (attribute == cudaDevAttrReservedSharedMemoryPerBlock) *value = 1 << 10;
      else return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  std::lock_guard lock(memory().mutex);
  *total = memory_of_device();
  *free = *total - memory().used[current_device];
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** address, size_t bytes) { return allocate(address, bytes, current_device); }
cudaError_t cudaFree(void* address) { return release(address); }
cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned) { return allocate(address, bytes, -1); }
cudaError_t cudaFreeHost(void* address) { return release(address); }
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = kGranularity;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr, unsigned long long) {
  void* const range = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(range);
  return CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  munmap(reinterpret_cast<void*>(address), bytes);
  return CUDA_SUCCESS;
}
// Memory without a place is a file without a name, which may be mapped more than once. It is there until it has been released and
// nobody maps it. Its handle is a number.
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long) {
  std::lock_guard lock(memory().mutex);
  if (!take(properties->location.id, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const int file = memfd_create("emulated GPU", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    memory().used[properties->location.id] -= bytes;
    if (file >= 0) close(file);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *handle = ++memory().last_handle;
  memory().pieces[*handle] = {bytes, properties->location.id, file};
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  std::lock_guard lock(memory().mutex);
  Piece& piece = memory().pieces.at(handle);
  close(std::exchange(piece.file, -1));
  drop_unused(handle);
  return CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t, CUmemGenericAllocationHandle handle, unsigned long long) {
  std::lock_guard lock(memory().mutex);
  Piece& piece = memory().pieces.at(handle);
  if (bytes != piece.bytes) return CUDA_ERROR_INVALID_VALUE;
  void* const mapped = mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, piece.file, 0);
  if (mapped == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  piece.mappings++;
  memory().mapped[address] = handle;
  return CUDA_SUCCESS;
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  std::lock_guard lock(memory().mutex);
  const auto found = memory().mapped.find(address);
  if (found == memory().mapped.end() || memory().pieces.at(found->second).bytes != bytes)
    return CUDA_ERROR_INVALID_VALUE;
  mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
       0);
  const CUmemGenericAllocationHandle handle = found->second;
  memory().mapped.erase(found);
  memory().pieces.at(handle).mappings--;
  drop_unused(handle);
  return CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc*, size_t) {
  return mprotect(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE) == 0 ? CUDA_SUCCESS
                                                                                        : CUDA_ERROR_OUT_OF_MEMORY;
}
