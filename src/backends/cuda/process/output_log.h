// SPDX-License-Identifier: Apache-2.0
// The log to which lanes append what they write to their output streams, and which the host takes while the launch goes on:
// a ring of chunks, which are filled one after the other with records of a header and the bytes, in 8-byte words. The records
// of one lane are in the order of its calls.
#pragma once

#include "core/portable.h"

namespace myriarm::cuda {

struct OutputRecord {
  u32 lane;
  u32 stream_and_size;
  u64 position;  // in the stream

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

/// Where the next record goes: Report::output_head. Lanes add the bytes of their records to it. In a chunk that is full the
/// offset may be far behind its end, since each lane that finds it so has added its bytes too.
struct OutputHead {
  static constexpr u32 kOffsetBits = 44;
  u64 bits;

  /// Chunks have numbers from 0 on in each launch. Number n lies in slot n % kOutputChunks.
  MYR_FN u64 chunk() const { return bits >> kOffsetBits; }
  MYR_FN u64 offset() const { return bits & (((u64)1 << kOffsetBits) - 1); }
  MYR_FN static OutputHead of_chunk(u64 number) { return {number << kOffsetBits}; }
};
/// A launch fills no chunk with a number from here on, and ends instead.
constexpr u64 kMostChunkNumbers = ((u64)1 << (64 - OutputHead::kOffsetBits)) - 1;

constexpr u32 kOutputChunks = 16;

/// How much of a chunk is written: the bytes of finished records, and, once a record did not fit, the bytes of all.
struct ChunkFill {
  static constexpr u32 kAllShift = 32;
  u64 bits;

  MYR_FN bool is_complete() const { return bits >> kAllShift != 0 && bits >> kAllShift == (u32)bits; }
  MYR_FN u64 bytes() const { return (u32)bits; }
};

/// Stands in front of the chunks, in the memory of the device.
struct OutputRing {
  u64 fill[kOutputChunks];  // ChunkFill of the chunk in each slot
  u64 taken;                // chunks that the host has taken; it counts while the launch goes on
  u64* complete;            // of each slot, in host memory: bytes of records that the host can take, or 0
};

// What lanes do, over the Atomics of the machine that they run on.

/// Adds to the fill of a chunk: a record that is written, or, in the upper half, the bytes of all. Tells the host of a chunk
/// that is complete now.
template <class Atomics>
MYR_FN void note_fill(OutputRing& ring, u32 slot, u64 amount) {
  const ChunkFill fill{Atomics::add_release(ring.fill[slot], amount) + amount};
  if (!fill.is_complete()) return;
  Atomics::write(ring.fill[slot], 0);
  Atomics::tell_host(ring.complete[slot], fill.bytes());
}

/// Room for a record of at most chunk_bytes, and the slot of its chunk; null if the host must take chunks first. The lane
/// writes the record, and then notes its bytes. The chunks lie behind the ring.
template <class Atomics>
MYR_FN u64* room_for(OutputRing& ring, u64& head, u64 chunk_bytes, u64 bytes, u32& slot) {
  for (;;) {
    const OutputHead at{Atomics::add(head, bytes)};
    const u64 offset = at.offset(), next = at.chunk() + 1;
    slot = (u32)(at.chunk() % kOutputChunks);
    if (offset + bytes <= chunk_bytes) return (u64*)((u8*)(&ring + 1) + slot * chunk_bytes + offset);
    // Of all records that do not fit, one begins within the chunk.
    if (offset <= chunk_bytes) note_fill<Atomics>(ring, slot, offset << ChunkFill::kAllShift);
    if (next >= Atomics::read(ring.taken) + kOutputChunks || next >= kMostChunkNumbers) return nullptr;
    Atomics::maximum(head, OutputHead::of_chunk(next).bits);
  }
}

}  // namespace myriarm::cuda
