// SPDX-License-Identifier: Apache-2.0
// read, readv, pread64, write and writev. A process reads what the host has given its lane, files of its tree (tree_io.h), and
// pipes and other objects; what it writes to the standard streams is kept for the host, or goes to the host at once.
#pragma once

#include "kernel/object_files.h"
#include "kernel/signals.h"
#include "kernel/tree_io.h"

namespace myriarm::kernel {

MYR_FN bool is_output(i32 stream) { return stream == (i32)kStandardOutput || stream == (i32)kStandardError; }
/// Whether a descriptor is open, and for reading.
template <Machine M>
MYR_FN bool can_read(const M& m, i32 stream) {
  if (stream < (i32)kFirstOpening) return stream == (i32)kStandardInput;
  const Opened opened = opened_at(m, stream);
  return opened.kind == Kind::input || opened.readable();
}
template <Machine M>
MYR_FN bool can_write(const M& m, i32 stream) {
  if (stream < (i32)kFirstOpening) return is_output(stream);
  const Opened opened = opened_at(m, stream);
  return opened.kind != Kind::input && opened.writable();
}

template <Machine M>
MYR_OUTLINE Result read_stream(M& m, i32 stream, const Buffers& buffers) {
  const Opened opened = opened_at(m, stream);
  const u32 position_at = position_word((u32)stream);
  const u64 position = word(m, position_at);
  switch (opened.kind) {
    case Kind::standard: return take_in(m, buffers, m.input().standard_input, position, position_at);
    case Kind::input: return take_in(m, buffers, m.input().file, position, position_at);
    case Kind::tree: return read_tree(m, opened, buffers, position, position_at);
    default: return read_object(m, opened, stream, buffers);
  }
}
template <Machine M>
MYR_OUTLINE Result read(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  return can_read(m, stream) ? read_stream(m, stream, one_buffer(m)) : error(kEBADF);
}
template <Machine M>
MYR_OUTLINE Result readv(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (!can_read(m, stream)) return error(kEBADF);
  Buffers buffers;
  const i64 found = find_buffers(m, buffers);
  return found < 0 ? answer(found) : read_stream(m, stream, buffers);
}
template <Machine M>
MYR_FN bool has_positions(const M& m, i32 stream) {
  return stream >= (i32)kFirstOpening && !opened_at(m, stream).is_object();
}
template <Machine M>
MYR_OUTLINE Result pread64(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  const u64 position = m.argument(3);
  if ((i64)position < 0) return error(kEINVAL);
  if (stream < 0) return error(kEBADF);
  if (!has_positions(m, stream)) return error(kESPIPE);
  if (const Opened opened = opened_at(m, stream); opened.in_tree) {
    return read_tree(m, opened, one_buffer(m), position, 0);
  }
  return take_in(m, one_buffer(m), m.input().file, position, 0);
}

/// The result of a call that has put out so many bytes behind those kept, and then met a problem, or 0.
template <Machine M>
MYR_OUTLINE Result finish_output(M& m, u32 size_at, u64 kept, u64 moved, i32 problem) {
  if (moved == 0 && problem == kEINTR) return again();
  if (problem == kEPIPE) {
    // As on Linux, also after a part was written. It has to change no page that is not own by now.
    if (!own_signals(m)) return again();
    (void)send_signal(m, Target::thread, signal_information(kSignalPipe, kByUser, sender(m)));
  }
  if (moved == 0) return problem != 0 ? error(problem) : answer(0);
  set_word(m, size_at, kept + moved);
  return answer((i64)moved);
}
MYR_FN i32 problem_of(PutKind kind) {
  switch (kind) {
    case PutKind::refused: return kENOSPC;
    case PutKind::closed: return kEPIPE;
    case PutKind::interrupted: return kEINTR;
    default: return 0;
  }
}
MYR_FN u32 output_size_word(u32 stream) { return kOutputSize + (stream - kStandardOutput) * 8; }
/// Keeps what the buffers hold as output of a stream.
template <Machine M>
MYR_OUTLINE Result put_out(M& m, u32 stream, const Buffers& buffers) {
  const u32 size_at = output_size_word(stream);
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
    if (put.kind == PutKind::again) return again();  // what was put out before is repeated at the same place
    if (put.kind != PutKind::taken) problem = problem_of(put.kind);
  }
  return finish_output(m, size_at, kept, moved, problem);
}

template <Machine M>
MYR_OUTLINE Result write_stream(M& m, i32 stream, const Buffers& buffers) {
  const Opened opened = opened_at(m, stream);
  const u32 position_at = position_word((u32)stream);
  switch (opened.kind) {
    case Kind::standard: return put_out(m, (u32)stream, buffers);
    case Kind::input: return error(kEBADF);
    case Kind::tree: return write_tree(m, opened, buffers, word(m, position_at), position_at);
    default: return write_object(m, opened, buffers);
  }
}
template <Machine M>
MYR_OUTLINE Result write(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  return can_write(m, stream) ? write_stream(m, stream, one_buffer(m)) : error(kEBADF);
}
/// pwrite64 and pwritev, pread's relatives. A file that is open with O_APPEND is written at its end nevertheless.
template <Machine M>
MYR_OUTLINE Result write_at(M& m, i32 stream, const Buffers& buffers, u64 position) {
  if (!has_positions(m, stream)) return error(kESPIPE);
  const Opened opened = opened_at(m, stream);
  return opened.in_tree ? write_tree(m, opened, buffers, position, 0) : error(kEBADF);
}
template <Machine M>
MYR_OUTLINE Result pwrite64(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if ((i64)m.argument(3) < 0) return error(kEINVAL);
  return stream < 0 ? error(kEBADF) : write_at(m, stream, one_buffer(m), m.argument(3));
}
/// preadv and pwritev. `flags` are those of preadv2(), of which none is known.
template <Machine M>
MYR_OUTLINE Result move_at(M& m, bool reads, u32 flags) {
  const i32 stream = stream_of(m, m.argument(0));
  const u64 position = m.argument(3);
  if ((i64)position < 0) return error(kEINVAL);
  if (stream < 0) return error(kEBADF);
  if (!has_positions(m, stream)) return error(kESPIPE);
  const Opened opened = opened_at(m, stream);
  if (!(reads ? can_read(m, stream) : can_write(m, stream))) return error(kEBADF);
  Buffers buffers;
  const i64 found = find_buffers(m, buffers);
  if (found < 0) return answer(found);
  if (flags != 0) return error(kEOPNOTSUPP);
  if (!reads) return write_at(m, stream, buffers, position);
  return opened.in_tree ? read_tree(m, opened, buffers, position, 0) : take_in(m, buffers, m.input().file, position, 0);
}
template <Machine M>
MYR_FN Result preadv(M& m) {
  return move_at(m, true, 0);
}
template <Machine M>
MYR_FN Result pwritev(M& m) {
  return move_at(m, false, 0);
}
template <Machine M>
MYR_OUTLINE Result writev(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (!can_write(m, stream)) return error(kEBADF);
  Buffers buffers;
  const i64 found = find_buffers(m, buffers);
  return found < 0 ? answer(found) : write_stream(m, stream, buffers);
}
/// preadv2 and pwritev2: with the position -1 they are readv and writev.
template <Machine M>
MYR_OUTLINE Result move_with_flags(M& m, bool reads) {
  const u32 flags = (u32)m.argument(5);
  bool any = false;
  Buffers buffers = {0, false, 0, {0, 0}};
  if (find_buffers(m, buffers) < 0) any = true;  // then that is the error
  for (u32 i = 0; i < buffers.count && !any; i++) any = buffer_at(m, buffers, i).size != 0;
  // As on Linux, the flags of a call that moves nothing are not looked at.
  if (m.argument(3) != ~(u64)0) return move_at(m, reads, any ? flags : 0);
  const i32 stream = stream_of(m, m.argument(0));
  if (!(reads ? can_read(m, stream) : can_write(m, stream))) return error(kEBADF);
  const i64 found = find_buffers(m, buffers);
  if (found < 0) return answer(found);
  if (any && flags != 0) return error(kEOPNOTSUPP);
  return reads ? read_stream(m, stream, buffers) : write_stream(m, stream, buffers);
}
template <Machine M>
MYR_FN Result preadv2(M& m) {
  return move_with_flags(m, true);
}
template <Machine M>
MYR_FN Result pwritev2(M& m) {
  return move_with_flags(m, false);
}

}  // namespace myriarm::kernel
