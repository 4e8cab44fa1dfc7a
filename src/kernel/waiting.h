// SPDX-License-Identifier: Apache-2.0
// Calls that wait. A thread that is alone is ended by nothing but time and the process's own timers, so how its wait ends is known
// when it begins, and the clocks move to that point. One among others stops before its SVC and lets them run; when it has been
// woken it makes the call again. A call asks wait_for_signal() in both cases, each time that it finds nothing of what it waits for;
// one that waits for what a descriptor refers to asks wait_until_ready(), and is made again from its SVC in both cases.
#pragma once

#include "kernel/signals.h"

namespace myriarm::kernel {

enum class WaitEnd : u8 {
  time_out,
  signal,  // one that has a handler, or ends the process
  ready,   // what the call waits for may be there: it is to be made again
  never,
  begins,  // it is not known: the call returns begin_wait()
};
struct Wait {
  WaitEnd end;
  u64 time;           // how long it takes from now on
  u64 left = kNever;  // of the longest time that it may take, when it has ended; kNever
  u32 number = 0;     // of the signal that ends it
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
  if (const u32 number = interrupting_signal(m, blocked); number != 0) return {WaitEnd::signal, 0, left, number};
  if (left == 0) return {WaitEnd::time_out, 0, 0};
  return {state == WaitState::hopeless ? WaitEnd::never : WaitEnd::begins, 0, left};
}

}  // namespace detail_of_waiting

/// How a wait of `most` nanoseconds at most ends, with these signals blocked. kNever: without a limit. In a call that is made again
/// `most` is not looked at: the limit is the one with which it began.
template <Machine M>
MYR_OUTLINE Wait wait_for_signal(const M& m, u64 blocked, u64 most) {
  if (waits_among_others(m)) return detail_of_waiting::wait_among_others(m, blocked, most);
  const auto ends = [&](WaitEnd end, u64 time, u32 number) {
    return Wait{end, time, most == kNever ? kNever : most - time, number};
  };
  if (const u32 number = interrupting_signal(m, blocked); number != 0) return ends(WaitEnd::signal, 0, number);
  SentSignal sent = {kNever, 0};
  for (u64 heeded = ~blocked;; heeded &= ~signal_bit(sent.number)) {
    sent = time_to_signal(m, heeded);
    if (sent.number == 0 || !does_nothing(m, sent.number)) break;
  }
  if (sent.number != 0 && sent.time < most) return ends(WaitEnd::signal, sent.time, sent.number);
  return most == kNever ? Wait{WaitEnd::never, 0} : ends(WaitEnd::time_out, most, 0);
}

/// The call waits: for what wake() is given with this key and some of these bits, with these signals blocked, as long as `wait` says.
/// It is made again then, unless the process ends. Nothing may have been changed before, unless own_heads() has returned true.
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
  const u64 action = word(m, action_word(wait.number)), flags = word(m, action_word(wait.number, kActionFlags));
  return action != kDefaultAction && !(flags & kRestarts) ? interrupt(m, wait) : restart(m, wait);
}

/// How a wait ends of a call that can do nothing yet. `ready_in`: when, by the passing of time alone, it can do something. kNever:
/// without a limit, not by time. In a call that is made again `most` is what is left.
template <Machine M>
MYR_OUTLINE Wait wait_until_ready(const M& m, u64 blocked, u64 most, u64 ready_in) {
  if (waits_among_others(m)) {
    if (const u32 number = interrupting_signal(m, blocked); number != 0) return {WaitEnd::signal, 0, most, number};
    if (most == 0) return {WaitEnd::time_out, 0, 0};
    const WaitEnd end = wait_state(m) == WaitState::hopeless ? WaitEnd::never : WaitEnd::begins;
    return {end, 0, lesser(most, ready_in)};
  }
  const Wait wait = wait_for_signal(m, blocked, lesser(most, ready_in));
  return wait.end == WaitEnd::time_out && ready_in <= most ? Wait{WaitEnd::ready, ready_in} : wait;
}
/// Of a call that waits without a limit, and lets signals through that are not blocked.
template <Machine M>
MYR_FN Wait wait_until_ready(const M& m, u64 ready_in = kNever) {
  return wait_until_ready(m, word(m, kBlocked), kNever, ready_in);
}

// A call that is made again finds in kWaitEnd when its wait ends at the latest, and in kWaitDone what it has moved. serve() clears
// both when the call has been answered.
constexpr u64 kRestartableWait = kNever - 1;  // no limit; a handler with SA_RESTART does not end the call

template <Machine M>
MYR_FN bool is_made_again(const M& m) {
  return word(m, kWaitEnd) != 0;
}
/// After own_word(kWaitEnd).
template <Machine M>
MYR_FN void forget_wait(M& m) {
  set_word(m, kWaitEnd, 0);
  set_word(m, kWaitDone, 0);
}
/// Ends this attempt of a call, after own_word(kBlocked): it is made again when the time has passed.
template <Machine M>
MYR_FN Result make_again(M& m, const Wait& wait, u64 end, u64 done) {
  pass_time(m, wait.time);
  set_word(m, kWaitEnd, end);
  set_word(m, kWaitDone, done);
  m.set_pc(m.pc() - 4);
  return replaced(-(i64)kEINTR);
}
/// Lets other threads run until what the call waits for may be there (`event`): it is made again then. `bits`: what its head tells
/// meanwhile, not 0.
template <Machine M>
MYR_OUTLINE Result begin_event_wait(M& m, const Wait& wait, u64 blocked, u64 event, u64 end, u64 done,
                                    u64 bits = ~(u64)0) {
  if (!own_heads(m)) return again();
  set_word(m, kWaitEnd, end);
  set_word(m, kWaitDone, done);
  return begin_wait(m, wait, blocked, wait_key(WaitOn::event, event), bits);
}
/// To be called, and to have returned true, before wait_here().
template <Machine M>
MYR_FN bool own_wait(M& m) {
  return own_word(m, kBlocked) && (!waits_among_others(m) || own_heads(m));
}
/// Ends an attempt of a call that waits for an event without a limit and has moved `done`, after own_wait(). As on Linux, a signal
/// ends the call with what it has moved. What would wait for ever ends with that too, or with EDEADLK. `bits`: as for
/// begin_event_wait().
template <Machine M>
MYR_OUTLINE Result wait_here(M& m, const Wait& wait, u64 event, u64 done, u64 bits = ~(u64)0) {
  if (wait.end == WaitEnd::begins)
    return begin_event_wait(m, wait, word(m, kBlocked), event, kRestartableWait, done, bits);
  if (wait.end == WaitEnd::ready) return make_again(m, wait, kRestartableWait, done);
  forget_wait(m);
  if (wait.end == WaitEnd::never) return done != 0 ? answer((i64)done) : error(kEDEADLK);
  if (done == 0) return interrupt_or_restart(m, wait);
  pass_time(m, wait.time);
  return answer((i64)done);
}
/// A handler runs in front of a call that would be made again: the call ends, if the handler does not let it go on.
template <Machine M>
MYR_FN void interrupt_made_again(M& m, bool restarts) {
  const u64 done = word(m, kWaitDone);
  if (done != 0 || !restarts || word(m, kWaitEnd) != kRestartableWait) {
    m.set_x(0, done != 0 ? done : (u64) - (i64)kEINTR);
    m.set_pc(m.pc() + 4);
  }
  forget_wait(m);
}

}  // namespace myriarm::kernel
