// SPDX-License-Identifier: Apache-2.0
// read, readv, pread64, write and writev. A process reads what the host has given its lane, and files of its tree
// (tree_io.h); what it writes is kept for the host, or goes to the host at once.
#pragma once

#include "kernel/signals.h"
#include "kernel/tree_io.h"

namespace myriarm::kernel {

MYR_FN bool is_input(i32 stream) { return stream == (i32)kStandardInput || stream >= (i32)kFirstOpening; }
MYR_FN bool is_output(i32 stream) { return stream == (i32)kStandardOutput || stream == (i32)kStandardError; }

template <Machine M>
MYR_FN Result take_in_stream(M& m, i32 stream, const Buffers& buffers) {
  if (const Opened opened = opened_in_tree(m, stream); opened.in_tree) {
    return read_tree(m, opened, buffers, word(m, position_word((u32)stream)), position_word((u32)stream));
  }
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
  if (const Opened opened = opened_in_tree(m, stream); opened.in_tree) {
    return read_tree(m, opened, one_buffer(m), position, 0);
  }
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
    if (!own_signals(m)) return again();
    (void)send_signal(m, Target::thread, signal_information(kSignalPipe, kByUser, kSender));
  }
  if (moved == 0) return problem != 0 ? error(problem) : answer(0);
  set_word(m, size_at, kept + moved);
  return answer((i64)moved);
}

template <Machine M>
MYR_OUTLINE Result write(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (const Opened opened = opened_in_tree(m, stream); opened.in_tree) {
    const u32 position_at = position_word((u32)stream);
    return write_tree(m, opened, one_buffer(m), word(m, position_at), position_at);
  }
  if (!is_output(stream)) return error(kEBADF);
  return put_out(m, (u32)stream, one_buffer(m));
}
/// pwrite64 and pwritev, pread's relatives. A file that is open with O_APPEND is written at its end nevertheless.
template <Machine M>
MYR_OUTLINE Result write_at(M& m, i32 stream, const Buffers& buffers, u64 position) {
  const Opened opened = opened_in_tree(m, stream);
  if (opened.in_tree) return write_tree(m, opened, buffers, position, 0);
  return error(stream < (i32)kFirstOpening ? kESPIPE : kEBADF);
}
template <Machine M>
MYR_OUTLINE Result pwrite64(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if ((i64)m.argument(3) < 0) return error(kEINVAL);
  return stream < 0 ? error(kEBADF) : write_at(m, stream, one_buffer(m), m.argument(3));
}
/// preadv and pwritev.
template <Machine M>
MYR_OUTLINE Result move_at(M& m) {
  constexpr u32 kPreadv = 69;
  const i32 stream = stream_of(m, m.argument(0));
  const u64 position = m.argument(3);
  if ((i64)position < 0) return error(kEINVAL);
  if (stream < 0) return error(kEBADF);
  if (stream < (i32)kFirstOpening) return error(kESPIPE);
  const Opened opened = opened_in_tree(m, stream);
  const bool reads = m.number() == kPreadv;
  if (opened.in_tree ? !(reads ? opened.readable() : opened.writable()) : !reads) return error(kEBADF);
  Buffers buffers;
  const i64 found = find_buffers(m, buffers);
  if (found < 0) return answer(found);
  if (!reads) return write_at(m, stream, buffers, position);
  return opened.in_tree ? read_tree(m, opened, buffers, position, 0) : take_in(m, buffers, m.input().file, position, 0);
}
template <Machine M>
MYR_OUTLINE Result writev(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  const Opened opened = opened_in_tree(m, stream);
  if (!is_output(stream) && !opened.in_tree) return error(kEBADF);
  Buffers buffers;
  const i64 found = find_buffers(m, buffers);
  if (found < 0) return answer(found);
  if (opened.in_tree) {
    const u32 position_at = position_word((u32)stream);
    return write_tree(m, opened, buffers, word(m, position_at), position_at);
  }
  return put_out(m, (u32)stream, buffers);
}

}  // namespace myriarm::kernel
