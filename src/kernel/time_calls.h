// SPDX-License-Identifier: Apache-2.0
// Clocks and sleeping.
#pragma once

#include "kernel/waiting.h"

namespace myriarm::kernel {

// clang-format off
enum Clock : u32 { kRealtime = 0, kMonotonic = 1, kProcessTime = 2, kThreadTime = 3, kMonotonicRaw = 4, kRealtimeCoarse = 5,
                   kMonotonicCoarse = 6, kBoottime = 7, kRealtimeAlarm = 8, kBoottimeAlarm = 9, kTai = 11 };
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
  const u64 now = clock == kThreadTime       ? thread_time(m, current_thread(m))
                  : clock_counts_work(clock) ? process_time(m)
                                             : nanoseconds(m);
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

/// It checks what it is given, as Linux does, before it says that the process may not.
template <Machine M>
MYR_OUTLINE Result settimeofday(M& m) {
  constexpr u64 kTimeBytes = 16, kZoneBytes = 8, kMicroseconds = 1000000;
  const u64 time = m.argument(0), zone = m.argument(1);
  if (time != 0) {
    if (!readable(m, time, kTimeBytes)) return error(kEFAULT);
    if (load<u64>(m, time + 8) >= kMicroseconds || (i64)load<u64>(m, time) < 0) return error(kEINVAL);
  }
  if (zone != 0 && !readable(m, zone, kZoneBytes)) return error(kEFAULT);
  return error(kEPERM);
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
  const u64 time = who == kThread     ? thread_time(m, current_thread(m))
                   : who == kChildren ? word(m, kChildrenRan)
                                      : process_time(m);
  store_words(m, address, time / kNanoseconds, time % kNanoseconds / 1000);
  return answer(0);
}

template <Machine M>
MYR_OUTLINE Result times(M& m) {
  constexpr u64 kTick = kNanoseconds / 100;
  constexpr u32 kWords = 4;  // struct tms: it begins with the user time, the only field that is counted
  const u64 address = m.argument(0);
  const Storing storing = address == 0 ? Storing::allowed : prepare(m, address, kWords * 8);
  if (storing != Storing::allowed) return not_stored(storing);
  if (address != 0) {
    clear_words(m, address, kWords);
    store<u64>(m, address, m.retired() / kTick);
  }
  return answer((i64)(nanoseconds(m) / kTick));
}
template <Machine M>
MYR_OUTLINE Result clock_settime(M& m) {
  const u32 clock = (u32)m.argument(0);
  if (clock != kRealtime) return error(kEINVAL);
  const i64 time = duration(m, m.argument(1));
  return time < 0 ? answer(time) : error(kEPERM);
}

/// A sleep of `time` nanoseconds. If a signal ends it, what is left is stored at `left`, unless that is 0.
template <Machine M>
MYR_FN Result sleep(M& m, u64 time, u64 left) {
  const Wait wait = wait_for_signal(m, word(m, kBlocked), time);
  if (wait.end == WaitEnd::begins) return begin_sleep(m, wait, word(m, kBlocked));
  const bool stores = wait.end == WaitEnd::signal && left != 0;
  const Storing storing = stores ? prepare(m, left, kTimespecBytes) : Storing::allowed;
  if (storing == Storing::again || !own_word(m, kSlept)) return again();
  if (wait.end != WaitEnd::signal) {
    pass_time(m, wait.time);
    return answer(0);
  }
  const Result interrupted = interrupt(m, wait);
  if (storing == Storing::refused) return error(kEFAULT);
  if (stores) store_words(m, left, wait.left / kNanoseconds, wait.left % kNanoseconds);
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

}  // namespace myriarm::kernel
