// SPDX-License-Identifier: Apache-2.0
// Calls that wait. Nothing but time and the process's own timers can end a wait, so how it ends is known when it begins, and
// the clocks move to that point. A call that finds nothing to do asks wait_until_ready() how its wait ends; if that is by something
// that it waits for, it is made again from its SVC.
#pragma once

#include "kernel/signals.h"

namespace myriarm::kernel {

enum class WaitEnd : u8 {
  time_out,
  signal,  // one that has a handler, or ends the process
  ready,   // what the call waits for may be there: it is to be made again
  never,
};
struct Wait {
  WaitEnd end;
  u64 time;        // how long it takes
  u32 number = 0;  // of the signal that ends it
};

/// How a wait of `most` nanoseconds at most ends, with these signals blocked. kNever: without a limit.
template <Machine M>
MYR_OUTLINE Wait wait_for_signal(const M& m, u64 blocked, u64 most) {
  if (const u32 number = interrupting_signal(m, blocked); number != 0) return {WaitEnd::signal, 0, number};
  SentSignal sent = {kNever, 0};
  for (u64 heeded = ~blocked;; heeded &= ~signal_bit(sent.number)) {
    sent = time_to_signal(m, heeded);
    if (sent.number == 0 || !does_nothing(m, sent.number)) break;
  }
  if (sent.number != 0 && sent.time < most) return {WaitEnd::signal, sent.time, sent.number};
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
  const u64 action = word(m, action_word(wait.number)), flags = word(m, action_word(wait.number, kActionFlags));
  const Result interrupted = interrupt(m, wait);
  if (action != kDefaultAction && !(flags & kRestarts)) return interrupted;
  m.set_pc(m.pc() - 4);
  return replaced(interrupted.value);
}

/// How a wait ends of a call that can do nothing yet. `ready_in`: when, by the passing of time alone, it can do something. kNever:
/// without a limit, not by time. This is the one place that knows who else could end the wait: nobody.
template <Machine M>
MYR_OUTLINE Wait wait_until_ready(const M& m, u64 blocked, u64 most, u64 ready_in) {
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
/// Ends an attempt of a call that waits without a limit and has moved `done`, after own_word(kBlocked). As on Linux, a signal ends
/// the call with what it has moved. What would wait for ever ends with that too, or with EDEADLK.
template <Machine M>
MYR_OUTLINE Result wait_here(M& m, const Wait& wait, u64 done) {
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
