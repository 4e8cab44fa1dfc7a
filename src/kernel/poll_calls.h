// SPDX-License-Identifier: Apache-2.0
// ppoll and pselect6. Of what can be open, pipes and other objects may not be ready (object_files.h); standard input is a pipe whose
// writers have closed it, output goes to pipes that take everything, and a file is always ready.
// Both calls look at what they are asked twice: to count what is ready, and to store it in place when all that they write
// to is known to be writable.
#pragma once

#include "kernel/object_files.h"

namespace myriarm::kernel {

/// The events that are there for a descriptor, whether they are asked for or not.
template <Machine M>
MYR_FN u32 events_of(const M& m, u32 descriptor) {
  const i32 stream = stream_of(m, descriptor);
  return stream < 0 || opened_at(m, stream).path_only() ? (u32)kEventNotOpen : events_of_stream(m, stream);
}
/// When, by the passing of time alone, a descriptor may have events that it has not now; kNever: never.
template <Machine M>
MYR_FN u64 changes_in(const M& m, u32 descriptor) {
  const i32 stream = stream_of(m, descriptor);
  return stream < 0 ? kNever : stream_changes_in(m, stream);
}

/// The time that a call waits for at most, and its struct timespec, 0 if it waits forever.
struct Timeout {
  u64 address;
  i64 time;  // or an error, negative
};
/// Of a time that is limited and not stored.
constexpr u64 kNoAddress = ~(u64)0;
template <Machine M>
MYR_FN Timeout timeout_at(const M& m, u64 address) {
  return {address, address != 0 ? duration(m, address) : 0};
}
/// A set of signals that are blocked while a call waits, and where it is; none if its address is 0.
struct WaitMask {
  bool is_set;
  u64 blocked;
};
template <Machine M>
MYR_FN WaitMask wait_mask_at(const M& m, u64 address) {
  return {address != 0, address != 0 ? load<u64>(m, address) & ~unblockable_signals() : word(m, kBlocked)};
}
/// When the wait of a call ends at the latest, by the process's clocks. A call that is made again has begun before.
template <Machine M>
MYR_FN u64 wait_end_of(const M& m, const Timeout& timeout) {
  if (is_made_again(m)) return word(m, kWaitEnd);
  return timeout.address != 0 ? nanoseconds(m) + (u64)timeout.time : kNever;
}
/// `ready_in`: as for wait_until_ready().
template <Machine M>
MYR_FN Wait wait_of(const M& m, const Timeout& timeout, const WaitMask& mask, u64 ready_in) {
  const u64 end = wait_end_of(m, timeout), now = nanoseconds(m);
  return wait_until_ready(m, mask.blocked, end == kNever ? kNever : end - lesser(end, now), ready_in);
}
/// To be called, and to have returned true, before wait_in_vain() and wait_again().
template <Machine M>
MYR_FN bool own_wait(M& m, const Timeout& timeout) {
  return prepare(m, timeout.address, kTimespecBytes) != Storing::again && own_signals(m);
}
/// As Linux does, if the guest may write there: stores how much is left of the time of a call that has waited.
template <Machine M>
MYR_FN void store_time_left(M& m, const Timeout& timeout, u64 passes) {
  if (accessible(m, timeout.address, kTimespecBytes, kPageWritable) != kTimespecBytes) return;
  const u64 end = wait_end_of(m, timeout), now = nanoseconds(m) + passes, left = end - lesser(end, now);
  store_words(m, timeout.address, left / kNanoseconds, left % kNanoseconds);
}
template <Machine M>
MYR_FN Result wait_again(M& m, const Timeout& timeout, const Wait& wait) {
  return make_again(m, wait, wait_end_of(m, timeout), 0);
}
/// Lets other threads run until something happens. Nothing may have been changed before.
template <Machine M>
MYR_FN Result begin_poll(M& m, const Timeout& timeout, const Wait& wait, const WaitMask& mask) {
  return begin_event_wait(m, wait, mask.blocked, kAnyEvent, wait_end_of(m, timeout), 0);
}
/// Ends a wait for which nothing is ready, with 0 or EINTR.
template <Machine M>
MYR_FN Result wait_in_vain(M& m, const Timeout& timeout, const Wait& wait, const WaitMask& mask) {
  store_time_left(m, timeout, wait.time);
  if (wait.end == WaitEnd::signal) return interrupt(m, wait, mask.blocked, mask.is_set);
  wait_masked(m, wait, mask.blocked);
  return answer(0);
}

// Fields of struct pollfd: descriptor, events that are asked for, events that are there.
constexpr u32 kPollRecord = 8, kPollEvents = 4, kPollThere = 6;

/// The events of the struct pollfd at an address that the call reports.
template <Machine M>
MYR_FN u32 polled_events(const M& m, u64 record) {
  const u32 descriptor = load<u32>(m, record);
  const u32 wanted = load<u16>(m, record + kPollEvents) | kEventError | kEventHangUp | kEventNotOpen;
  return (i32)descriptor < 0 ? 0 : events_of(m, descriptor) & wanted;
}

template <Machine M>
MYR_OUTLINE Result ppoll(M& m) {
  constexpr u64 kMaskBytes = 8;
  const u64 records = m.argument(0), mask = m.argument(3);
  const u32 count = (u32)m.argument(1);
  const Timeout timeout = timeout_at(m, m.argument(2));
  if (timeout.time < 0) return answer(timeout.time);
  if ((mask != 0 && m.argument(4) != kMaskBytes) || count > kMostFiles) return error(kEINVAL);
  const u64 size = count * kPollRecord;
  if (!readable(m, records, size) || (mask != 0 && !readable(m, mask, kMaskBytes))) return error(kEFAULT);
  u32 ready = 0;
  for (u32 i = 0; i < count; i++) ready += polled_events(m, records + i * kPollRecord) != 0;
  const WaitMask blocked = wait_mask_at(m, mask);
  u64 ready_in = kNever;
  for (u32 i = 0; i < count && ready == 0; i++) {
    const u32 descriptor = load<u32>(m, records + i * kPollRecord);
    if ((i32)descriptor >= 0) ready_in = lesser(ready_in, changes_in(m, descriptor));
  }
  const Wait wait = wait_of(m, timeout, blocked, ready_in);
  if (ready == 0 && wait.end == WaitEnd::never) return error(kEDEADLK);  // Linux would wait forever
  if (ready == 0 && wait.end == WaitEnd::begins) return begin_poll(m, timeout, wait, blocked);
  const Storing storing = prepare(m, records, size);
  if (storing == Storing::again || ((ready == 0 || is_made_again(m)) && !own_wait(m, timeout))) return again();
  if (!own_slice(m)) return again();
  if (ready == 0 && wait.end == WaitEnd::ready) return wait_again(m, timeout, wait);
  if (storing == Storing::allowed) {
    for (u32 i = 0; i < count; i++) {
      const u64 record = records + i * kPollRecord;
      store<u16>(m, record + kPollThere, (u16)polled_events(m, record));
    }
  }
  if (ready != 0 && is_made_again(m)) store_time_left(m, timeout, 0);
  if (ready != 0) end_slice(m);
  const Result result = ready == 0 ? wait_in_vain(m, timeout, wait, blocked) : answer(ready);
  return storing == Storing::refused ? error(kEFAULT) : result;
}

// Arguments 1 to 3 of pselect6, null or the addresses of sets of descriptors: to read from, to write to, with
// exceptional conditions.
constexpr u32 kSelectSets = 3;
MYR_FN u32 selected_events(u32 set) {
  return set == 0   ? kEventReadable | kEventHangUp | kEventError
         : set == 1 ? kEventWritable | kEventError
                    : (u32)kEventUrgent;
}

/// What the call makes of a word of a set, whose bits are the `descriptors` from `first` on that it selects.
struct SelectedWord {
  u64 ready;
  u32 count;  // of these
  bool bad;   // one that is not open is selected
  u64 changes_in;
};
template <Machine M>
MYR_OUTLINE SelectedWord select_word(const M& m, u64 descriptors, u32 first, u32 events) {
  SelectedWord result = {0, 0, false, kNever};
  for (u64 rest = descriptors; rest != 0; rest &= rest - 1) {
    const u32 bit = 63 - count_leading_zeros64(rest & (~rest + 1));
    const u32 there = events_of(m, first + bit);
    result.bad |= there == kEventNotOpen;
    if (!(there & events)) {
      result.changes_in = lesser(result.changes_in, changes_in(m, first + bit));
      continue;
    }
    result.ready |= (u64)1 << bit;
    result.count++;
  }
  return result;
}
/// The bits of word `index` of a set that are below `count`.
template <Machine M>
MYR_FN u64 set_word_at(const M& m, u64 set, u32 index, u32 count) {
  const u64 bits = load<u64>(m, set + index * 8);
  const u32 left = count - index * 64;
  return left < 64 ? bits & (((u64)1 << left) - 1) : bits;
}

template <Machine M>
MYR_OUTLINE Result pselect6(M& m) {
  constexpr u64 kMaskBytes = 8;
  const u64 pair = m.argument(5);  // the address of a set of signals, and its size
  if (pair != 0 && !readable(m, pair, 16)) return error(kEFAULT);
  const Timeout timeout = timeout_at(m, m.argument(4));
  if (timeout.time < 0) return answer(timeout.time);
  const u64 mask = pair != 0 ? load<u64>(m, pair) : 0;
  if (mask != 0 && load<u64>(m, pair + 8) != kMaskBytes) return error(kEINVAL);
  if (mask != 0 && !readable(m, mask, kMaskBytes)) return error(kEFAULT);
  if ((i32)m.argument(0) < 0) return error(kEINVAL);
  const u32 count = (u32)lesser((u32)m.argument(0), kMostFiles), words = (count + 63) / 64;
  for (u32 s = 0; s < kSelectSets; s++) {
    const u64 set = m.argument(1 + s);
    if (set == 0) continue;
    if (!readable(m, set, words * 8) || accessible(m, set, words * 8, kPageWritable) != words * 8)
      return error(kEFAULT);
  }
  u32 ready = 0;
  u64 ready_in = kNever;
  for (u32 s = 0; s < kSelectSets; s++) {
    const u64 set = m.argument(1 + s);
    for (u32 i = 0; i < words && set != 0; i++) {
      const SelectedWord selected = select_word(m, set_word_at(m, set, i, count), i * 64, selected_events(s));
      if (selected.bad) return error(kEBADF);
      ready += selected.count;
      ready_in = lesser(ready_in, selected.changes_in);
    }
  }
  const WaitMask blocked = wait_mask_at(m, mask);
  const Wait wait = wait_of(m, timeout, blocked, ready_in);
  if (ready == 0 && wait.end == WaitEnd::never) return error(kEDEADLK);  // Linux would wait forever
  if (ready == 0 && wait.end == WaitEnd::begins) return begin_poll(m, timeout, wait, blocked);
  for (u32 s = 0; s < kSelectSets; s++) {
    if (m.argument(1 + s) != 0 && prepare(m, m.argument(1 + s), words * 8) == Storing::again) return again();
  }
  if (((ready == 0 || is_made_again(m)) && !own_wait(m, timeout)) || !own_slice(m)) return again();
  if (ready == 0 && wait.end == WaitEnd::ready) return wait_again(m, timeout, wait);
  if (ready == 0 && wait.end == WaitEnd::signal) return wait_in_vain(m, timeout, wait, blocked);
  // Word by word through all sets, so that arguments that are equal give what the last of them does, as on Linux.
  for (u32 i = 0; i < words; i++) {
    u64 results[kSelectSets];
    for (u32 s = 0; s < kSelectSets; s++) {
      const u64 set = m.argument(1 + s);
      results[s] = set == 0 ? 0 : select_word(m, set_word_at(m, set, i, count), i * 64, selected_events(s)).ready;
    }
    for (u32 s = 0; s < kSelectSets; s++) {
      if (m.argument(1 + s) != 0) store<u64>(m, m.argument(1 + s) + i * 8, results[s]);
    }
  }
  if (ready != 0 && is_made_again(m)) store_time_left(m, timeout, 0);
  if (ready != 0) end_slice(m);
  return ready == 0 ? wait_in_vain(m, timeout, wait, blocked) : answer(ready);
}

}  // namespace myriarm::kernel
