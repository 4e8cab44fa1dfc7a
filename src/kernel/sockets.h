// SPDX-License-Identifier: Apache-2.0
// Pairs of sockets (AF_UNIX): two pipes, one for each direction. Streams, datagrams and sequenced packets; no names, no descriptors
// in messages. Other sockets are refused.
#pragma once

#include "kernel/event_files.h"
#include "kernel/fifos.h"

namespace myriarm::kernel {

enum SocketType : u32 { kStream = 1, kDatagram = 2, kSequenced = 5 };
/// Words of the object: the pipes, as objects, from which it reads and to which it writes; its type; that its peer has ended while
/// bytes for it were left.
enum SocketWord : u32 {
  kSocketIn = kObjectOwn,
  kSocketOut = kObjectOwn + 8,
  kSocketType = kObjectOwn + 16,
  kSocketPeer = kObjectOwn + 24,
  kSocketReset = kObjectOwn + 32,
};
// clang-format off
enum MessageFlag : u32 { kUrgent = 1, kPeek = 2, kTruncated = 0x20, kDoNotWait = 0x40, kWaitForAll = 0x100, kNoSignal = 0x4000,
                         kMessageCloseOnExec = 0x40000000 };
// clang-format on

template <MemoryMachine M>
MYR_FN u64 socket_pipe(const M& m, u64 socket, SocketWord end) {
  return object_at((u32)lesser(word(m, socket + end), kMostObjects - 1));
}
template <MemoryMachine M>
MYR_FN PipeUse receives(const M& m, const Opened& opened, u32 flags) {
  const u64 socket = object_at(opened.file);
  const bool message = word(m, socket + kSocketType) != kStream;
  PipeUse use = {socket_pipe(m, socket, kSocketIn), opened.non_blocking() || (flags & kDoNotWait), false, message};
  use.peeks = (flags & kPeek) != 0;
  use.ends = word(m, socket + kSocketType) != kDatagram;
  return use;
}
template <MemoryMachine M>
MYR_FN PipeUse sends(const M& m, const Opened& opened, u32 flags) {
  const u64 socket = object_at(opened.file);
  const u64 type = word(m, socket + kSocketType);
  PipeUse use = {socket_pipe(m, socket, kSocketOut), opened.non_blocking() || (flags & kDoNotWait), false,
                 type != kStream};
  use.silent = (flags & kNoSignal) != 0 || type != kStream;
  constexpr u64 kBothEnds = 2;
  if (type == kDatagram && word(m, use.pipe + kObjectHolders) < kBothEnds) use.broken = kECONNREFUSED;
  return use;
}
template <Machine M>
MYR_OUTLINE Result read_socket(M& m, const Opened& opened, const Buffers& buffers, u32 flags) {
  const u64 socket = object_at(opened.file);
  const PipeUse use = receives(m, opened, flags);
  const bool at_once = word(m, socket + kSocketType) == kSequenced;
  if ((at_once || used_slots(m, use.pipe) == 0) && word(m, socket + kSocketReset) != 0) {
    if (!own_word(m, socket)) return again();
    set_word(m, socket + kSocketReset, 0);
    return error(kECONNRESET);
  }
  return read_pipe(m, use, buffers);
}
template <Machine M>
MYR_OUTLINE Result write_socket(M& m, const Opened& opened, const Buffers& buffers, u32 flags) {
  const PipeUse use = sends(m, opened, flags);
  if ((flags & kUrgent) && use.message) return error(kEOPNOTSUPP);
  // One that has shut its own end down.
  if (word(m, use.pipe + kPipeWriters) == 0 && word(m, use.pipe + kPipeReaders) != 0) {
    PipeUse shut = use;
    shut.broken = kEPIPE;
    return broken_pipe(m, shut, 0);
  }
  return write_pipe(m, use, buffers);
}

template <Machine M>
MYR_OUTLINE Result socketpair(M& m) {
  constexpr u32 kLocal = 1, kTypes = 15, kMostTypes = 10, kFamilies = 46;
  const u32 family = (u32)m.argument(0), type = (u32)m.argument(1) & kTypes, flags = (u32)m.argument(1) & ~kTypes;
  const u64 address = m.argument(3);
  if (flags & ~(kOpenCloseOnExec | kOpenNonBlocking)) return error(kEINVAL);
  if (family >= kFamilies || family != kLocal) return error(kEAFNOSUPPORT);
  if (type > kMostTypes) return error(kEINVAL);
  const NewOpening first = find_opening(m);
  const NewOpening second = find_opening(m, first.fd + 1, first.index + 1);
  if (first.error < 0 || second.error < 0) return answer(first.error < 0 ? first.error : second.error);
  if (prepare(m, address, 8) == Storing::refused) return error(kEFAULT);
  if (m.argument(2) != 0 && (u32)m.argument(2) != kLocal) return error(kEPROTONOSUPPORT);
  if (type != kStream && type != kDatagram && type != kSequenced) {
    constexpr u32 kRaw = 3;
    if (type != kRaw) return error(kESOCKTNOSUPPORT);
  }
  u32 numbers[4], lowest = 0;  // pipes, then sockets
  for (u32 i = 0; i < 4; i++) {
    numbers[i] = free_object(m, lowest);
    lowest = numbers[i] + 1;
    if (numbers[i] >= kMostObjects) return error(kENFILE);
  }
  const u64 slots = slots_for_new(m);
  if (slots == 0 || free_buffers(m) < 2 * slots) return error(kENFILE);
  if (prepare(m, address, 8) != Storing::allowed) return again();
  if (!own_new_opening(m, first) || !own_new_opening(m, second)) return again();
  for (u32 number : numbers) {
    if (!own_object(m, number)) return again();
  }
  for (u32 i = 0; i < 2; i++) make_pipe(m, numbers[i], slots);
  for (u32 i = 0; i < 2; i++) {
    const u64 socket = make_object(m, numbers[2 + i], Kind::socket);
    set_word(m, socket + kSocketIn, numbers[i]);
    set_word(m, socket + kSocketOut, numbers[1 - i]);
    set_word(m, socket + kSocketType, type == kStream || type == kSequenced ? type : (u32)kDatagram);
    set_word(m, socket + kSocketPeer, numbers[3 - i]);
  }
  const u32 kept = kOpenReadWrite | (flags & kOpenNonBlocking);
  const bool closes = (flags & kOpenCloseOnExec) != 0;
  finish_opening(m, first, opened_object(Kind::socket, numbers[2], kept), closes);
  finish_opening(m, second, opened_object(Kind::socket, numbers[3], kept), closes);
  store<u32>(m, address, first.fd);
  store<u32>(m, address + 4, second.fd);
  return answer(0);
}

/// Of a message that is next to be received from a socket: the bytes that it has. 0: the socket is a stream, or nothing is there.
template <Machine M>
MYR_FN u64 message_size(const M& m, u64 socket, const Opened& opened) {
  const u64 pipe = receives(m, opened, 0).pipe;
  const bool message = word(m, socket + kSocketType) != kStream && used_slots(m, pipe) != 0;
  return message ? pipe_content(m, pipe).size : 0;
}
/// The socket behind argument 0, or an error, negative.
template <Machine M>
MYR_FN i64 find_socket(const M& m, Opened& opened) {
  const i32 stream = stream_of(m, m.argument(0));
  opened = opened_at(m, stream);
  if (stream < 0 || opened.path_only()) return -(i64)kEBADF;
  return opened.kind == Kind::socket ? (i64)object_at(opened.file) : -(i64)kENOTSOCK;
}
/// Whom a call names to send to: an error, negative, or 0. A pair is connected already, and datagrams go to the other end.
template <Machine M>
MYR_FN i64 check_name(const M& m, u64 socket, u64 name, u32 size) {
  constexpr u32 kMostNameBytes = 128;
  if (name == 0) return 0;
  if (size > kMostNameBytes) return -(i64)kEINVAL;
  if (!readable(m, name, size)) return -(i64)kEFAULT;
  return size != 0 && word(m, socket + kSocketType) == kStream ? -(i64)kEISCONN : 0;
}
template <Machine M>
MYR_OUTLINE Result sendto(M& m) {
  Opened opened;
  const i64 socket = find_socket(m, opened);
  if (socket < 0) return answer(socket);
  const i64 named = check_name(m, (u64)socket, m.argument(4), (u32)m.argument(5));
  if (named < 0) return answer(named);
  return write_socket(m, opened, one_buffer(m), (u32)m.argument(3));
}
template <Machine M>
MYR_OUTLINE Result recvfrom(M& m) {
  Opened opened;
  const i64 socket = find_socket(m, opened);
  if (socket < 0) return answer(socket);
  const u64 length = m.argument(5);
  const Storing storing = m.argument(4) == 0 ? Storing::allowed : prepare(m, length, 4);
  if (storing == Storing::again) return again();
  const u32 flags = (u32)m.argument(3);
  if ((flags & kUrgent) && word(m, (u64)socket + kSocketType) != kStream) return error(kEOPNOTSUPP);
  const u64 size = message_size(m, (u64)socket, opened);
  Result result = read_socket(m, opened, one_buffer(m), flags);
  if (result.served != Served::answered || result.value < 0) return result;
  if ((flags & kTruncated) && size != 0) result = answer((i64)size);
  if (m.argument(4) == 0) return result;
  if (storing == Storing::refused) return error(kEFAULT);
  store<u32>(m, length, 0);  // the peer has no name
  return result;
}
template <Machine M>
MYR_OUTLINE Result shutdown(M& m) {
  enum How : u32 { kRead, kWrite, kBoth };
  Opened opened;
  const i64 found = find_socket(m, opened);
  if (found < 0) return answer(found);
  const u32 how = (u32)m.argument(1);
  if (how > kBoth) return error(kEINVAL);
  const u64 in = socket_pipe(m, (u64)found, kSocketIn), out = socket_pipe(m, (u64)found, kSocketOut);
  if (!own_object_changes(m, in) || !own_object_changes(m, out)) return again();
  if (how != kWrite) set_word(m, in + kPipeReaders, 0);
  if (how != kRead) set_word(m, out + kPipeWriters, 0);
  note_end(m, in);
  note_end(m, out);
  return answer(0);
}
template <Machine M>
MYR_OUTLINE Result getsockopt(M& m) {
  enum Option : u32 {
    kDebug = 1,
    kType = 3,
    kError = 4,
    kSendBytes = 7,
    kReceiveBytes = 8,
    kProtocol = 38,
    kDomain = 39,
    kAccepts = 30
  };
  constexpr u32 kSocketLevel = 1;
  Opened opened;
  const i64 socket = find_socket(m, opened);
  if (socket < 0) return answer(socket);
  const u64 size_at = m.argument(4);
  if (!readable(m, size_at, 4)) return error(kEFAULT);
  if ((u32)m.argument(1) != kSocketLevel) return error(kEOPNOTSUPP);
  u32 value = 0;
  switch ((u32)m.argument(2)) {
    case kType: value = (u32)word(m, (u64)socket + kSocketType); break;
    case kError:
    case kAccepts:
    case kProtocol: break;
    case kDomain: value = 1; break;
    case kSendBytes:
    case kReceiveBytes: value = kPipeUsualSlots * kPageSize; break;
    default: return error(kENOPROTOOPT);
  }
  if ((i32)load<u32>(m, size_at) < 0) return error(kEINVAL);
  const u32 size = (u32)lesser(load<u32>(m, size_at), 4);
  const Storing storing = prepare(m, m.argument(3), size), size_storing = prepare(m, size_at, 4);
  if (storing == Storing::again || size_storing == Storing::again) return again();
  if (storing == Storing::refused || size_storing == Storing::refused) return error(kEFAULT);
  for (u32 i = 0; i < size; i++) store<u8>(m, m.argument(3) + i, (u8)(value >> i * 8));
  store<u32>(m, size_at, size);
  return answer(0);
}
/// getsockname and getpeername: an address without a name is its family alone.
template <Machine M>
MYR_OUTLINE Result socket_name(M& m) {
  constexpr u32 kFamilyBytes = 2;
  Opened opened;
  const i64 socket = find_socket(m, opened);
  if (socket < 0) return answer(socket);
  const u64 address = m.argument(1), size_at = m.argument(2);
  if (!readable(m, size_at, 4)) return error(kEFAULT);
  if ((i32)load<u32>(m, size_at) < 0) return error(kEINVAL);
  const u32 size = (u32)lesser(load<u32>(m, size_at), kFamilyBytes);
  const Storing storing = prepare(m, address, size), size_storing = prepare(m, size_at, 4);
  if (storing == Storing::again || size_storing == Storing::again) return again();
  if (storing == Storing::refused || size_storing == Storing::refused) return error(kEFAULT);
  for (u32 i = 0; i < size; i++) store<u8>(m, address + i, i == 0 ? 1 : 0);
  store<u32>(m, size_at, kFamilyBytes);
  return answer(0);
}

template <Machine M>
MYR_OUTLINE u32 socket_events(const M& m, u64 socket) {
  constexpr u32 kWriteBand = 512;
  const u64 in = socket_pipe(m, socket, kSocketIn), out = socket_pipe(m, socket, kSocketOut);
  const bool names = word(m, socket + kSocketType) != kDatagram;
  const bool ended = word(m, in + kPipeReaders) == 0 || (names && word(m, in + kPipeWriters) == 0);
  const bool broken = word(m, out + kPipeWriters) == 0 || (names && word(m, out + kPipeReaders) == 0);
  u32 events = used_slots(m, in) != 0 ? kEventsIn : 0u;
  if (ended) events |= kEventReadHangUp | kEventsIn;
  if (ended && broken) events |= kEventHangUp;
  if (free_slots(m, out) != 0) events |= kEventsOut | kWriteBand;
  return word(m, socket + kSocketReset) != 0 ? events | kEventError : events;
}
template <MemoryMachine M>
MYR_FN u64 socket_changes(const M& m, u64 socket, u64 in, u64 out) {
  return (word(m, socket_pipe(m, socket, kSocketIn) + kPipeFilled) & in) +
         (word(m, socket_pipe(m, socket, kSocketOut) + kPipeDrained) & out);
}

/// To be called, and to have returned true, before leave_socket().
template <Machine M>
MYR_FN bool own_leaving_socket(M& m, u64 socket) {
  return own_word(m, socket) && own_leaving_pipe(m, socket_pipe(m, socket, kSocketIn)) &&
         own_leaving_pipe(m, socket_pipe(m, socket, kSocketOut)) &&
         own_word(m, object_at((u32)lesser(word(m, socket + kSocketPeer), kMostObjects - 1)));
}
template <Machine M>
MYR_OUTLINE void leave_socket(M& m, u64 socket) {
  const u64 in = socket_pipe(m, socket, kSocketIn), out = socket_pipe(m, socket, kSocketOut);
  const u64 peer = object_at((u32)lesser(word(m, socket + kSocketPeer), kMostObjects - 1));
  const bool has_peer = word(m, out + kPipeReaders) != 0 && word(m, out + kObjectHolders) == 2;
  if (has_peer && used_slots(m, in) != 0 && word(m, socket + kSocketType) != kDatagram) {
    set_word(m, peer + kSocketReset, 1);
  }
  leave_pipe(m, in, word(m, in + kPipeReaders) != 0, false);
  leave_pipe(m, out, false, word(m, out + kPipeWriters) != 0);
  set_word(m, socket, 0);
}

}  // namespace myriarm::kernel
