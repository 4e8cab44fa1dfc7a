// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sparse_array.h"

#include <string>
#include <utility>

#include "backends/cuda/memory_driver.h"
#include "myriarm/error.h"

namespace myriarm::cuda {
namespace {

[[noreturn]] void no_memory(const char* what) {
  throw DeviceError(std::string(what) + " failed: out of memory; ask for fewer lanes, less memory or a smaller pool");
}

/// Addresses without memory.
u8* reserve(u64 bytes, const char* what) {
  CUdeviceptr address = 0;
  if (memory_driver().reserve(&address, bytes, 0, 0, 0) != CUDA_SUCCESS) no_memory(what);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): CUDA's driver gives addresses as integers
  return reinterpret_cast<u8*>(address);
}
CUdeviceptr number_of(const u8* address) { return reinterpret_cast<CUdeviceptr>(address); }

unsigned long long create(u64 bytes, int device, const char* what) {
  CUmemAllocationProp properties = memory_properties(device);
  CUmemGenericAllocationHandle memory = 0;
  if (memory_driver().create(&memory, bytes, &properties, 0) != CUDA_SUCCESS) no_memory(what);
  return memory;
}
void allow_access(u8* at, u64 bytes, int device, const char* what) {
  const CUmemAccessDesc access = {memory_properties(device).location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (memory_driver().set_access(number_of(at), bytes, &access, 1) != CUDA_SUCCESS) no_memory(what);
}

constexpr const char* kMakingBackground = "allocating what predecoded code lies in";

}  // namespace

Background::Background(int device, std::span<const u8> pattern, cudaStream_t stream)
    : device_(device), piece_(mapped_piece(device)) {
  try {
    one_ = create(piece_, device, kMakingBackground);
    many_ = create(many_bytes(), device, kMakingBackground);
    // Both are mapped, one behind the other, while they are filled.
    u8* const at = reserve(many_bytes() + piece_, kMakingBackground);
    data_ = at;
    if (memory_driver().map(number_of(at), many_bytes(), 0, many_, 0) != CUDA_SUCCESS ||
        memory_driver().map(number_of(at + many_bytes()), piece_, 0, one_, 0) != CUDA_SUCCESS)
      no_memory(kMakingBackground);
    allow_access(at, many_bytes() + piece_, device, kMakingBackground);
    std::vector<u8> piece(piece_);
    for (u64 i = 0; i < piece_; i++) piece[i] = pattern[i % pattern.size()];
    for (u64 i = 0; i <= kMany; i++) {
      check(cudaMemcpyAsync(at + i * piece_, piece.data(), piece_, cudaMemcpyHostToDevice, stream), kMakingBackground);
    }
    check(cudaStreamSynchronize(stream), kMakingBackground);
  } catch (const DeviceError&) {
    release();
    throw;
  }
}

Background::~Background() { release(); }

void Background::release() {
  if (data_ != nullptr) {
    memory_driver().unmap(number_of(data_), many_bytes());
    memory_driver().unmap(number_of(data_ + many_bytes()), piece_);
    memory_driver().free(number_of(data_), many_bytes() + piece_);
  }
  if (many_ != 0) memory_driver().release(many_);
  if (one_ != 0) memory_driver().release(one_);
}

SparseArray::SparseArray(std::shared_ptr<const Background> background, u64 bytes, const std::vector<bool>& own,
                         const char* what, cudaStream_t stream)
    : background_(std::move(background)) {
  const u64 piece = background_->piece(), pieces = (bytes + piece - 1) / piece,
            many = background_->many_bytes() / piece;
  reserved_ = pieces * piece;
  data_ = reserve(reserved_, what);
  const auto is_own = [&](u64 i) { return i < own.size() && own[i]; };
  try {
    for (u64 i = 0, end; i < pieces; i = end) {
      end = i + 1;
      while (end < pieces && is_own(end) == is_own(i)) end++;
      if (is_own(i)) {
        map(i * piece, (end - i) * piece, create((end - i) * piece, background_->device(), what), true, what);
        own_bytes_ += (end - i) * piece;
        continue;
      }
      for (u64 at = i; at < end;) {
        const bool long_enough = end - at >= many;
        map(at * piece, (long_enough ? many : 1) * piece, long_enough ? background_->many() : background_->one(), false,
            what);
        at += long_enough ? many : 1;
      }
    }
    allow_access(data_, reserved_, background_->device(), what);
    for (const Mapped& mapped : mapped_) {
      if (!mapped.is_own) continue;
      for (u64 at = 0, size; at < mapped.bytes; at += size) {
        size = mapped.bytes - at < background_->many_bytes() ? mapped.bytes - at : background_->many_bytes();
        check(cudaMemcpyAsync(data_ + mapped.offset + at, background_->data(), size, cudaMemcpyDeviceToDevice, stream),
              what);
      }
    }
  } catch (const DeviceError&) {
    release();
    throw;
  }
}

SparseArray::SparseArray(SparseArray&& other) noexcept { *this = std::move(other); }
SparseArray& SparseArray::operator=(SparseArray&& other) noexcept {
  std::swap(background_, other.background_);
  std::swap(data_, other.data_);
  std::swap(reserved_, other.reserved_);
  std::swap(own_bytes_, other.own_bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

void SparseArray::map(u64 offset, u64 bytes, unsigned long long memory, bool is_own, const char* what) {
  const bool is_mapped = memory_driver().map(number_of(data_ + offset), bytes, 0, memory, 0) == CUDA_SUCCESS;
  if (is_own) memory_driver().release(memory);  // it stays until it is unmapped
  if (!is_mapped) no_memory(what);
  mapped_.push_back({offset, bytes, is_own});
}

void SparseArray::release() {
  if (data_ == nullptr) return;
  for (const Mapped& mapped : mapped_) memory_driver().unmap(number_of(data_ + mapped.offset), mapped.bytes);
  memory_driver().free(number_of(data_), reserved_);
  data_ = nullptr;
}

}  // namespace myriarm::cuda
