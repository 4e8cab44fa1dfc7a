// SPDX-License-Identifier: Apache-2.0
// timer_create(2) and its relatives.
#pragma once

#include "kernel/event_files.h"

namespace myriarm::kernel {

template <Machine M>
MYR_OUTLINE Result timer_create(M& m) {
  enum Notify : u32 { kBySignal = 0, kByNothing = 1, kByCall = 2, kToThread = 4 };
  constexpr u64 kEventBytes = 64;  // struct sigevent: value, signal, kind, thread
  const u32 clock = (u32)m.argument(0);
  const u64 event = m.argument(1), address = m.argument(2);
  if (event != 0 && !readable(m, event, kEventBytes)) return error(kEFAULT);
  if (!clock_exists(clock)) return error(kEINVAL);
  const bool alarm = clock == kRealtimeAlarm || clock == kBoottimeAlarm;
  if (!is_file_clock(clock) && !clock_counts_work(clock) && clock != kTai && !alarm) return error(kEOPNOTSUPP);
  u32 id = 0;
  while (id < timer_count(m) && timer_use(m, id) != 0) id++;
  if (id == kMostTimers) return error(kEAGAIN);
  u64 value = id;
  u32 number = kSignalAlarm, notify = kBySignal, thread = 0;
  if (event != 0) {
    value = load<u64>(m, event);
    number = load<u32>(m, event + 8);
    notify = load<u32>(m, event + 12);
    if (notify == kToThread) thread = load<u32>(m, event + 16);
    const u32 slot = find_thread(m, thread);
    const bool is_own = slot != kNoThread && (!has_table(m) || is_own_thread(m, slot));
    if (notify == kToThread && !is_own) return error(kEINVAL);
    if (notify > kByCall && notify != kToThread) return error(kEINVAL);
    if (notify != kByNothing && (number < 1 || number > kMostSignals)) return error(kEINVAL);
    if (notify == kByNothing) number = kSignalAlarm;
  }
  const Storing storing = prepare(m, address, 4);
  if (storing != Storing::allowed) return not_stored(storing);
  if (alarm) return error(kEPERM);
  if (!own_word(m, kTimerCount) || !own_words(m, posix_timer(id), kPosixTimerBytes)) return again();
  for (u32 i = 0; i < kPosixTimerBytes; i += 8) set_word(m, posix_timer(id) + i, 0);
  const u32 use = kTimerIsUsed | (clock_counts_work(clock) ? (u32)kTimerOnWork : 0u) |
                  (clock_has_date(clock) ? (u32)kTimerHasDate : 0u) |
                  (notify == kByNothing ? (u32)kTimerIsSilent : 0u) |
                  (notify == kToThread ? (u32)kTimerForThread : 0u) | number << kTimerSignalShift;
  set_word(m, posix_timer(id) + kTimerUse, use);
  set_word(m, posix_timer(id) + kTimerValue, value);
  set_word(m, posix_timer(id) + kTimerThread, thread);
  if (id == timer_count(m)) set_word(m, kTimerCount, id + 1);
  store<u32>(m, address, id);
  return answer(0);
}

template <Machine M>
MYR_FN bool timer_exists(const M& m, u32 id) {
  return id < timer_count(m) && timer_use(m, id) != 0;
}
template <Machine M>
MYR_FN void store_posix_timer(M& m, u32 id, u64 address) {
  const u64 timer = posix_timer(id), every = word(m, timer + kTimerEvery), at = word(m, timer + kTimerAt);
  store_timer_spec(m, address, every, left_of(at, every, posix_clock(m, timer_use(m, id))));
}
template <Machine M>
MYR_OUTLINE Result timer_settime(M& m) {
  const u32 id = (u32)m.argument(0);
  const bool absolute = ((u32)m.argument(1) & 1) != 0;
  const u64 next = m.argument(2), old = m.argument(3);
  if (next == 0) return error(kEINVAL);
  if (!readable(m, next, kTimerSpecBytes)) return error(kEFAULT);
  TimerSetting setting;
  if (!load_timer_spec(m, next, setting) || !timer_exists(m, id)) return error(kEINVAL);
  const Storing storing = old == 0 ? Storing::allowed : prepare(m, old, kTimerSpecBytes);
  if (storing == Storing::again || !own_signals(m)) return again();
  if (old != 0 && storing == Storing::allowed) store_posix_timer(m, id, old);
  const u64 timer = posix_timer(id);
  u32 use = timer_use(m, id);
  const u64 start = start_of((use & kTimerHasDate) != 0), now = posix_clock(m, use);
  if (use & kTimerWaits) drop_timer_signal(m, id);
  use &= ~(u32)(kTimerWaits | kTimerIgnored);
  set_word(m, timer + kTimerUse, use);
  set_word(m, timer + kTimerEvery, (u64)setting.interval);
  set_word(m, timer + kTimerAt, expiry_of((u64)setting.left, absolute, start, now));
  set_word(m, timer + kTimerOverrun, 0);
  note_next_timers(m);
  return storing == Storing::refused ? error(kEFAULT) : answer(0);
}
template <Machine M>
MYR_OUTLINE Result timer_gettime(M& m) {
  const u32 id = (u32)m.argument(0);
  if (!timer_exists(m, id)) return error(kEINVAL);
  const Storing storing = prepare(m, m.argument(1), kTimerSpecBytes);
  if (storing != Storing::allowed) return not_stored(storing);
  store_posix_timer(m, id, m.argument(1));
  return answer(0);
}
template <Machine M>
MYR_OUTLINE Result timer_getoverrun(M& m) {
  const u32 id = (u32)m.argument(0);
  return timer_exists(m, id) ? answer((i64)word(m, posix_timer(id) + kTimerOverrun)) : error(kEINVAL);
}
template <Machine M>
MYR_OUTLINE Result timer_delete(M& m) {
  const u32 id = (u32)m.argument(0);
  if (!timer_exists(m, id)) return error(kEINVAL);
  if (!own_signals(m)) return again();
  drop_timer_signal(m, id);
  set_word(m, posix_timer(id) + kTimerUse, 0);
  note_next_timers(m);
  return answer(0);
}

}  // namespace myriarm::kernel
