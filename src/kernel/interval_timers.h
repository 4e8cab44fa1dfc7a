// SPDX-License-Identifier: Apache-2.0
// The interval timers of a process (setitimer(2)) on guest time: ITIMER_REAL counts as its clocks do, with its sleep, the
// others the instructions that it retires. So each expires at one instruction count.
#pragma once

#include "kernel/guest_time.h"
#include "kernel/process_table.h"

namespace myriarm::kernel {

constexpr u32 kRealTimer = 0;
/// In the word of ITIMER_REAL: it has expired, and its SIGALRM waits. As on Linux it starts anew when the process takes that,
/// so that a timer of a microsecond is no flood.
constexpr u64 kTimerHasExpired = (u64)1 << 63;
constexpr u64 kNever = ~(u64)0;

MYR_FN u32 timer_word(u32 timer) { return kTimers + timer * 16; }
MYR_FN u32 interval_word(u32 timer) { return timer_word(timer) + 8; }
MYR_FN bool is_armed(u64 expires) { return expires != 0 && !(expires & kTimerHasExpired); }

/// The time by the clock of a timer.
template <Machine M>
MYR_FN u64 timer_clock(const M& m, u32 timer) {
  return timer == kRealTimer ? nanoseconds(m) : lesser(process_time(m), kEndOfTime);
}

/// The count of retired instructions at which the next timer expires; kNever if none does.
template <class M>
MYR_FN u64 next_expiry(const FirstWords<M>& words) {
  u64 next = kNever;
  for (u32 timer = 0; timer < kIntervalTimers; timer++) {
    const u64 expires = words[timer_word(timer)];
    if (!is_armed(expires)) continue;
    const u64 ahead = timer == kRealTimer ? lesser(words[kSlept], kEndOfTime) : 0,
              away = timer == kRealTimer ? 0 : words[kAway];
    next = lesser(next, expires - lesser(expires, ahead) + away);
  }
  if (const u64 expires = words[kNextTimer]; expires != 0) {
    next = lesser(next, expires - lesser(expires, lesser(words[kSlept], kEndOfTime)));
  }
  return words[kNextWorkTimer] != 0 ? lesser(next, words[kNextWorkTimer] + words[kAway]) : next;
}
template <class M>
MYR_FN u64 next_expiry(const M& m) {
  return next_expiry(FirstWords<M>(m));
}
/// How long it is until ITIMER_REAL expires; kNever if it does not.
template <Machine M>
MYR_FN u64 time_to_alarm(const M& m) {
  const u64 expires = word(m, timer_word(kRealTimer)), now = nanoseconds(m);
  return is_armed(expires) ? expires - lesser(expires, now) : kNever;
}

/// When a timer that has expired does so the next time after `now`; 0: never.
MYR_FN u64 expiry_after(u64 expired, u64 interval, u64 now) {
  if (interval == 0) return 0;
  const u64 late = now - lesser(expired, now);
  return lesser(expired + (late / interval + 1) * interval, kEndOfTime);
}

// Changes. The words must be own.

/// Whether a timer has to send its signal now, which this notes.
template <Machine M>
MYR_FN bool expire_timer(M& m, u32 timer) {
  const u64 expires = word(m, timer_word(timer)), interval = word(m, interval_word(timer));
  if (!is_armed(expires) || timer_clock(m, timer) < expires) return false;
  const bool waits = timer == kRealTimer && interval != 0;
  set_word(m, timer_word(timer),
           waits ? expires | kTimerHasExpired : expiry_after(expires, interval, timer_clock(m, timer)));
  return true;
}
/// To be called when the process takes a SIGALRM.
template <Machine M>
MYR_FN void rearm_real_timer(M& m) {
  const u64 expires = word(m, timer_word(kRealTimer)), interval = word(m, interval_word(kRealTimer));
  if (!(expires & kTimerHasExpired)) return;
  set_word(m, timer_word(kRealTimer), expiry_after(expires & ~kTimerHasExpired, interval, nanoseconds(m)));
}

constexpr u32 kTimevalBytes = 16;
/// The struct itimerval at an address: the time that is left, and the interval, in nanoseconds; or an error, negative.
struct TimerSetting {
  i64 interval, left;
};
template <Machine M>
MYR_FN i64 microseconds_at(const M& m, u64 address) {
  const i64 seconds = (i64)load<u64>(m, address), rest = (i64)load<u64>(m, address + 8);
  if (seconds < 0 || rest < 0 || rest >= 1'000'000) return -kEINVAL;
  constexpr i64 kMost = (i64)(kEndOfTime / kNanoseconds) - 1;
  return seconds < kMost ? seconds * (i64)kNanoseconds + rest * 1000 : kMost * (i64)kNanoseconds;
}
template <Machine M>
MYR_FN void store_microseconds(M& m, u64 address, u64 time) {
  store_words(m, address, time / kNanoseconds, time % kNanoseconds / 1000);
}
template <Machine M>
MYR_FN void store_timer(M& m, u32 timer, u64 address) {
  constexpr u64 kMicrosecond = 1000;
  const u64 expires = word(m, timer_word(timer)), now = timer_clock(m, timer);
  // As on Linux, one that is about to expire shows a microsecond.
  const u64 left = is_armed(expires) ? greater(expires - lesser(expires, now), kMicrosecond) : 0;
  store_microseconds(m, address, word(m, interval_word(timer)));
  store_microseconds(m, address + kTimevalBytes, left);
}

template <Machine M>
MYR_OUTLINE Result getitimer(M& m) {
  const u32 timer = (u32)m.argument(0);
  if (timer >= kIntervalTimers) return error(kEINVAL);
  const Storing storing = prepare(m, m.argument(1), 2 * kTimevalBytes);
  if (storing != Storing::allowed) return not_stored(storing);
  store_timer(m, timer, m.argument(1));
  return answer(0);
}

template <Machine M>
MYR_OUTLINE Result setitimer(M& m) {
  const u32 timer = (u32)m.argument(0);
  const u64 next = m.argument(1), old = m.argument(2);
  i64 interval = 0, left = 0;
  if (next != 0) {
    if (!readable(m, next, 2 * kTimevalBytes)) return error(kEFAULT);
    interval = microseconds_at(m, next);
    left = microseconds_at(m, next + kTimevalBytes);
    if (interval < 0 || left < 0) return error(kEINVAL);
  }
  if (timer >= kIntervalTimers) return error(kEINVAL);
  const Storing storing = old == 0 ? Storing::allowed : prepare(m, old, 2 * kTimevalBytes);
  if (storing == Storing::again || !own_word(m, kTimers)) return again();
  if (old != 0 && storing == Storing::allowed) store_timer(m, timer, old);
  set_word(m, timer_word(timer), left == 0 ? 0 : lesser(timer_clock(m, timer) + (u64)left, kEndOfTime));
  set_word(m, interval_word(timer), left == 0 && timer == kRealTimer ? 0 : (u64)interval);
  // As on Linux, the timer has been set.
  return storing == Storing::refused ? error(kEFAULT) : answer(0);
}

}  // namespace myriarm::kernel
