// SPDX-License-Identifier: Apache-2.0
// read, readv, pread64, write and writev. A process reads what the host has given its lane; what it writes is kept for
// the host, or goes to the host at once.
#pragma once

#include "kernel/descriptors.h"
#include "kernel/signal_calls.h"

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
template <Machine M>
MYR_FN Buffers one_buffer(const M& m) {
  return {1, false, 0, {m.argument(1), lesser(m.argument(2), kMostBytes)}};
}
/// Those of the array that arguments 1 and 2 are. Returns 0 or an error, negative.
template <Machine M>
MYR_FN i64 find_buffers(const M& m, Buffers& buffers) {
  const u64 records = m.argument(1), count = m.argument(2);
  if (count > kMostBuffers) return -kEINVAL;
  if (!readable(m, records, count * kBufferRecord)) return -kEFAULT;
  for (u64 i = 0; i < count; i++) {
    if ((i64)load<u64>(m, records + i * kBufferRecord + 8) < 0) return -kEINVAL;
  }
  buffers = {(u32)count, true, records, {0, 0}};
  return 0;
}
template <Machine M>
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

/// Copies bytes from a position of `source` to the buffers. `position_at`: the word that follows the position, or 0.
template <Machine M>
MYR_OUTLINE Result take_in(M& m, const Buffers& buffers, const Bytes& source, u64 position, u32 position_at) {
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
    copy_in(m, buffer.address, source.data + position + moved, size);
    moved += size;
  }
  if (position_at != 0) set_word(m, position_at, position + moved);
  return answer((i64)moved);
}

MYR_FN bool is_input(i32 stream) { return stream == (i32)kStandardInput || stream >= (i32)kFirstOpening; }
MYR_FN bool is_output(i32 stream) { return stream == (i32)kStandardOutput || stream == (i32)kStandardError; }

template <Machine M>
MYR_FN Result take_in_stream(M& m, i32 stream, const Buffers& buffers) {
  const ProcessInput input = m.input();
  const u32 position_at = position_word((u32)stream);
  const Bytes& source = stream >= (i32)kFirstOpening ? input.file : input.standard_input;
  return take_in(m, buffers, source, word(m, position_at), position_at);
}
template <Machine M>
MYR_OUTLINE Result read(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  return is_input(stream) ? take_in_stream(m, stream, one_buffer(m)) : error(kEBADF);
}
template <Machine M>
MYR_OUTLINE Result readv(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (!is_input(stream)) return error(kEBADF);
  Buffers buffers;
  const i64 found = find_buffers(m, buffers);
  return found < 0 ? answer(found) : take_in_stream(m, stream, buffers);
}
template <Machine M>
MYR_OUTLINE Result pread64(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  const u64 position = m.argument(3);
  if ((i64)position < 0) return error(kEINVAL);
  if (stream < 0) return error(kEBADF);
  if (stream < (i32)kFirstOpening) return error(kESPIPE);
  return take_in(m, one_buffer(m), m.input().file, position, 0);
}

/// Keeps what the buffers hold as output of a stream.
template <Machine M>
MYR_OUTLINE Result put_out(M& m, u32 stream, const Buffers& buffers) {
  const u32 size_at = kOutputSize + (stream - kStandardOutput) * 8;
  const u64 kept = word(m, size_at), limit = m.input().output_limit, room = limit - lesser(limit, kept);
  u64 moved = 0, asked = 0;
  i32 problem = 0;
  for (u32 i = 0; i < buffers.count && problem == 0; i++) {
    const Buffer buffer = buffer_at(m, buffers, i);
    const u64 wanted = lesser(buffer.size, kMostBytes - asked);
    asked += wanted;
    if (wanted == 0) continue;
    u64 size = accessible(m, buffer.address, wanted, kPageReadable);
    if (size < wanted) problem = kEFAULT;
    if (size > room - moved) {
      size = room - moved;
      problem = kENOSPC;
    }
    if (size == 0) continue;
    if (!own_word(m, size_at)) return again();
    const Put put = m.put_out(stream, kept + moved, buffer.address, size);
    moved += put.size;
    switch (put.kind) {
      case PutKind::taken: break;
      case PutKind::refused: problem = kENOSPC; break;
      case PutKind::closed: problem = kEPIPE; break;
      case PutKind::interrupted: problem = kEINTR; break;
      case PutKind::again: return again();  // what was put out before is repeated at the same place
    }
  }
  if (moved == 0 && problem == kEINTR) return again();
  if (problem == kEPIPE) {
    // As on Linux, also after a part was written. It has to change no page that is not own by now.
    const Result raised = raise(m, kSignalPipe);
    if (raised.served != Served::answered) return raised;
  }
  if (moved == 0) return problem != 0 ? error(problem) : answer(0);
  set_word(m, size_at, kept + moved);
  return answer((i64)moved);
}

template <Machine M>
MYR_OUTLINE Result write(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (!is_output(stream)) return error(kEBADF);
  return put_out(m, (u32)stream, one_buffer(m));
}
template <Machine M>
MYR_OUTLINE Result writev(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (!is_output(stream)) return error(kEBADF);
  Buffers buffers;
  const i64 found = find_buffers(m, buffers);
  if (found < 0) return answer(found);
  return put_out(m, (u32)stream, buffers);
}

}  // namespace myriarm::kernel
