// SPDX-License-Identifier: Apache-2.0
// Clocks, sleeping, and futex, whose waits only a timeout or a signal ends.
#pragma once

#include "kernel/waiting.h"

namespace myriarm::kernel {

// clang-format off
enum Clock : u32 { kRealtime = 0, kProcessTime = 2, kThreadTime = 3, kMonotonicRaw = 4, kRealtimeCoarse = 5,
                   kMonotonicCoarse = 6, kRealtimeAlarm = 8, kBoottimeAlarm = 9, kTai = 11 };
// clang-format on

MYR_FN bool clock_exists(u32 clock) { return clock <= kBoottimeAlarm || clock == kTai; }
MYR_FN bool clock_has_date(u32 clock) {
  return clock == kRealtime || clock == kRealtimeCoarse || clock == kRealtimeAlarm || clock == kTai;
}
/// Whether a clock counts only the time that the process runs, not its sleep.
MYR_FN bool clock_counts_work(u32 clock) { return clock == kProcessTime || clock == kThreadTime; }

template <Machine M>
MYR_OUTLINE Result clock_gettime(M& m) {
  const u32 clock = (u32)m.argument(0);
  const u64 address = m.argument(1);
  if (!clock_exists(clock)) return error(kEINVAL);
  const Storing storing = prepare(m, address, kTimespecBytes);
  if (storing != Storing::allowed) return not_stored(storing);
  const u64 now = clock_counts_work(clock) ? m.retired() : nanoseconds(m);
  const u64 seconds = now / kNanoseconds;
  store_words(m, address, seconds + (clock_has_date(clock) ? kEpochSeconds : 0), now - seconds * kNanoseconds);
  return answer(0);
}

template <Machine M>
MYR_OUTLINE Result clock_getres(M& m) {
  const u64 address = m.argument(1);
  if (!clock_exists((u32)m.argument(0))) return error(kEINVAL);
  if (address == 0) return answer(0);
  const Storing storing = prepare(m, address, kTimespecBytes);
  if (storing != Storing::allowed) return not_stored(storing);
  store_words(m, address, 0, 1);
  return answer(0);
}

template <Machine M>
MYR_OUTLINE Result gettimeofday(M& m) {
  constexpr u64 kTimeBytes = 16, kZoneBytes = 8;
  const u64 time = m.argument(0), zone = m.argument(1);
  const Storing time_storing = time == 0 ? Storing::allowed : prepare(m, time, kTimeBytes);
  if (time_storing != Storing::allowed) return not_stored(time_storing);
  const Storing zone_storing = zone == 0 ? Storing::allowed : prepare(m, zone, kZoneBytes);
  if (zone_storing == Storing::again) return again();
  const u64 now = nanoseconds(m);
  if (time != 0) store_words(m, time, kEpochSeconds + now / kNanoseconds, now % kNanoseconds / 1000);
  if (zone_storing == Storing::refused) return error(kEFAULT);  // as on Linux, the time has been stored
  if (zone != 0) store<u64>(m, zone, 0);                        // minutes west of Greenwich, kind of daylight saving
  return answer(0);
}

template <Machine M>
MYR_OUTLINE Result getrusage(M& m) {
  constexpr u32 kSelf = 0, kThread = 1, kChildren = ~(u32)0;
  constexpr u32 kWords = 18;  // struct rusage: it begins with the user time, the only field that is counted
  const u32 who = (u32)m.argument(0);
  const u64 address = m.argument(1);
  if (who != kSelf && who != kThread && who != kChildren) return error(kEINVAL);
  const Storing storing = prepare(m, address, kWords * 8);
  if (storing != Storing::allowed) return not_stored(storing);
  clear_words(m, address, kWords);
  if (who != kChildren) {
    store_words(m, address, m.retired() / kNanoseconds, m.retired() % kNanoseconds / 1000);
  }
  return answer(0);
}

/// How long it is until the clocks, counted from `start`, show this time.
template <Machine M>
MYR_FN u64 time_until(const M& m, u64 time, u64 start) {
  const u64 now = start + nanoseconds(m);
  return time > now ? time - now : 0;
}
MYR_FN u64 start_of(bool dated) { return dated ? kEpochSeconds * kNanoseconds : 0; }

/// A sleep of `time` nanoseconds. If a signal ends it, what is left is stored at `left`, unless that is 0.
template <Machine M>
MYR_FN Result sleep(M& m, u64 time, u64 left) {
  const Wait wait = wait_for_signal(m, word(m, kBlocked), time);
  const bool stores = wait.end == WaitEnd::signal && left != 0;
  const Storing storing = stores ? prepare(m, left, kTimespecBytes) : Storing::allowed;
  if (storing == Storing::again || !own_word(m, kSlept)) return again();
  if (wait.end != WaitEnd::signal) {
    pass_time(m, wait.time);
    return answer(0);
  }
  const Result interrupted = interrupt(m, wait);
  if (storing == Storing::refused) return error(kEFAULT);
  const u64 rest = time - wait.time;
  if (stores) store_words(m, left, rest / kNanoseconds, rest % kNanoseconds);
  return interrupted;
}

template <Machine M>
MYR_OUTLINE Result nanosleep(M& m) {
  const i64 time = duration(m, m.argument(0));
  return time < 0 ? answer(time) : sleep(m, (u64)time, m.argument(1));
}

template <Machine M>
MYR_OUTLINE Result clock_nanosleep(M& m) {
  constexpr u64 kAbsolute = 1;
  const u32 clock = (u32)m.argument(0);
  if (!clock_exists(clock)) return error(kEINVAL);
  if (clock_counts_work(clock) || clock == kMonotonicRaw || clock == kRealtimeCoarse || clock == kMonotonicCoarse) {
    return error(kEOPNOTSUPP);
  }
  const i64 time = duration(m, m.argument(2));
  if (time < 0) return answer(time);
  if (!(m.argument(1) & kAbsolute)) return sleep(m, (u64)time, m.argument(3));
  return sleep(m, time_until(m, (u64)time, start_of(clock_has_date(clock))), 0);
}

template <Machine M>
MYR_OUTLINE Result futex(M& m) {
  // clang-format off
  enum Operation : u32 { kWait = 0, kWake = 1, kWaitBits = 9, kWakeBits = 10 };
  enum Option : u32 { kPrivate = 128, kRealtimeClock = 256 };
  // clang-format on
  const u64 address = m.argument(0);
  const u32 options = (u32)m.argument(1), operation = options & ~(u32)(kPrivate | kRealtimeClock);
  const bool wakes = operation == kWake || operation == kWakeBits;
  const bool bits = operation == kWaitBits || operation == kWakeBits;
  if (!wakes && operation != kWait && operation != kWaitBits) return missing();
  if ((options & kRealtimeClock) && operation != kWaitBits) return missing();
  if (address % 4 != 0 || (bits && (u32)m.argument(5) == 0)) return error(kEINVAL);
  if (wakes) return answer(0);  // there is no other thread
  if (!readable(m, address, 4)) return error(kEFAULT);
  if (load<u32>(m, address) != (u32)m.argument(2)) return error(kEAGAIN);
  const bool limited = m.argument(3) != 0;
  const i64 time = limited ? duration(m, m.argument(3)) : 0;
  if (time < 0) return answer(time);
  // The time of kWaitBits is when the wait ends, not how long it lasts.
  const u64 most = !limited ? kNever
                   : bits   ? time_until(m, (u64)time, start_of((options & kRealtimeClock) != 0))
                            : (u64)time;
  const Wait wait = wait_for_signal(m, word(m, kBlocked), most);
  if (wait.end == WaitEnd::never) return error(kEDEADLK);  // Linux would wait forever
  if (!own_word(m, kSlept)) return again();
  if (wait.end == WaitEnd::signal) return limited ? interrupt(m, wait) : interrupt_or_restart(m, wait);
  pass_time(m, wait.time);
  return error(kETIMEDOUT);
}

}  // namespace myriarm::kernel
