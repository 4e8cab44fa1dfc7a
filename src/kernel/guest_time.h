// SPDX-License-Identifier: Apache-2.0
// Guest time. A retired instruction takes one nanosecond, and the calendar starts at 2024-01-01 00:00:00 UTC. A sleep
// takes no host time: it moves the lane's clocks forward, but not CNTVCT_EL0, which counts instructions.
#pragma once

#include "kernel/structures.h"

namespace myriarm::kernel {

constexpr u64 kNanoseconds = 1'000'000'000;
constexpr u64 kEpochSeconds = 1'704'067'200;
/// The highest value of a lane's clocks, in nanoseconds, so that a sleep of centuries does not overflow them.
constexpr u64 kEndOfTime = (u64)1 << 62;
constexpr u32 kTimespecBytes = 16;

/// The nanoseconds of the struct timespec at an address, at most kEndOfTime; or an error, negative.
template <Machine M>
MYR_FN i64 duration(const M& m, u64 address) {
  if (!readable(m, address, kTimespecBytes)) return -kEFAULT;
  const i64 seconds = (i64)load<u64>(m, address), rest = (i64)load<u64>(m, address + 8);
  if (seconds < 0 || rest < 0 || rest >= (i64)kNanoseconds) return -kEINVAL;
  constexpr i64 most = (i64)(kEndOfTime / kNanoseconds);
  return seconds < most ? seconds * (i64)kNanoseconds + rest : most * (i64)kNanoseconds;
}

/// By how much the process's clocks are ahead of its instruction count.
template <class M>
MYR_FN u64 slept(const M& m) {
  return lesser(word(m, kSlept), kEndOfTime);
}
/// What the process's clocks have counted since it started, in nanoseconds.
template <Machine M>
MYR_FN u64 nanoseconds(const M& m) {
  return lesser(m.retired(), kEndOfTime) + slept(m);
}
/// Moves the clocks forward; own_word(kSlept) must have returned true.
template <Machine M>
MYR_FN void pass_time(M& m, u64 time) {
  set_word(m, kSlept, lesser(slept(m) + time, kEndOfTime));
}

/// How long it is until the clocks, counted from `start`, show this time.
template <Machine M>
MYR_FN u64 time_until(const M& m, u64 time, u64 start) {
  const u64 now = start + nanoseconds(m);
  return time > now ? time - now : 0;
}
MYR_FN u64 start_of(bool dated) { return dated ? kEpochSeconds * kNanoseconds : 0; }

}  // namespace myriarm::kernel
