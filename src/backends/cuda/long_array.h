// SPDX-License-Identifier: Apache-2.0
// An array with something for each page of a span of code. That of a short span is an array as others; in a long one, as the window of
// a dynamic program is with its libraries at the upper end, only what lies around pages with code has memory.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/cuda/sparse_array.h"

namespace myriarm::cuda {

/// What an array shows where it has no memory. It is made when it is first needed.
class LazyBackground {
 public:
  explicit LazyBackground(std::span<const u8> pattern) : pattern_(pattern.begin(), pattern.end()) {}
  std::shared_ptr<const Background> get(int device, cudaStream_t stream) {
    if (made_ == nullptr) made_ = std::make_shared<Background>(device, pattern_, stream);
    return made_;
  }

 private:
  const std::vector<u8> pattern_;
  std::shared_ptr<const Background> made_;
};

/// Which pieces of an array need memory if each page has `page_bytes` in it, behind `front` bytes. `pages`: rising.
std::vector<bool> pieces_of(std::span<const u32> pages, u64 page_bytes, u64 front, u64 piece);

class LongArray {
 public:
  /// Arrays of at most so many bytes have memory for all of them.
  static constexpr u64 kShort = u64{32} << 20;

  LongArray() = default;
  /// If it is long, own[i] says whether piece i has memory. A short one holds anything. Throws DeviceError.
  LongArray(u64 bytes, const std::vector<bool>& own, int device, LazyBackground& background, const char* what,
            cudaStream_t stream) {
    if (bytes <= kShort) whole_.resize(bytes, what);
    else sparse_.emplace(background.get(device, stream), bytes, own, what, stream);
  }
  LongArray(LongArray&&) = default;
  LongArray& operator=(LongArray&&) = default;

  bool is_short() const { return !sparse_; }
  u8* data() const { return sparse_ ? sparse_->data() : whole_.data(); }
  /// Of the device's memory that it has.
  u64 bytes() const { return sparse_ ? sparse_->own_bytes() : whole_.bytes(); }

 private:
  DeviceArray<u8> whole_;
  std::optional<SparseArray> sparse_;
};

}  // namespace myriarm::cuda
