// SPDX-License-Identifier: Apache-2.0
// The log to which lanes append what they write to their output streams, and which the host takes between launches: records
// of a header and the bytes, in 8-byte words. The records of one lane are in the order of its calls.
#pragma once

#include "core/portable.h"

namespace myriarm::cuda {

struct OutputRecord {
  u32 lane;
  u32 stream_and_size;
  u64 position;  // in the stream

  /// Stands where the next record did not fit. All records are before it.
  static constexpr u32 kEnd = 0;
  static constexpr u32 kStreamShift = 30;

  MYR_FN static OutputRecord of(u32 lane, u32 stream, u64 position, u64 size) {
    return {lane, stream << kStreamShift | (u32)size, position};
  }
  MYR_FN u32 stream() const { return stream_and_size >> kStreamShift; }
  MYR_FN u32 size() const { return stream_and_size & ((1u << kStreamShift) - 1); }
};
static_assert(sizeof(OutputRecord) == 16, "two words");

/// Bytes that a record of `size` bytes takes.
MYR_FN constexpr u64 record_bytes(u64 size) { return sizeof(OutputRecord) + (size + 7) / 8 * 8; }

}  // namespace myriarm::cuda
