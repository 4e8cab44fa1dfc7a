// SPDX-License-Identifier: Apache-2.0
// Calls that wait. A thread that is alone is ended by nothing but time and the process's own timers, so how its wait ends is known
// when it begins, and the clocks move to that point. One among others stops before its SVC and lets them run; when it has been
// woken it makes the call again. A call asks wait_for_signal() in both cases, each time that it finds nothing of what it waits for.
#pragma once

#include "kernel/signals.h"

namespace myriarm::kernel {

enum class WaitEnd : u8 {
  time_out,
  signal,  // one that has a handler, or ends the process
  never,
  begins,  // it is not known: the call returns begin_wait()
};
struct Wait {
  WaitEnd end;
  u64 time;  // how long it takes from now on
  u64 left;  // of the longest time that it may take, when it has ended; kNever
};

/// Whether other threads can run while this one waits; or have, and it makes its call again.
template <class M>
MYR_FN bool waits_among_others(const M& m) {
  return has_threads(m) || wait_state(m) != WaitState::none;
}

namespace detail_of_waiting {

template <Machine M>
MYR_OUTLINE Wait wait_among_others(const M& m, u64 blocked, u64 most) {
  const WaitState state = wait_state(m);
  u64 left = most;
  if (state != WaitState::none) {
    const u64 deadline = head(m, current_thread(m), kHeadDeadline);
    left = deadline == kNever ? kNever : deadline - lesser(deadline, nanoseconds(m));
  }
  if (state == WaitState::timed_out) return {WaitEnd::time_out, 0, 0};
  if (interrupting_signal(m, blocked) != 0) return {WaitEnd::signal, 0, left};
  if (left == 0) return {WaitEnd::time_out, 0, 0};
  return {state == WaitState::hopeless ? WaitEnd::never : WaitEnd::begins, 0, left};
}

}  // namespace detail_of_waiting

/// How a wait of `most` nanoseconds at most ends, with these signals blocked. kNever: without a limit. In a call that is made again
/// `most` is not looked at: the limit is the one with which it began.
template <Machine M>
MYR_OUTLINE Wait wait_for_signal(const M& m, u64 blocked, u64 most) {
  if (waits_among_others(m)) return detail_of_waiting::wait_among_others(m, blocked, most);
  const auto ends = [&](WaitEnd end, u64 time) { return Wait{end, time, most == kNever ? kNever : most - time}; };
  if (interrupting_signal(m, blocked) != 0) return ends(WaitEnd::signal, 0);
  const u64 alarm = time_to_alarm(m);
  if (alarm < most && !(blocked & signal_bit(kSignalAlarm)) && !does_nothing(m, kSignalAlarm)) {
    return ends(WaitEnd::signal, alarm);
  }
  return most == kNever ? Wait{WaitEnd::never, 0, kNever} : ends(WaitEnd::time_out, most);
}

/// The call waits: for what wake() is given with this key and some of these bits, with these signals blocked, as long as `wait` says.
/// It is made again then, unless the process ends. Nothing may have been changed before.
template <Machine M>
MYR_OUTLINE Result begin_wait(M& m, const Wait& wait, u64 blocked, u64 key, u64 bits = ~(u64)0) {
  if (!own_heads(m)) return again();
  const u32 slot = current_thread(m);
  const u64 now = nanoseconds(m), deadline = wait.left == kNever ? kNever : now + lesser(wait.left, kEndOfTime);
  set_head(m, slot, kHeadState, (u64)ThreadState::waiting);
  set_head(m, slot, kHeadTicket, next_ticket(m));
  set_head(m, slot, kHeadKey, key);
  set_head(m, slot, kHeadBits, bits);
  set_head(m, slot, kHeadDeadline, deadline);
  set_head(m, slot, kHeadMask, blocked);
  set_word(m, kNextWake, lesser(word(m, kNextWake), deadline));
  set_word(m, kWaitState, (u64)WaitState::waits);
  m.set_pc(m.pc() - 4);
  return {0, Served::waits};
}
/// The same for time, or a signal among `awaited`, which ends the wait even if it is ignored.
template <Machine M>
MYR_FN Result begin_sleep(M& m, const Wait& wait, u64 blocked, u64 awaited = 0) {
  return begin_wait(m, wait, blocked, wait_key(WaitOn::time, 0), awaited);
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

/// The call is made again when the handler of the signal has returned that ends its wait, after own_word(kBlocked).
template <Machine M>
MYR_FN Result restart(M& m, const Wait& wait) {
  const Result interrupted = interrupt(m, wait);
  m.set_pc(m.pc() - 4);
  return replaced(interrupted.value);
}
/// Ends a wait without a limit that a signal ends, after own_word(kBlocked): the call is made again when the handler has returned,
/// if that is what sigaction() has asked for (SA_RESTART), else EINTR.
template <Machine M>
MYR_FN Result interrupt_or_restart(M& m, const Wait& wait) {
  const u32 waiting = interrupting_signal(m, word(m, kBlocked)), number = waiting != 0 ? waiting : (u32)kSignalAlarm;
  const u64 action = word(m, action_word(number)), flags = word(m, action_word(number, kActionFlags));
  return action != kDefaultAction && !(flags & kRestarts) ? interrupt(m, wait) : restart(m, wait);
}

}  // namespace myriarm::kernel
