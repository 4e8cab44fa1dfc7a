// SPDX-License-Identifier: Apache-2.0
// What openings of objects have in common, whatever they are: their status, and their end.
#pragma once

#include "kernel/epoll.h"

namespace myriarm::kernel {

/// As fstat() shows an object.
template <Machine M>
MYR_OUTLINE FileStatus status_of_object(const M& m, const Opened& opened) {
  constexpr u32 kPipeForUser = 0010600, kSocketForAll = 0140777, kNameless = 0600;
  if (u32 file; file_of(m, opened, file)) return status_of_opened(m, file);
  if (opened.kind != Kind::pipe && opened.kind != Kind::socket) return {kNamelessNumber, kNameless, 1, 0, 0, 0};
  const u64 object = object_at(opened.file), made = word(m, object + kObjectTime);
  FileStatus status = {kFirstObjectNumber + word(m, object + kObjectNumber),
                       opened.kind == Kind::pipe ? kPipeForUser : kSocketForAll, 1, 0};
  status.seconds = status.access_seconds = status.change_seconds = (i64)(kEpochSeconds + made / kNanoseconds);
  status.nanoseconds = status.access_nanoseconds = status.change_nanoseconds = (u32)(made % kNanoseconds);
  return status;
}

/// Openings that cannot be read, or written, have been refused.
template <Machine M>
MYR_OUTLINE Result read_object(M& m, const Opened& opened, i32 stream, const Buffers& buffers) {
  switch (opened.kind) {
    case Kind::pipe: return read_pipe(m, use_of(opened), buffers);
    case Kind::counter: return read_counter(m, opened, buffers);
    case Kind::timer: return read_timer(m, opened, buffers);
    case Kind::signals: return read_signals(m, opened, stream, buffers);
    case Kind::socket: return read_socket(m, opened, buffers, 0);
    default: return error(kEINVAL);
  }
}
template <Machine M>
MYR_OUTLINE Result write_object(M& m, const Opened& opened, const Buffers& buffers) {
  switch (opened.kind) {
    case Kind::pipe: return write_pipe(m, use_of(opened), buffers);
    case Kind::counter: return write_counter(m, opened, buffers);
    case Kind::socket: return write_socket(m, opened, buffers, 0);
    default: return error(kEINVAL);
  }
}

/// The events that are there for a stream, whether they are asked for or not.
template <Machine M>
MYR_OUTLINE u32 events_of_stream(const M& m, i32 stream) {
  const Opened opened = opened_at(m, stream);
  if (opened.kind != Kind::epoll) return simple_events(m, stream);
  return epoll_state(m, opened.file).ready ? kEventsIn : 0u;
}
/// When, by the passing of time alone, it may have events that it has not now; kNever: never.
template <Machine M>
MYR_OUTLINE u64 stream_changes_in(const M& m, i32 stream) {
  const Opened opened = opened_at(m, stream);
  return opened.kind == Kind::epoll ? epoll_state(m, opened.file).changes_in : simple_changes_in(m, stream);
}

/// To be called, and to have returned true, before leave_object().
template <Machine M>
MYR_OUTLINE bool own_leaving_object(M& m, const Opened& opened) {
  const u64 object = object_at(opened.file);
  switch (opened.kind) {
    case Kind::pipe: return own_leaving_pipe(m, object);
    case Kind::signals: return true;
    case Kind::socket: return own_leaving_socket(m, object);
    case Kind::epoll: return own_leaving_epoll(m, object);
    default: return own_word(m, object);
  }
}
/// The last descriptor of an opening has been closed.
template <Machine M>
MYR_OUTLINE void leave_object(M& m, const Opened& opened) {
  const u64 object = object_at(opened.file);
  switch (opened.kind) {
    case Kind::pipe: return leave_pipe(m, object, opened.readable(), opened.writable());
    case Kind::signals: return;
    case Kind::socket: return leave_socket(m, object);
    case Kind::epoll: return leave_epoll(m, object);
    default: set_word(m, object + kObjectHolders, word(m, object + kObjectHolders) - 1);
  }
}

}  // namespace myriarm::kernel
