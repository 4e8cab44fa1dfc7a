// SPDX-License-Identifier: Apache-2.0
// Device memory: arrays that free themselves, check(), which turns errors of CUDA into sentences, and the range of
// frames, which grows without moving.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/portable.h"

namespace myriarm::cuda {

/// Throws DeviceError with what was being done and CUDA's own words.
void check(cudaError_t error, const char* doing);

/// In what pieces memory can be mapped. Throws DeviceError if it cannot.
u64 mapped_piece(int device);

template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(u64 count, const char* what) { resize(count, what); }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }

  /// Makes room for `count` elements; if the array has to grow, its content is lost.
  void resize(u64 count, const char* what) {
    if (count <= count_) return;
    cudaFree(data_);
    data_ = nullptr;
    count_ = 0;
    check(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)), what);
    count_ = count;
  }
  /// The same, and the content stays; further elements are zeros.
  void grow(u64 count, const char* what, cudaStream_t stream) {
    if (count <= count_) return;
    DeviceArray larger(count, what);
    if (count_ != 0) check(cudaMemcpyAsync(larger.data_, data_, bytes(), cudaMemcpyDeviceToDevice, stream), what);
    check(cudaMemsetAsync(larger.data_ + count_, 0, larger.bytes() - bytes(), stream), what);
    check(cudaStreamSynchronize(stream), what);
    *this = std::move(larger);
  }
  void upload(std::span<const T> values, cudaStream_t stream) {
    check(cudaMemcpyAsync(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice, stream),
          "copying to the device");
  }
  T* data() const { return data_; }
  u64 bytes() const { return count_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  u64 count_ = 0;
};

/// Host memory that the device accesses at the same address.
template <class T>
class PinnedArray {
 public:
  PinnedArray() = default;
  ~PinnedArray() { cudaFreeHost(data_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;

  /// To be called once.
  void resize(u64 count, const char* what) {
    check(
        cudaHostAlloc(reinterpret_cast<void**>(&data_), count * sizeof(T), cudaHostAllocMapped | cudaHostAllocPortable),
        what);
  }
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

struct DestroyStream {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyStream>;
struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

/// A range of device addresses, of which the first bytes() are backed by memory.
class GrowingRange {
 public:
  /// Reserves addresses only.
  GrowingRange(int device, u64 most_bytes);
  ~GrowingRange();
  GrowingRange(const GrowingRange&) = delete;
  GrowingRange& operator=(const GrowingRange&) = delete;
  u8* data() const { return data_; }
  u64 bytes() const { return bytes_; }
  /// Backs at least `bytes` with memory. Returns false if the device has too little.
  bool grow(u64 bytes);

 private:
  struct Chunk {
    u64 offset, bytes;
    unsigned long long handle;
  };
  int device_;
  u8* data_ = nullptr;
  u64 reserved_ = 0, bytes_ = 0, granularity_ = 0;
  std::vector<Chunk> chunks_;
};

}  // namespace myriarm::cuda
