// SPDX-License-Identifier: Apache-2.0
// Arrays of device memory that are long and nearly empty, as predecoded code of a window is: only pieces that hold something have
// memory of their own, all others show one piece of memory, the background. Who reads the array does not know the difference.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/cuda/device_memory.h"

namespace myriarm::cuda {

/// Memory with one pattern over and over. What anybody writes to it shows wherever an array has no memory of its own.
class Background {
 public:
  /// The length of the pattern is a power of two, 16 bytes at most.
  Background(int device, std::span<const u8> pattern, cudaStream_t stream);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  int device() const { return device_; }
  const u8* data() const { return data_; }

  /// Memory that arrays map: one piece, and many, so that a long array takes few calls of the driver.
  unsigned long long one() const { return one_; }
  unsigned long long many() const { return many_; }
  u64 piece() const { return piece_; }
  u64 many_bytes() const { return piece_ * kMany; }

 private:
  static constexpr u64 kMany = 16;
  void release();

  const int device_;
  u64 piece_ = 0;
  unsigned long long one_ = 0, many_ = 0;
  u8* data_ = nullptr;  // where `many` is mapped
};

class SparseArray {
 public:
  /// An array of `bytes`, a piece of which has memory of its own if own[piece]; that is filled with the background, too. `what` is
  /// done, as for check(). Throws DeviceError if the device has too little memory.
  SparseArray(std::shared_ptr<const Background> background, u64 bytes, const std::vector<bool>& own, const char* what,
              cudaStream_t stream);
  ~SparseArray() { release(); }
  SparseArray(SparseArray&& other) noexcept;
  SparseArray& operator=(SparseArray&& other) noexcept;

  u8* data() const { return data_; }
  /// Of the device's memory that it has, without the background.
  u64 own_bytes() const { return own_bytes_; }

 private:
  struct Mapped {
    u64 offset, bytes;
    bool is_own;  // else it is the background
  };
  void map(u64 offset, u64 bytes, unsigned long long memory, bool is_own, const char* what);
  void release();

  std::shared_ptr<const Background> background_;
  u8* data_ = nullptr;
  u64 reserved_ = 0, own_bytes_ = 0;
  std::vector<Mapped> mapped_;
};

}  // namespace myriarm::cuda
