// SPDX-License-Identifier: Apache-2.0
// What openings of objects have in common, whatever they are: their status, and their end.
#pragma once

#include "kernel/event_files.h"

namespace myriarm::kernel {

/// As fstat() shows an object.
template <Machine M>
MYR_OUTLINE FileStatus status_of_object(const M& m, const Opened& opened) {
  constexpr u32 kPipeForUser = 0010600, kNameless = 0600;
  if (opened.kind != Kind::pipe) return {kNamelessNumber, kNameless, 1, 0, 0, 0};
  const u64 object = object_at(opened.file), made = word(m, object + kObjectTime);
  FileStatus status = {kFirstObjectNumber + word(m, object + kObjectNumber), kPipeForUser, 1, 0};
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
    default: return error(kEINVAL);
  }
}
template <Machine M>
MYR_OUTLINE Result write_object(M& m, const Opened& opened, const Buffers& buffers) {
  switch (opened.kind) {
    case Kind::pipe: return write_pipe(m, use_of(opened), buffers);
    case Kind::counter: return write_counter(m, opened, buffers);
    default: return error(kEINVAL);
  }
}

template <Machine M>
MYR_OUTLINE u32 events_of_object(const M& m, const Opened& opened, i32 stream) {
  switch (opened.kind) {
    case Kind::pipe: return pipe_events(m, opened);
    case Kind::counter: return counter_events(m, object_at(opened.file));
    case Kind::timer: return timer_expirations(m, object_at(opened.file)) != 0 ? (u32)kEventReadable : 0u;
    case Kind::signals: return (pending_signals(m) & word(m, position_word((u32)stream))) != 0 ? (u32)kEventReadable : 0u;
    default: return 0;
  }
}
/// When, by the passing of time alone, an object may have events that it has not now.
template <Machine M>
MYR_OUTLINE u64 object_changes_in(const M& m, const Opened& opened, i32 stream) {
  switch (opened.kind) {
    case Kind::timer: return timer_changes_in(m, object_at(opened.file));
    case Kind::signals: return signals_change_in(m, stream);
    default: return kNever;
  }
}

/// To be called, and to have returned true, before leave_object().
template <Machine M>
MYR_OUTLINE bool own_leaving_object(M& m, const Opened& opened) {
  const u64 object = object_at(opened.file);
  switch (opened.kind) {
    case Kind::pipe: return own_leaving_pipe(m, object);
    case Kind::signals: return true;
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
    default: set_word(m, object + kObjectHolders, word(m, object + kObjectHolders) - 1);
  }
}

}  // namespace myriarm::kernel
