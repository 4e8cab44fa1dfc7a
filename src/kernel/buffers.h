// SPDX-License-Identifier: Apache-2.0
// The buffers of calls that move data, and how bytes that the host has given get there.
#pragma once

#include "kernel/errno.h"
#include "kernel/guest_memory.h"

namespace myriarm::kernel {

// One call moves at most this many bytes on Linux (MAX_RW_COUNT), from or to at most 1024 buffers (UIO_MAXIOV).
constexpr u64 kMostBytes = 0x7ffff000;
constexpr u32 kMostBuffers = 1024;
constexpr u32 kBufferRecord = 16;  // struct iovec: base and length

/// A buffer that a call reads into or writes from.
struct Buffer {
  u64 address, size;
};
/// The buffers of a call: one, or those of an array of struct iovec in guest memory.
struct Buffers {
  u32 count;
  bool listed;
  u64 records;  // address of the array
  Buffer one;
};

/// The buffer that arguments 1 and 2 are.
template <MemoryMachine M>
MYR_FN Buffers one_buffer(const M& m) {
  return {1, false, 0, {m.argument(1), lesser(m.argument(2), kMostBytes)}};
}
/// Those of an array of struct iovec. Returns 0 or an error, negative.
template <MemoryMachine M>
MYR_FN i64 find_buffers(const M& m, u64 records, u64 count, Buffers& buffers) {
  if (count > kMostBuffers) return -kEINVAL;
  if (!readable(m, records, count * kBufferRecord)) return -kEFAULT;
  for (u64 i = 0; i < count; i++) {
    if ((i64)load<u64>(m, records + i * kBufferRecord + 8) < 0) return -kEINVAL;
  }
  buffers = {(u32)count, true, records, {0, 0}};
  return 0;
}
/// Those of the array that arguments 1 and 2 are.
template <MemoryMachine M>
MYR_FN i64 find_buffers(const M& m, Buffers& buffers) {
  return find_buffers(m, m.argument(1), m.argument(2), buffers);
}
template <MemoryMachine M>
MYR_FN Buffer buffer_at(const M& m, const Buffers& buffers, u32 index) {
  if (!buffers.listed) return buffers.one;
  const u64 record = buffers.records + index * kBufferRecord;
  return {load<u64>(m, record), load<u64>(m, record + 8)};
}
/// Whether bytes lie in the array.
MYR_FN bool overlaps_records(const Buffers& buffers, u64 address, u64 size) {
  return buffers.listed && address < buffers.records + buffers.count * kBufferRecord &&
         address + size > buffers.records;
}

MYR_FN u64 bytes_behind(const Bytes& source, u64 position) { return source.size - lesser(position, source.size); }
template <MemoryMachine M>
MYR_FN void copy_source(M& m, const Bytes& source, u64 position, u64 address, u64 size) {
  copy_in(m, address, source.data + position, size);
}

/// Copies bytes from a position of `source` to the buffers. `position_at`: the word that follows the position, or 0. A source
/// has bytes_behind() and copy_source().
template <MemoryMachine M, class Source>
MYR_OUTLINE Result take_in(M& m, const Buffers& buffers, const Source& source, u64 position, u32 position_at) {
  u64 ready = 0;  // bytes that have a place
  bool refused = false;
  for (u32 i = 0; i < buffers.count && !refused; i++) {
    const Buffer buffer = buffer_at(m, buffers, i);
    const u64 most = lesser(kMostBytes - ready, bytes_behind(source, position + ready));
    const u64 wanted = lesser(buffer.size, most);
    if (most == 0) break;
    const u64 size = accessible(m, buffer.address, wanted, kPageWritable);
    refused = size < wanted;
    if (prepare(m, buffer.address, size) == Storing::again) return again();
    ready += size;
    // The array is not read again once it is overwritten, and there is no room for a copy of it. Linux may move fewer
    // bytes than a call asks for.
    if (size != 0 && overlaps_records(buffers, buffer.address, size)) break;
  }
  if (ready == 0) return refused ? error(kEFAULT) : answer(0);
  if (position_at != 0 && !own_word(m, position_at)) return again();
  u64 moved = 0;
  for (u32 i = 0; moved < ready; i++) {
    const Buffer buffer = buffer_at(m, buffers, i);
    const u64 size = lesser(buffer.size, ready - moved);
    copy_source(m, source, position + moved, buffer.address, size);
    moved += size;
  }
  if (position_at != 0) set_word(m, position_at, position + moved);
  return answer((i64)moved);
}

}  // namespace myriarm::kernel
