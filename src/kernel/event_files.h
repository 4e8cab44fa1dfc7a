// SPDX-License-Identifier: Apache-2.0
// Files that are a count, a timer or signals: eventfd(2), timerfd_create(2), signalfd(2). A count and a timer are objects; a timer is
// on guest time, and how often it has expired follows from the clock when somebody asks. The position of an opening of signalfd() is
// its set of signals.
#pragma once

#include "kernel/pipes.h"
#include "kernel/time_calls.h"

namespace myriarm::kernel {

constexpr u32 kCountBytes = 8;
/// Where a read or a write of 8 bytes goes, of one buffer or of several that begin with so many; 0: it is too short.
template <MemoryMachine M>
MYR_FN u64 count_address(const M& m, const Buffers& buffers) {
  for (u32 i = 0; i < buffers.count; i++) {
    const Buffer buffer = buffer_at(m, buffers, i);
    if (buffer.size != 0) return buffer.size >= kCountBytes ? buffer.address : 0;
  }
  return 0;
}

// ---- eventfd

constexpr u64 kMostCount = ~(u64)0 - 1;
/// Words of the object: its count, whether a read takes 1 (EFD_SEMAPHORE), and how often the count has changed.
enum CounterWord : u32 {
  kCounterValue = kObjectOwn,
  kCounterIsSemaphore = kObjectOwn + 8,
  kCounterFilled = kObjectOwn + 16,
  kCounterDrained = kObjectOwn + 24,
};

template <Machine M>
MYR_OUTLINE Result eventfd2(M& m) {
  constexpr u32 kSemaphore = 1;
  const u32 flags = (u32)m.argument(1);
  if (flags & ~(kSemaphore | kOpenCloseOnExec | kOpenNonBlocking)) return error(kEINVAL);
  const u32 number = free_object(m);
  const NewOpening made = find_opening(m);
  if (made.error < 0) return answer(made.error);
  if (number == kMostObjects) return error(kENFILE);
  if (!own_new_opening(m, made) || !own_object(m, number)) return again();
  const u64 counter = make_object(m, number, Kind::counter);
  set_word(m, counter + kCounterValue, (u32)m.argument(0));
  set_word(m, counter + kCounterIsSemaphore, flags & kSemaphore);
  const u64 opened = opened_object(Kind::counter, number, kOpenReadWrite | (flags & kOpenNonBlocking));
  return finish_opening(m, made, opened, (flags & kOpenCloseOnExec) != 0);
}
template <Machine M>
MYR_OUTLINE Result read_counter(M& m, const Opened& opened, const Buffers& buffers) {
  const u64 counter = object_at(opened.file), count = word(m, counter + kCounterValue);
  const u64 address = count_address(m, buffers);
  if (address == 0) return error(kEINVAL);
  if (count == 0) {
    if (opened.non_blocking()) return error(kEAGAIN);
    const Wait wait = wait_until_ready(m);
    return own_wait(m) ? wait_here(m, wait, counter, 0) : again();
  }
  const Storing storing = prepare(m, address, kCountBytes);
  if (storing == Storing::again || !own_object_changes(m, counter)) return again();
  const u64 taken = word(m, counter + kCounterIsSemaphore) != 0 ? 1 : count;
  // As on Linux, what cannot be stored has been taken.
  set_word(m, counter + kCounterValue, count - taken);
  count_change(m, counter, kCounterDrained);
  if (storing == Storing::refused) return error(kEFAULT);
  store<u64>(m, address, taken);
  return answer(kCountBytes);
}
template <Machine M>
MYR_OUTLINE Result write_counter(M& m, const Opened& opened, const Buffers& buffers) {
  const u64 counter = object_at(opened.file), count = word(m, counter + kCounterValue);
  const u64 address = count_address(m, buffers);
  if (address == 0) return error(kEINVAL);
  if (!readable(m, address, kCountBytes)) return error(kEFAULT);
  const u64 more = load<u64>(m, address);
  if (more == ~(u64)0) return error(kEINVAL);
  if (more > kMostCount - count) {
    if (opened.non_blocking()) return error(kEAGAIN);
    const Wait wait = wait_until_ready(m);
    return own_wait(m) ? wait_here(m, wait, counter, 0) : again();
  }
  if (!own_object_changes(m, counter)) return again();
  set_word(m, counter + kCounterValue, count + more);
  count_change(m, counter, kCounterFilled);
  return answer(kCountBytes);
}
template <MemoryMachine M>
MYR_FN u32 counter_events(const M& m, u64 counter) {
  const u64 count = word(m, counter + kCounterValue);
  return (count != 0 ? (u32)kEventReadable : 0u) | (count < kMostCount ? (u32)kEventWritable : 0u);
}

// ---- timerfd

/// Words of the object: its clock, when it expires by that clock (timer_now()), 0 if it does not, and its interval.
enum TimerWord : u32 {
  kTimerClock = kObjectOwn,
  kTimerExpires = kObjectOwn + 8,
  kTimerInterval = kObjectOwn + 16,
};
MYR_FN bool is_file_clock(u32 clock) { return clock == kRealtime || clock == kMonotonic || clock == kBoottime; }
/// How often a timer that expires at `expires` has done so.
MYR_FN u64 expirations(u64 expires, u64 interval, u64 now) {
  if (expires == 0 || now < expires) return 0;
  return interval == 0 ? 1 : 1 + (now - expires) / interval;
}
/// In how long a timer expires the next time; 0 if it does not.
MYR_FN u64 left_of(u64 expires, u64 interval, u64 now) {
  if (expires == 0) return 0;
  if (now < expires) return expires - now;
  return interval == 0 ? 0 : interval - (now - expires) % interval;
}
template <Machine M>
MYR_FN u64 timer_now(const M& m, u64 timer) {
  return start_of(clock_has_date((u32)word(m, timer + kTimerClock))) + nanoseconds(m);
}
template <Machine M>
MYR_FN u64 timer_expirations(const M& m, u64 timer) {
  return expirations(word(m, timer + kTimerExpires), word(m, timer + kTimerInterval), timer_now(m, timer));
}
template <Machine M>
MYR_FN u64 timer_left(const M& m, u64 timer) {
  return left_of(word(m, timer + kTimerExpires), word(m, timer + kTimerInterval), timer_now(m, timer));
}

template <Machine M>
MYR_OUTLINE Result timerfd_create(M& m) {
  const u32 clock = (u32)m.argument(0), flags = (u32)m.argument(1);
  if (flags & ~(kOpenCloseOnExec | kOpenNonBlocking)) return error(kEINVAL);
  if (clock == kRealtimeAlarm || clock == kBoottimeAlarm) return error(kEPERM);
  if (!is_file_clock(clock)) return error(kEINVAL);
  const u32 number = free_object(m);
  const NewOpening made = find_opening(m);
  if (made.error < 0) return answer(made.error);
  if (number == kMostObjects) return error(kENFILE);
  if (!own_new_opening(m, made) || !own_object(m, number)) return again();
  set_word(m, make_object(m, number, Kind::timer) + kTimerClock, clock);
  const u64 opened = opened_object(Kind::timer, number, kOpenReadWrite | (flags & kOpenNonBlocking));
  return finish_opening(m, made, opened, (flags & kOpenCloseOnExec) != 0);
}

constexpr u32 kTimerSpecBytes = 32;  // struct itimerspec: interval, value
/// The struct itimerspec at an address that is readable. False: it is not valid.
template <Machine M>
MYR_FN bool load_timer_spec(const M& m, u64 address, TimerSetting& setting) {
  setting = {duration(m, address), duration(m, address + kTimespecBytes)};
  return setting.interval >= 0 && setting.left >= 0;
}
template <Machine M>
MYR_FN void store_timer_spec(M& m, u64 address, u64 interval, u64 left) {
  store_words(m, address, interval / kNanoseconds, interval % kNanoseconds);
  store_words(m, address + kTimespecBytes, left / kNanoseconds, left % kNanoseconds);
}
/// When a timer expires that is set to `left`: 0 never. `absolute`: by a clock that begins at `start`.
MYR_FN u64 expiry_of(u64 left, bool absolute, u64 start, u64 now) {
  if (left == 0) return 0;
  if (!absolute) return now + lesser(left, kEndOfTime - lesser(now, kEndOfTime));
  return greater(left - lesser(left, start), 1);
}

/// The timer behind a descriptor, or an error, negative.
template <Machine M>
MYR_FN i64 find_timer_file(const M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0) return -(i64)kEBADF;
  const Opened opened = opened_at(m, stream);
  if (opened.path_only()) return -(i64)kEBADF;
  return opened.kind == Kind::timer ? (i64)object_at(opened.file) : -(i64)kEINVAL;
}
template <Machine M>
MYR_FN void store_timer_file(M& m, u64 timer, u64 address) {
  store_timer_spec(m, address, word(m, timer + kTimerInterval), timer_left(m, timer));
}
template <Machine M>
MYR_OUTLINE Result timerfd_settime(M& m) {
  constexpr u32 kAbsolute = 1, kCancelOnSet = 2;  // nobody sets the clock
  const u32 flags = (u32)m.argument(1);
  const u64 next = m.argument(2), old = m.argument(3);
  TimerSetting setting;
  if (!readable(m, next, kTimerSpecBytes)) return error(kEFAULT);
  if ((flags & ~(kAbsolute | kCancelOnSet)) || !load_timer_spec(m, next, setting)) return error(kEINVAL);
  const i64 found = find_timer_file(m);
  if (found < 0) return answer(found);
  const u64 timer = (u64)found;
  const Storing storing = old == 0 ? Storing::allowed : prepare(m, old, kTimerSpecBytes);
  if (storing == Storing::again || !own_object_changes(m, timer)) return again();
  if (old != 0 && storing == Storing::allowed) store_timer_file(m, timer, old);
  const u64 expires = expiry_of((u64)setting.left, (flags & kAbsolute) != 0, 0, timer_now(m, timer));
  set_word(m, timer + kTimerExpires, expires);
  set_word(m, timer + kTimerInterval, (u64)setting.interval);
  note_change(m, timer);
  return storing == Storing::refused ? error(kEFAULT) : answer(0);
}
template <Machine M>
MYR_OUTLINE Result timerfd_gettime(M& m) {
  const i64 found = find_timer_file(m);
  if (found < 0) return answer(found);
  const Storing storing = prepare(m, m.argument(1), kTimerSpecBytes);
  if (storing != Storing::allowed) return not_stored(storing);
  store_timer_file(m, (u64)found, m.argument(1));
  return answer(0);
}
template <Machine M>
MYR_OUTLINE Result read_timer(M& m, const Opened& opened, const Buffers& buffers) {
  const u64 timer = object_at(opened.file), address = count_address(m, buffers), count = timer_expirations(m, timer);
  const u64 expires = word(m, timer + kTimerExpires), interval = word(m, timer + kTimerInterval);
  if (address == 0) return error(kEINVAL);
  if (count == 0) {
    if (opened.non_blocking()) return error(kEAGAIN);
    const Wait wait = wait_until_ready(m, expires != 0 ? expires - lesser(expires, timer_now(m, timer)) : kNever);
    return own_wait(m) ? wait_here(m, wait, timer, 0) : again();
  }
  const Storing storing = prepare(m, address, kCountBytes);
  if (storing == Storing::again || !own_object_changes(m, timer)) return again();
  set_word(m, timer + kTimerExpires, interval == 0 ? 0 : expires + count * interval);
  if (storing == Storing::refused) return error(kEFAULT);
  store<u64>(m, address, count);
  return answer(kCountBytes);
}
template <Machine M>
MYR_FN u64 timer_changes_in(const M& m, u64 timer) {
  const u64 left = timer_expirations(m, timer) != 0 ? 0 : timer_left(m, timer);
  return left == 0 ? kNever : left;
}

// ---- signalfd

constexpr u32 kSignalRecordBytes = 128;  // struct signalfd_siginfo

template <Machine M>
MYR_OUTLINE Result signalfd4(M& m) {
  const u32 flags = (u32)m.argument(3);
  if (m.argument(2) != kSignalSetBytes) return error(kEINVAL);
  if (!readable(m, m.argument(1), kSignalSetBytes)) return error(kEFAULT);
  if (flags & ~(kOpenCloseOnExec | kOpenNonBlocking)) return error(kEINVAL);
  const u64 set = load<u64>(m, m.argument(1)) & ~unblockable_signals();
  if ((i32)m.argument(0) == -1) {
    const u64 opened = opened_object(Kind::signals, 0, kOpenReadWrite | (flags & kOpenNonBlocking));
    return open_stream(m, opened, (flags & kOpenCloseOnExec) != 0, set);
  }
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0) return error(kEBADF);
  if (opened_at(m, stream).kind != Kind::signals) return error(kEINVAL);
  if (!own_object_changes(m, position_word((u32)stream))) return again();
  set_word(m, position_word((u32)stream), set);
  note_change(m, kSignalEvent);
  return answer((i32)m.argument(0));
}

/// Stores what is known of a signal as a struct signalfd_siginfo.
template <Machine M>
MYR_OUTLINE void store_signal_record(M& m, u64 address, const SignalInformation& information) {
  const u64* words = information.words;
  const i32 code = (i32)words[1];
  for (u32 i = 0; i < kSignalRecordBytes; i += 8) store<u64>(m, address + i, 0);
  store<u32>(m, address, information.number());
  store<u32>(m, address + 4, (u32)(words[0] >> 32));  // si_errno
  store<u32>(m, address + 8, (u32)code);
  if (synchronous_signals() & signal_bit(information.number()) && code > 0) {
    store<u64>(m, address + 72, words[2]);  // ssi_addr
  } else if (code == kByTimer) {
    store<u32>(m, address + 24, (u32)words[2]);          // ssi_tid
    store<u32>(m, address + 32, (u32)(words[2] >> 32));  // ssi_overrun
    store<u64>(m, address + 48, words[3]);               // ssi_ptr
    store<u32>(m, address + 44, (u32)words[3]);          // ssi_int
  } else {
    store<u32>(m, address + 12, (u32)words[2]);          // ssi_pid
    store<u32>(m, address + 16, (u32)(words[2] >> 32));  // ssi_uid
    if (code < 0 && code != kByThread) {
      store<u64>(m, address + 48, words[3]);
      store<u32>(m, address + 44, (u32)words[3]);
    }
  }
}
template <Machine M>
MYR_FN u64 signals_change_in(const M& m, i32 stream) {
  return time_to_signal(m, word(m, position_word((u32)stream))).time;
}
template <Machine M>
MYR_OUTLINE Result read_signals(M& m, const Opened& opened, i32 stream, const Buffers& buffers) {
  const u64 set = word(m, position_word((u32)stream));
  u64 room = 0, address = 0;
  for (u32 i = 0; i < buffers.count && room == 0; i++) {
    const Buffer buffer = buffer_at(m, buffers, i);
    room = buffer.size / kSignalRecordBytes;
    address = buffer.address;
  }
  if (room == 0) return error(kEINVAL);
  if (!(pending_signals(m) & set)) {
    if (opened.non_blocking()) return error(kEAGAIN);
    const Wait wait = wait_until_ready(m, time_to_signal(m, set).time);
    return own_signals(m) && own_wait(m) ? wait_here(m, wait, kSignalEvent, 0) : again();
  }
  // At most all that wait.
  room = lesser(room, kQueueRecords);
  const u64 places = accessible(m, address, room * kSignalRecordBytes, kPageWritable) / kSignalRecordBytes;
  if (prepare(m, address, places * kSignalRecordBytes) == Storing::again || !own_signals(m)) return again();
  u64 done = 0;
  for (; done < room; done++) {
    const NextSignal next = next_signal(m, set);
    if (next.number == 0) break;
    const SignalInformation information = take_signal(m, next);
    if (done == places) return done == 0 ? error(kEFAULT) : answer((i64)(done * kSignalRecordBytes));
    store_signal_record(m, address + done * kSignalRecordBytes, information);
  }
  return answer((i64)(done * kSignalRecordBytes));
}

}  // namespace myriarm::kernel
