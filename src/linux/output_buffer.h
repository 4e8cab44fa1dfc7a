// SPDX-License-Identifier: Apache-2.0
// The bytes that a lane has written to one of its streams, kept until the caller reads them. A std::vector holds its
// bytes twice while it grows; realloc() lets the C library move the pages of a large block instead of copying them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

namespace myriarm::linux_process {

class OutputBuffer {
 public:
  std::span<const uint8_t> bytes() const { return {data_.get(), size_}; }
  size_t size() const { return size_; }
  void clear() { data_.reset(), size_ = capacity_ = 0; }
  /// Puts bytes at a position, at most the size, and drops what was behind it. Returns false, and changes nothing, if the
  /// host has no memory for them.
  bool put(uint64_t position, std::span<const uint8_t> bytes) {
    if (position > size_) return false;
    if (bytes.size() > capacity_ - position && !grow(position + bytes.size())) return false;
    size_ = position;
    if (bytes.empty()) return true;
    if (bytes.size() > capacity_ - size_ && !grow(size_ + bytes.size())) return false;
    std::memcpy(data_.get() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
    return true;
  }

 private:
  struct Free {
    void operator()(uint8_t* block) const { std::free(block); }
  };

  bool grow(size_t needed) {
    // Pages that nothing was written to take no memory, so spare room of a large block costs addresses only.
    const size_t capacity = std::max(needed, capacity_ + capacity_ / 2);
    void* block = std::realloc(data_.get(), capacity);
    if (block == nullptr) return false;
    (void)data_.release();
    data_.reset(static_cast<uint8_t*>(block));
    capacity_ = capacity;
    return true;
  }

  std::unique_ptr<uint8_t[], Free> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace myriarm::linux_process
