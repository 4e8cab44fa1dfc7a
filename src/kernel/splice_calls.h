// SPDX-License-Identifier: Apache-2.0
// splice, tee, vmsplice and sendfile: bytes between pipes, files, sockets and the memory of the process. As on Linux, what goes into a
// pipe takes a slot for each page that it comes from, and pages of pipes are moved, not copied. Other pages are copied: what a
// pipe holds does not change any more.
#pragma once

#include "kernel/io_calls.h"

namespace myriarm::kernel {

enum SpliceFlag : u32 { kSpliceNonBlocking = 2, kSpliceFlags = 15 };

/// An end between which bytes move: where the guest has its position, 0 if it is the opening's, and the position.
struct SpliceEnd {
  i32 stream;
  Opened opened;
  u64 address, position;

  MYR_FN bool is_pipe() const { return opened.kind == Kind::pipe; }
  MYR_FN bool is_stream() const { return is_pipe() || opened.kind == Kind::standard; }
  MYR_FN bool has_position() const { return opened.kind == Kind::input || opened.in_tree; }
  MYR_FN u64 pipe() const { return object_at(opened.file); }
};
template <Machine M>
MYR_FN SpliceEnd splice_end(const M& m, u64 descriptor) {
  const i32 stream = stream_of(m, descriptor);
  SpliceEnd end = {stream, opened_at(m, stream), 0, 0};
  if (stream >= 0 && end.opened.path_only()) end.stream = -1;
  return end;
}
/// Where the end is, of which `address` is where the guest has its position. 0, or an error, negative.
template <Machine M>
MYR_FN i64 find_position(const M& m, SpliceEnd& end, u64 address) {
  end.address = address;
  if (address != 0 && accessible(m, address, 8, kPageWritable) != 8) return -(i64)kEFAULT;
  if (address != 0) end.position = load<u64>(m, address);
  else if (end.has_position()) end.position = word(m, position_word((u32)end.stream));
  return 0;
}
/// As rw_verify_area() of Linux.
MYR_FN bool is_valid_part(u64 position, u64 size) {
  return (i64)size >= 0 && (i64)position >= 0 && (i64)(position + size) >= 0;
}

/// What an end has for the call: a source for take_from(). Of a file that is made, or a device, `position` is in its text or stream.
struct SpliceSource {
  enum class From : u8 { host, file, text, device, pipe } from;
  u64 position, size;
  Bytes bytes;
  u32 file;
  MadeFile made;
  DeviceBytes device;
  u64 pipe;
};
template <MemoryMachine M>
MYR_FN void set_layer_byte(M& m, u64 at, u8 value) {
  write_once<u8>(m.locate(m.entry(m.guest_pages() + (at >> kPageBits)), offset_in_page(at)), value);
}
/// Puts what lies at [from, from + size) of a text into a place of the layer.
template <MemoryMachine M>
struct LayerWindow {
  M& m;
  u64 from, size, place, at = 0;
  MYR_FN void byte(u8 value) {
    if (at >= from && at - from < size) set_layer_byte(m, place + (at - from), value);
    at++;
  }
};
/// Copies bytes of a pipe from a position on, whatever packets they are in.
template <Machine M>
MYR_OUTLINE void copy_from_pipe(M& m, u64 pipe, u64 position, u64 at, u64 size) {
  u64 end = 0;
  for (u64 done = 0, n = word(m, pipe + kPipeTail); done < size; n++) {
    const Slot from = slot(m, pipe, n);
    const u64 begin = end, wanted = position + done;
    end += from.size;
    if (wanted >= end) continue;
    const u64 part = lesser(size - done, end - wanted);
    copy_within_layer(m, at + done, layer_at(from.page) + from.offset + (wanted - begin), part);
    done += part;
  }
}
template <Machine M>
MYR_OUTLINE void take_from(M& m, SpliceSource& source, u64 at, u64 size) {
  using From = SpliceSource::From;
  switch (source.from) {
    case From::host: fill_layer(m, at, source.bytes.data + source.position, size); break;
    case From::file: {
      FileSource file = {source.file, source.position};
      take_from(m, file, at, size);
      break;
    }
    case From::text: {
      LayerWindow<M> window{m, source.position, size, at};
      detail_of_texts::put_made(m, source.made, window);
      break;
    }
    case From::device:
      for (u64 i = 0; i < size; i++) set_layer_byte(m, at + i, device_byte(source.device, source.position + i));
      break;
    case From::pipe: copy_from_pipe(m, source.pipe, source.position, at, size); break;
  }
  source.position += size;
}
/// The bytes of an end that is no socket. 0, or an error, negative. `size`: how many there are from its position on.
template <Machine M>
MYR_OUTLINE i64 find_source(const M& m, const SpliceEnd& in, SpliceSource& source, u64& size) {
  using From = SpliceSource::From;
  source = {From::host, in.position, 0, {nullptr, 0}, 0, MadeFile::none, {false, 0}, 0};
  if (in.is_pipe()) {
    source.from = From::pipe;
    source.pipe = in.pipe();
    source.size = size = word(m, in.pipe() + kPipeBytes);
    return 0;
  }
  if (!in.opened.in_tree) {
    if (in.opened.kind > Kind::input) return -(i64)kEINVAL;
    const bool is_input = in.opened.kind == Kind::input;
    source.bytes = is_input ? m.input().file : m.input().standard_input;
    if (!is_input) source.position = word(m, kInputPosition);
    size = bytes_behind(source.bytes, source.position);
    return 0;
  }
  const FileStatus file = file_status(m, in.opened.file);
  if (const DeviceKind device = device_kind(file); device != DeviceKind::none) {
    if (device == DeviceKind::null) return -(i64)kEINVAL;
    source.from = From::device;
    source.device = device_bytes(m, device);
    source.position = source.device.random ? word(m, kRandomPosition) : 0;
    size = kMostBytes;
    return 0;
  }
  if (type_of(file) != kRegular) return -(i64)kEINVAL;
  if constexpr (HasTree<M>) {
    if (const MadeFile made = made_file(file); made != MadeFile::none) {
      source.from = From::text;
      source.made = made;
      source.size = made_text(m, made).size;
      size = source.size - lesser(in.position, source.size);
      return 0;
    }
  }
  Content content;
  if (!content_of(m, in.opened.file, content)) return -(i64)kEIO;
  source.from = From::file;
  source.file = in.opened.file;
  size = bytes_behind(content, in.position);
  return 0;
}

// ---- what changes when bytes have moved

/// To be called, and to have returned true, before pass_bytes(); then secure_any(0) too, if bytes leave a pipe.
template <Machine M>
MYR_FN bool own_end(M& m, const SpliceEnd& end) {
  if (end.is_pipe()) return own_pipe(m, end.pipe());
  if (end.address != 0 && prepare(m, end.address, 8) != Storing::allowed) return false;
  if (end.opened.in_tree && !own_word(m, kRandomPosition)) return false;
  return end.stream == (i32)kStandardInput || end.has_position() ? own_word(m, position_word((u32)end.stream)) : true;
}
/// So many bytes have come from, or gone to, a file; or have come from a pipe.
template <Machine M>
MYR_FN void pass_bytes(M& m, const SpliceEnd& end, u64 size, bool reads) {
  if (size == 0) return;
  if (end.is_pipe()) return drain_pipe(m, end.pipe(), size, false);
  if (reads && end.opened.in_tree && device_kind(file_status(m, end.opened.file)) == DeviceKind::random) {
    set_word(m, kRandomPosition, word(m, kRandomPosition) + size);
  }
  if (end.stream == (i32)kStandardInput) set_word(m, kInputPosition, word(m, kInputPosition) + size);
  else if (end.address != 0) store<u64>(m, end.address, end.position + size);
  else if (end.has_position()) set_word(m, position_word((u32)end.stream), end.position + size);
}
MYR_FN u64 moved_by(const Result& result) {
  return result.served == Served::answered && result.value > 0 ? (u64)result.value : 0;
}

// ---- where bytes go

/// To a standard stream, through a page that is free.
template <Machine M>
MYR_OUTLINE Result put_out_from(M& m, u32 stream, SpliceSource& source, u64 size) {
  const u32 size_at = output_size_word(stream);
  const u64 kept = word(m, size_at), limit = m.input().output_limit, room = limit - lesser(limit, kept);
  if (has_layer(m) && layer_word(m, kTakenPages) >= area_pages(m)) return error(kENOMEM);
  if (!own_word(m, size_at) || !secure_any(m, 1)) return again();
  const u64 place = layer_at(free_page_from(m, layer_word(m, kFirstFree)));
  u64 moved = 0;
  i32 problem = size > room ? kENOSPC : 0;
  size = lesser(size, room);
  while (moved < size) {
    const u64 part = lesser(kPageSize, size - moved);
    take_from(m, source, place, part);
    const Put put = m.put_out(stream, kept + moved, m.facts().window_end + place, part);
    if (put.kind == PutKind::again) return again();
    moved += put.size;
    if (put.kind == PutKind::taken) continue;
    problem = problem_of(put.kind);
    break;
  }
  return finish_output(m, size_at, kept, moved, problem);
}
/// To a pipe that has room, as much as fits.
template <Machine M>
MYR_OUTLINE Result put_into_pipe(M& m, u64 pipe, SpliceSource& source, u64 size) {
  const u32 skew = source.from == SpliceSource::From::file ? offset_in_page(source.position) : 0;
  size = lesser(size, free_slots(m, pipe) * kPageSize - skew);
  const PipePlan plan = {0, size, (skew + size + kPageSize - 1) / kPageSize, skew, true};
  if (!secure_pipe(m, pipe, plan)) return again();
  fill_pipe(m, pipe, plan, false, false, source);
  return answer((i64)size);
}
/// To a pipe or a standard stream.
template <Machine M>
MYR_FN Result put_into_stream(M& m, const SpliceEnd& out, SpliceSource& source, u64 size) {
  return out.is_pipe() ? put_into_pipe(m, out.pipe(), source, size) : put_out_from(m, (u32)out.stream, source, size);
}
/// From an end to a socket. As on Linux the call waits until all has gone; a message goes as a whole.
template <Machine M>
MYR_OUTLINE Result put_into_socket(M& m, const SpliceEnd& in, const SpliceEnd& out, SpliceSource& source, u64 size,
                                   u64 before) {
  const PipeUse use = sends(m, out.opened, 0);
  if (word(m, use.pipe + kPipeWriters) == 0 || word(m, use.pipe + kPipeReaders) == 0) {
    PipeUse broken = use;
    if (word(m, use.pipe + kPipeReaders) != 0) broken.broken = kEPIPE;
    return broken_pipe(m, broken, before);
  }
  if (use.message) size = lesser(size, word(m, use.pipe + kPipeSlots) * kPageSize);
  PipePlan plan = plan_pipe(m, use.pipe, size, use.message, true);
  if (use.message && plan.size < size) plan = {0, 0, 0};
  const bool waits = plan.size < size && !use.non_blocking;
  if (plan.size == 0 && before == 0 && !waits) return error(kEAGAIN);
  const Wait wait = waits ? wait_until_ready(m) : Wait{WaitEnd::never, 0};
  if (!own_end(m, in) || (waits && !own_wait(m)) || !secure_pipe(m, use.pipe, plan) || !secure_any(m, plan.pages)) {
    return again();
  }
  if (plan.size != 0) {
    fill_pipe(m, use.pipe, plan, false, use.message, source);
    pass_bytes(m, in, plan.size, true);
  }
  return waits ? wait_here(m, wait, use.pipe, before + plan.size) : answer((i64)(before + plan.size));
}
/// From an end to one that is neither a pipe nor a standard stream. `in` has so many bytes.
template <Machine M>
MYR_OUTLINE Result put_anywhere(M& m, const SpliceEnd& in, const SpliceEnd& out, SpliceSource& source, u64 size,
                                u64 before) {
  if (out.opened.kind == Kind::socket) return put_into_socket(m, in, out, source, size, before);
  const DeviceKind device = device_kind(file_status(m, out.opened.file));
  if (!own_end(m, in) || !own_end(m, out) || (in.is_pipe() && !secure_any(m, 0))) return again();
  Result result = answer((i64)size);
  if (device == DeviceKind::none) result = write_from(m, out.opened.file, out.position, size, source);
  pass_bytes(m, in, moved_by(result), true);
  if (device == DeviceKind::none) pass_bytes(m, out, moved_by(result), false);
  return result;
}
/// Whether bytes can be spliced to it.
template <Machine M>
MYR_FN bool takes_bytes(const M& m, const SpliceEnd& out) {
  if (out.opened.kind == Kind::socket) return true;
  if (!out.opened.in_tree) return false;
  const FileStatus file = file_status(m, out.opened.file);
  return type_of(file) == kRegular ? made_file(file) == MadeFile::none : device_kind(file) != DeviceKind::full;
}

// ---- pipes

/// Whether bytes can go to a stream at once: 1, or what the call returns.
template <Machine M>
MYR_OUTLINE Result wait_for_room(M& m, const SpliceEnd& out, bool non_blocking) {
  if (!out.is_pipe()) return answer(1);
  if (!has_readers(m, out.pipe())) return broken_pipe(m, use_of(out.opened), 0);
  if (free_slots(m, out.pipe()) != 0) return answer(1);
  if (non_blocking) return error(kEAGAIN);
  const Wait wait = wait_until_ready(m);
  return own_wait(m) ? wait_here(m, wait, out.pipe(), 0) : again();
}
/// The same for bytes that can come from one; 1 also if none will ever.
template <Machine M>
MYR_OUTLINE Result wait_for_bytes(M& m, const SpliceEnd& in, bool non_blocking) {
  if (!in.is_pipe() || used_slots(m, in.pipe()) != 0 || !has_writers(m, in.pipe())) return answer(1);
  if (non_blocking) return error(kEAGAIN);
  const Wait wait = wait_until_ready(m);
  return own_wait(m) ? wait_here(m, wait, in.pipe(), 0) : again();
}
MYR_FN bool goes_on(const Result& result) { return result.served == Served::answered && result.value == 1; }

/// Slots from one pipe to another: with `takes` they leave the first, and whole ones keep their page.
template <Machine M>
MYR_OUTLINE Result move_slots_to(M& m, u64 from, u64 to, u64 size, bool takes, bool fixed) {
  const u64 tail = word(m, from + kPipeTail), most = lesser(used_slots(m, from), free_slots(m, to));
  u64 count = 0, bytes = 0;
  bool divides = false;
  for (; count < most && bytes < size; count++) {
    const u64 there = slot(m, from, tail + count).size, part = lesser(size - bytes, there);
    divides = part != there;
    bytes += part;
  }
  if (!own_pipe(m, from) || !own_pipe(m, to) || !secure_any(m, takes ? (divides ? 1 : 0) : count)) return again();
  const u64 head = word(m, to + kPipeHead);
  u64 left = bytes;
  for (u64 i = 0; i < count; i++) {
    const Slot source = slot(m, from, tail + i);
    const u32 part = (u32)lesser(left, source.size);
    Slot moved = source;
    left -= part;
    moved.fixed |= fixed;
    if (!takes || part != source.size) {
      moved = {take_buffer(m), 0, part, source.packet, false, true};
      copy_within_layer(m, layer_at(moved.page), layer_at(source.page) + source.offset, part);
    }
    if (takes && part != source.size) {
      Slot rest = source;
      rest.offset += part;
      rest.size -= part;
      set_word(m, slot_at(m, from, tail + i), value_of(rest));
    }
    set_word(m, slot_at(m, to, head + i), value_of(moved));
  }
  set_word(m, to + kPipeHead, head + count);
  set_word(m, to + kPipeBytes, word(m, to + kPipeBytes) + bytes);
  count_change(m, to, kPipeFilled);
  if (!takes) return answer((i64)bytes);
  set_word(m, from + kPipeTail, tail + count - divides);
  set_word(m, from + kPipeBytes, word(m, from + kPipeBytes) - bytes);
  count_change(m, from, kPipeDrained);
  return answer((i64)bytes);
}
/// splice() and tee() between pipes, or standard streams.
template <Machine M>
MYR_OUTLINE Result splice_streams(M& m, const SpliceEnd& in, const SpliceEnd& out, u64 size, u32 flags, bool takes) {
  const bool non_blocking = (flags & kSpliceNonBlocking) || in.opened.non_blocking() || out.opened.non_blocking();
  if (in.is_pipe() && out.is_pipe() && in.opened.file == out.opened.file) return error(kEINVAL);
  if (const Result ready = wait_for_bytes(m, in, non_blocking); !goes_on(ready)) return ready;
  if (const Result ready = wait_for_room(m, out, non_blocking); !goes_on(ready)) return ready;
  SpliceSource source;
  u64 there = 0;
  find_source(m, in, source, there);
  size = lesser(size, lesser(there, kMostBytes));
  if (size == 0) return answer(0);
  if (in.is_pipe() && out.is_pipe()) return move_slots_to(m, in.pipe(), out.pipe(), size, takes, false);
  if (!own_end(m, in) || (in.is_pipe() && !secure_any(m, 0))) return again();
  const Result result = put_into_stream(m, out, source, size);
  if (takes) pass_bytes(m, in, moved_by(result), true);
  return result;
}
/// From a socket to a pipe: of a stream its bytes, else one message, of which what does not fit is gone.
template <Machine M>
MYR_OUTLINE Result splice_from_socket(M& m, const SpliceEnd& in, const SpliceEnd& out, u64 size, u32 flags) {
  const u64 socket = in.pipe();
  PipeUse use = receives(m, in.opened, 0);
  if (!use.message && (flags & kSpliceNonBlocking)) use.non_blocking = true;
  if (word(m, socket + kSocketReset) != 0 || used_slots(m, use.pipe) == 0) {
    // The same as for a read that finds nothing.
    const Buffers none = {0, false, 0, {0, 0}};
    if (word(m, socket + kSocketReset) != 0) return read_socket(m, in.opened, none, 0);
    if (use.ends && (word(m, use.pipe + kPipeWriters) == 0 || word(m, use.pipe + kPipeReaders) == 0)) return answer(0);
    if (use.non_blocking) return error(kEAGAIN);
    const Wait wait = wait_until_ready(m);
    return own_wait(m) ? wait_here(m, wait, use.pipe, 0) : again();
  }
  if (!use.message && out.is_pipe()) return move_slots_to(m, use.pipe, out.pipe(), size, true, true);
  const PipeContent content = pipe_content(m, use.pipe);
  SpliceSource source = {SpliceSource::From::pipe, 0,          content.size, {nullptr, 0}, 0,
                         MadeFile::none,           {false, 0}, use.pipe};
  if (!own_pipe(m, use.pipe) || !secure_any(m, 0)) return again();
  size = lesser(size, content.size);
  const Result result = size != 0 ? put_into_stream(m, out, source, size) : answer(0);
  if (moved_by(result) != 0 || (use.message && result.served == Served::answered)) {
    drain_pipe(m, use.pipe, moved_by(result), use.message);
  }
  return result;
}
/// From an end that is no pipe to a pipe or a standard stream.
template <Machine M>
MYR_OUTLINE Result splice_into(M& m, const SpliceEnd& in, const SpliceEnd& out, u64 size, u32 flags) {
  const bool non_blocking = (flags & kSpliceNonBlocking) || out.opened.non_blocking();
  if (const Result ready = wait_for_room(m, out, non_blocking); !goes_on(ready)) return ready;
  if (size == 0) return answer(0);
  if (in.opened.kind == Kind::socket) return splice_from_socket(m, in, out, size, flags);
  SpliceSource source;
  u64 there = 0;
  if (const i64 found = find_source(m, in, source, there); found < 0) return answer(found);
  size = lesser(size, lesser(there, kMostBytes));
  if (size == 0) return answer(0);
  if (!own_end(m, in)) return again();
  const Result result = put_into_stream(m, out, source, size);
  pass_bytes(m, in, moved_by(result), true);
  return result;
}
/// From a pipe or standard input to an end that is none.
template <Machine M>
MYR_OUTLINE Result splice_out(M& m, const SpliceEnd& in, const SpliceEnd& out, u64 size, u32 flags) {
  const u64 before = word(m, kWaitDone);
  const bool non_blocking = (flags & kSpliceNonBlocking) || in.opened.non_blocking();
  if (!takes_bytes(m, out)) return error(kEINVAL);
  if (before == 0) {
    if (const Result ready = wait_for_bytes(m, in, non_blocking); !goes_on(ready)) return ready;
  }
  SpliceSource source;
  u64 there = 0;
  find_source(m, in, source, there);
  size = lesser(size - before, lesser(there, kMostBytes));
  return size == 0 ? answer((i64)before) : put_anywhere(m, in, out, source, size, before);
}

template <Machine M>
MYR_OUTLINE Result splice(M& m) {
  const u64 size = m.argument(4);
  const u32 flags = (u32)m.argument(5);
  if (size == 0) return answer(0);
  if (flags & ~(u32)kSpliceFlags) return error(kEINVAL);
  SpliceEnd in = splice_end(m, m.argument(0)), out = splice_end(m, m.argument(2));
  if (in.stream < 0 || out.stream < 0) return error(kEBADF);
  if ((in.is_stream() && m.argument(1) != 0) || (out.is_stream() && m.argument(3) != 0)) return error(kESPIPE);
  i64 found = find_position(m, out, m.argument(3));
  if (found == 0) found = find_position(m, in, m.argument(1));
  if (found < 0) return answer(found);
  if (!can_read(m, in.stream) || !can_write(m, out.stream)) return error(kEBADF);
  if (in.is_stream() && out.is_stream()) return splice_streams(m, in, out, size, flags, true);
  if (!in.is_stream() && !out.is_stream()) return error(kEINVAL);
  const SpliceEnd& other = in.is_stream() ? out : in;
  if (other.address != 0 && !other.has_position()) return error(kEINVAL);
  if (in.is_stream() && (out.opened.flags & kOpenAppend)) return error(kEINVAL);
  if (!is_valid_part(other.position, size)) return error(kEINVAL);
  return in.is_stream() ? splice_out(m, in, out, size, flags) : splice_into(m, in, out, size, flags);
}

template <Machine M>
MYR_OUTLINE Result tee(M& m) {
  const u64 size = m.argument(2);
  const u32 flags = (u32)m.argument(3);
  if (flags & ~(u32)kSpliceFlags) return error(kEINVAL);
  if (size == 0) return answer(0);
  const SpliceEnd in = splice_end(m, m.argument(0)), out = splice_end(m, m.argument(1));
  if (in.stream < 0 || out.stream < 0) return error(kEBADF);
  if (!can_read(m, in.stream) || !can_write(m, out.stream)) return error(kEBADF);
  return in.is_stream() && out.is_stream() ? splice_streams(m, in, out, size, flags, false) : error(kEINVAL);
}

template <Machine M>
MYR_OUTLINE Result sendfile(M& m) {
  const u64 address = m.argument(2);
  u64 size = m.argument(3);
  SpliceEnd in = splice_end(m, m.argument(1)), out = splice_end(m, m.argument(0));
  i64 found = find_position(m, in, address);
  if (found < 0) return answer(found);
  if (in.stream < 0 || !can_read(m, in.stream)) return error(kEBADF);
  if (address != 0 && !in.has_position()) return error(kESPIPE);
  if (!is_valid_part(in.position, size)) return error(kEINVAL);
  size = lesser(size, kMostBytes);
  if (out.stream < 0 || !can_write(m, out.stream)) return error(kEBADF);
  if (out.is_stream()) {
    if (!in.is_stream()) return splice_into(m, in, out, size, 0);
    const Result ready = wait_for_room(m, out, out.opened.non_blocking());
    return goes_on(ready) ? (size == 0 ? answer(0) : error(kEINVAL)) : ready;
  }
  found = find_position(m, out, 0);
  if ((out.opened.flags & kOpenAppend) || !is_valid_part(out.position, size) || !in.has_position())
    return error(kEINVAL);
  const u64 before = word(m, kWaitDone);
  if (size == before) return answer((i64)before);
  SpliceSource source;
  u64 there = 0;
  found = find_source(m, in, source, there);
  if (found < 0) return answer(found);
  if (!takes_bytes(m, out)) return error(kEINVAL);
  size = lesser(size - before, there);
  return size == 0 ? answer((i64)before) : put_anywhere(m, in, out, source, size, before);
}

// ---- memory of the process

/// Parts of the guest's memory that are to go into slots, each within a page.
struct MemoryParts {
  u64 count, size;
  bool refused;
};
/// With `fills` they are copied there; pages for them must be secured.
template <Machine M>
MYR_OUTLINE MemoryParts splice_memory(M& m, u64 pipe, const Buffers& buffers, u64 most, bool fills) {
  MemoryParts parts = {0, 0, false};
  u64 head = word(m, pipe + kPipeHead);
  for (u32 i = 0; i < buffers.count && !parts.refused; i++) {
    const Buffer buffer = buffer_at(m, buffers, i);
    for (u64 done = 0; done < buffer.size && parts.count < most;) {
      const u64 at = buffer.address + done, part = lesser(buffer.size - done, kPageSize - offset_in_page(at));
      parts.refused = !readable(m, at, part);
      if (parts.refused) break;
      if (fills) {
        const u32 page = take_buffer(m);
        copy_to_layer(m, layer_at(page), at, part);
        set_word(m, slot_at(m, pipe, head++), value_of(Slot{page, 0, (u32)part, false, false, true}));
      }
      parts.count++;
      parts.size += part;
      done += part;
    }
  }
  return parts;
}
template <Machine M>
MYR_OUTLINE Result vmsplice(M& m) {
  const u32 flags = (u32)m.argument(3);
  if (flags & ~(u32)kSpliceFlags) return error(kEINVAL);
  const SpliceEnd end = splice_end(m, m.argument(0));
  if (end.stream < 0) return error(kEBADF);
  const bool writes = can_write(m, end.stream);
  if (!writes && !can_read(m, end.stream)) return error(kEBADF);
  Buffers buffers;
  if (const i64 found = find_buffers(m, buffers); found < 0) return answer(found);
  u64 size = 0;
  for (u32 i = 0; i < buffers.count; i++) size += lesser(buffer_at(m, buffers, i).size, kMostBytes - size);
  if (size == 0) return answer(0);
  if (!end.is_stream()) return error(kEBADF);
  const bool non_blocking = (flags & kSpliceNonBlocking) != 0;  // O_NONBLOCK is not looked at, as on Linux
  if (!end.is_pipe()) {
    if (writes) return put_out(m, (u32)end.stream, buffers);
    return take_in(m, buffers, m.input().standard_input, word(m, kInputPosition), kInputPosition);
  }
  const u64 pipe = end.pipe();
  if (writes) {
    if (const Result ready = wait_for_room(m, end, non_blocking); !goes_on(ready)) return ready;
    const MemoryParts parts = splice_memory(m, pipe, buffers, free_slots(m, pipe), false);
    if (parts.size == 0) return error(kEFAULT);
    if (!own_pipe(m, pipe) || !secure_any(m, parts.count)) return again();
    splice_memory(m, pipe, buffers, parts.count, true);
    set_word(m, pipe + kPipeHead, word(m, pipe + kPipeHead) + parts.count);
    set_word(m, pipe + kPipeBytes, word(m, pipe + kPipeBytes) + parts.size);
    count_change(m, pipe, kPipeFilled);
    return answer((i64)parts.size);
  }
  if (const Result ready = wait_for_bytes(m, end, non_blocking); !goes_on(ready)) return ready;
  if (used_slots(m, pipe) == 0) return answer(0);
  if (!own_pipe(m, pipe) || !secure_any(m, 0)) return again();
  const Result result = take_in(m, buffers, PipeContent{pipe, word(m, pipe + kPipeBytes)}, 0, 0);
  if (moved_by(result) != 0) drain_pipe(m, pipe, moved_by(result), false);
  return result;
}

}  // namespace myriarm::kernel
