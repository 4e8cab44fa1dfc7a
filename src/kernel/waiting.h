// SPDX-License-Identifier: Apache-2.0
// Calls that wait. Nothing but time and the process's own timers can end a wait, so how it ends is known when it begins, and
// the clocks move to that point.
#pragma once

#include "kernel/signals.h"

namespace myriarm::kernel {

enum class WaitEnd : u8 {
  time_out,
  signal,  // one that has a handler, or ends the process
  never,
};
struct Wait {
  WaitEnd end;
  u64 time;  // how long it takes
};

/// How a wait of `most` nanoseconds at most ends, with these signals blocked. kNever: without a limit.
template <Machine M>
MYR_OUTLINE Wait wait_for_signal(const M& m, u64 blocked, u64 most) {
  if (interrupting_signal(m, blocked) != 0) return {WaitEnd::signal, 0};
  const u64 alarm = time_to_alarm(m);
  if (alarm < most && !(blocked & signal_bit(kSignalAlarm)) && !does_nothing(m, kSignalAlarm)) {
    return {WaitEnd::signal, alarm};
  }
  return most == kNever ? Wait{WaitEnd::never, 0} : Wait{WaitEnd::time_out, most};
}

/// Lets the time of a wait pass that no signal ends, with these signals blocked, after own_signals(). What is let through and does
/// nothing waits no longer.
template <Machine M>
MYR_FN void wait_masked(M& m, const Wait& wait, u64 mask) {
  const u64 blocked = word(m, kBlocked);
  pass_time(m, wait.time);
  set_word(m, kBlocked, mask);
  expire_timers(m);
  u64 useless = 0;
  for (u64 rest = pending_signals(m) & ~mask; rest != 0; rest &= rest - 1) {
    const u32 number = first_of(rest & (~rest + 1), Target::thread).number;
    if (does_nothing(m, number)) useless |= signal_bit(number);
  }
  drop_signals(m, useless);
  set_word(m, kBlocked, blocked);
}

/// Ends a wait that a signal ends, after own_word(kBlocked): EINTR. `mask`: what is blocked until the signal has been delivered,
/// if the call sets it for this time.
template <Machine M>
MYR_FN Result interrupt(M& m, const Wait& wait, u64 mask = 0, bool sets_mask = false) {
  pass_time(m, wait.time);
  if (sets_mask) {
    set_word(m, kSavedMask, word(m, kBlocked));
    set_word(m, kMaskIsSaved, 1);
    set_word(m, kBlocked, mask);
  }
  return error(kEINTR);
}

/// Ends a wait without a limit that a signal ends, after own_word(kBlocked): the call is made again when the handler has returned,
/// if that is what sigaction() has asked for (SA_RESTART), else EINTR.
template <Machine M>
MYR_FN Result interrupt_or_restart(M& m, const Wait& wait) {
  const u32 waiting = interrupting_signal(m, word(m, kBlocked)), number = waiting != 0 ? waiting : (u32)kSignalAlarm;
  const u64 action = word(m, action_word(number)), flags = word(m, action_word(number, kActionFlags));
  const Result interrupted = interrupt(m, wait);
  if (action != kDefaultAction && !(flags & kRestarts)) return interrupted;
  m.set_pc(m.pc() - 4);
  return replaced(interrupted.value);
}

}  // namespace myriarm::kernel
