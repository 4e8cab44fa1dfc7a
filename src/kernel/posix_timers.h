// SPDX-License-Identifier: Apache-2.0
// The timers that timer_create(2) makes, on guest time: when they expire. As on Linux one that has sent its signal starts anew when the
// process takes that, and then knows how often it would have expired meanwhile.
#pragma once

#include "kernel/interval_timers.h"
#include "kernel/signal_numbers.h"

namespace myriarm::kernel {

/// Words of a timer: how it is (TimerUse), 0 if it is free; what its signal carries; when it expires by its clock, 0 if it does not;
/// its interval; how often it expired in vain before its signal was taken the last time; the id of the thread that it is for.
enum PosixTimerWord : u32 {
  kTimerUse = 0,
  kTimerValue = 8,
  kTimerAt = 16,
  kTimerEvery = 24,
  kTimerOverrun = 32,
  kTimerThread = 40,
  kPosixTimerBytes = 64
};
enum TimerUse : u32 {
  kTimerIsUsed = 1,
  kTimerOnWork = 2,      // its clock does not count sleep
  kTimerHasDate = 4,     // its clock begins with the calendar
  kTimerIsSilent = 8,    // SIGEV_NONE
  kTimerForThread = 16,  // its signal is for the thread
  kTimerWaits = 32,      // its signal has been sent, and not taken
  kTimerIgnored = 64,    // its signal was ignored when it expired
};
constexpr u32 kTimerSignalShift = 8;

MYR_FN u64 posix_timer(u32 id) { return kPosixTimers + (u64)id * kPosixTimerBytes; }
template <class M>
MYR_FN u32 timer_count(const M& m) {
  return (u32)lesser(word(m, kTimerCount), kMostTimers);
}
template <class M>
MYR_FN u32 timer_use(const M& m, u32 id) {
  return (u32)word(m, posix_timer(id) + kTimerUse);
}
MYR_FN u32 timer_signal(u32 use) { return use >> kTimerSignalShift; }
template <Machine M>
MYR_FN u64 posix_clock(const M& m, u32 use) {
  return (use & kTimerOnWork) ? lesser(process_time(m), kEndOfTime) : nanoseconds(m);
}
/// To be called, and to have returned true, before the next functions that change timers.
template <Machine M>
MYR_FN bool own_timers(M& m) {
  return own_word(m, kTimerCount) &&
         (timer_count(m) == 0 || own_words(m, kPosixTimers, kMostTimers * kPosixTimerBytes));
}
/// Whether a timer is to send its signal when its time comes.
template <Machine M>
MYR_FN bool will_expire(const M& m, u32 id) {
  const u32 use = timer_use(m, id);
  return (use & kTimerIsUsed) && !(use & (kTimerIsSilent | kTimerWaits | kTimerIgnored)) &&
         word(m, posix_timer(id) + kTimerAt) != 0;
}
/// Notes when the first timers expire.
template <Machine M>
MYR_OUTLINE void note_next_timers(M& m) {
  u64 next[2] = {0, 0};  // on clocks that count sleep, and on others
  const u32 count = timer_count(m);
  for (u32 id = 0; id < count; id++) {
    if (!will_expire(m, id)) continue;
    u64& first = next[(timer_use(m, id) & kTimerOnWork) != 0];
    const u64 at = word(m, posix_timer(id) + kTimerAt);
    if (first == 0 || at < first) first = at;
  }
  set_word(m, kNextTimer, next[0]);
  set_word(m, kNextWorkTimer, next[1]);
}

/// A signal that a timer sends, and in how long; number 0: none.
struct SentSignal {
  u64 time;
  u32 number;
};
/// The first of these signals that a timer sends if the process sleeps.
template <Machine M>
MYR_OUTLINE SentSignal time_to_signal(const M& m, u64 signals) {
  constexpr u64 kAlarmBit = (u64)1 << (kSignalAlarm - 1);
  SentSignal first = {kNever, 0};
  if (signals & kAlarmBit) {
    first.time = time_to_alarm(m);
    first.number = first.time != kNever ? (u32)kSignalAlarm : 0u;
  }
  const u32 count = timer_count(m);
  for (u32 id = 0; id < count; id++) {
    const u32 use = timer_use(m, id), number = timer_signal(use);
    if (!will_expire(m, id) || (use & kTimerOnWork) || !(signals >> (number - 1) & 1)) continue;
    const u64 at = word(m, posix_timer(id) + kTimerAt), left = at - lesser(at, nanoseconds(m));
    if (left < first.time) first = {left, number};
  }
  return first;
}

/// When a timer sends the next signal if the process sleeps, by nanoseconds(); kNever.
template <Machine M>
MYR_OUTLINE u64 next_sent(const M& m) {
  const u64 time = time_to_signal(m, ~(u64)0).time;
  return time == kNever ? kNever : nanoseconds(m) + time;
}

/// A timer's signal is taken: the timer starts anew. Returns how often it has expired in vain.
template <Machine M>
MYR_OUTLINE u32 restart_timer(M& m, u32 id) {
  const u64 timer = posix_timer(id), every = word(m, timer + kTimerEvery), at = word(m, timer + kTimerAt);
  const u32 use = timer_use(m, id);
  if (id >= timer_count(m) || !(use & kTimerWaits)) return 0;
  const u64 now = posix_clock(m, use), late = every == 0 ? 0 : (now - lesser(at, now)) / every;
  constexpr u64 kMostOverrun = 0x7FFFFFFF;
  set_word(m, timer + kTimerUse, use & ~(u32)kTimerWaits);
  set_word(m, timer + kTimerAt, every == 0 ? 0 : lesser(at + (late + 1) * every, kEndOfTime));
  set_word(m, timer + kTimerOverrun, lesser(late, kMostOverrun));
  note_next_timers(m);
  return (u32)lesser(late, kMostOverrun);
}
/// A timer's signal is dropped that waits: as if it had been ignored when it was sent.
template <Machine M>
MYR_FN void pass_over_timer(M& m, u32 id) {
  const u32 use = timer_use(m, id);
  set_word(m, posix_timer(id) + kTimerUse, (use & ~(u32)kTimerWaits) | kTimerIgnored);
}
/// A signal is not ignored any longer: periodic timers whose signal was send it now, the others have expired.
template <Machine M>
MYR_OUTLINE void heed_timers(M& m, u32 number) {
  const u32 count = timer_count(m);
  for (u32 id = 0; id < count; id++) {
    const u32 use = timer_use(m, id);
    if (!(use & kTimerIgnored) || timer_signal(use) != number) continue;
    set_word(m, posix_timer(id) + kTimerUse, use & ~(u32)kTimerIgnored);
    if (word(m, posix_timer(id) + kTimerEvery) == 0) set_word(m, posix_timer(id) + kTimerAt, 0);
  }
  note_next_timers(m);
}

}  // namespace myriarm::kernel
