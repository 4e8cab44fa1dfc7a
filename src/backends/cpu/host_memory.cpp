// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/memory.h"
#include "myriarm/error.h"

namespace myriarm::cpu {

LazyArray::LazyArray(u64 bytes, const char* what) : bytes_(std::max<u64>(bytes, kPageSize)) {
  void* range = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    throw DeviceError("the host refuses " + std::to_string(bytes_ >> 20) + " MiB of addresses for " + what +
                      "; use fewer lanes or less memory, or raise the limit of addresses (ulimit -v)");
  }
  data_ = static_cast<u8*>(range);
}

LazyArray::~LazyArray() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

LazyArray::LazyArray(LazyArray&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

LazyArray& LazyArray::operator=(LazyArray&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void clear_pages(u8* at, u64 bytes) {
  // For a few pages the call costs more than it saves. It fails if the process has locked the memory.
  constexpr u64 kWorthACall = 16 * kPageSize;
  if (bytes >= kWorthACall && madvise(at, bytes, MADV_DONTNEED) == 0) return;
  std::memset(at, 0, bytes);
}

void copy_pages(u8* to, const u8* from, u64 bytes) {
  static constexpr u8 kZeros[kPageSize] = {};
  for (u64 at = 0; at < bytes; at += kPageSize) {
    const bool zeros = std::memcmp(from + at, kZeros, kPageSize) == 0;
    if (zeros && std::memcmp(to + at, kZeros, kPageSize) == 0) continue;
    std::memcpy(to + at, from + at, kPageSize);
  }
}

}  // namespace myriarm::cpu
