// SPDX-License-Identifier: Apache-2.0
// The memory of a span of predecoded code.
#pragma once

#include <span>
#include <vector>

#include "backends/cuda/code_span.h"
#include "backends/cuda/long_array.h"

namespace myriarm::cuda {

/// What spans show where they have no memory: not_predecoded_word(), over and over.
LazyBackground code_background();
/// The bytes that a span of so many pages takes, of which `code` may have predecoded words: numbers within the span, rising.
u64 span_bytes(u64 pages, std::span<const u32> code, u64 piece);

class SpanMemory {
 public:
  /// No page has a source yet, and those that are not in pages_to_fill() have words that are not predecoded. Throws DeviceError if
  /// the device has too little memory.
  SpanMemory(u64 pages, std::vector<u32> code, int device, LazyBackground& background, cudaStream_t stream);

  Operands* words() const { return reinterpret_cast<Operands*>(memory_.data()); }
  u64 bytes() const { return memory_.bytes(); }
  /// Numbers within the span.
  const std::vector<u32>& pages_to_fill() const { return fill_; }

 private:
  LongArray memory_;
  std::vector<u32> fill_;
};

}  // namespace myriarm::cuda
