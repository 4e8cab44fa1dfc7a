// SPDX-License-Identifier: Apache-2.0
// The signals of a process and its threads: which are ignored, which wait, and what is known of those that wait (signal(7),
// sigaction(2)). What becomes of them is in signal_delivery.h.
#pragma once

#include "kernel/posix_timers.h"
#include "kernel/threads.h"

namespace myriarm::kernel {

/// What Stop::detail is more than the number of the signal that has ended a process.
constexpr u32 kKilledBySignal = 0x100;

constexpr u64 kSignalSetBytes = 8;
constexpr u64 kDefaultAction = 0, kIgnoreAction = 1;  // SIG_DFL, SIG_IGN

// Signals are numbered from 1 to kMostSignals.
MYR_FN constexpr u64 signal_bit(u32 number) { return (u64)1 << (number - 1); }
MYR_FN constexpr u64 unblockable_signals() { return signal_bit(kSignalKill) | signal_bit(kSignalStop); }
/// Those that a fault sends come before the others.
MYR_FN constexpr u64 synchronous_signals() {
  return signal_bit(kSignalSegment) | signal_bit(kSignalBus) | signal_bit(kSignalIllegal) | signal_bit(kSignalTrap) |
         signal_bit(kSignalFloat) | signal_bit(kSignalSystem);
}
MYR_FN constexpr u64 stopping_signals() {
  return signal_bit(kSignalStop) | signal_bit(kSignalStopTyped) | signal_bit(kSignalTerminalOut - 1) |
         signal_bit(kSignalTerminalOut);
}

/// Words of the kernel's struct sigaction.
enum ActionWord : u32 { kHandler = 0, kActionFlags = 8, kRestorer = 16, kActionMask = 24, kActionBytes = 32 };
MYR_FN u32 action_word(u32 number, ActionWord part = kHandler) { return kActions + (number - 1) * kActionBytes + part; }

/// The first 48 bytes of a siginfo_t, which is all that the kernel fills in.
constexpr u32 kInformationWords = 6;
struct SignalInformation {
  u64 words[kInformationWords];
  MYR_FN u32 number() const { return (u32)words[0]; }
};
/// `first`: what follows si_code: sender, address.
MYR_FN SignalInformation signal_information(u32 number, i32 code, u64 first) {
  return {{number, (u32)code, first, 0, 0, 0}};
}
/// The process that has sent it, and its user.
template <class M>
MYR_FN u64 sender(const M& m) {
  return (u64)kUserId << 32 | process_id(m);
}

/// Whether the default action does nothing. The signals that stop a process from its terminal do nothing in a group of
/// processes like this one, where no shell could let it go on (orphaned, setpgid(2)).
MYR_FN bool is_ignored_by_default(u32 number) {
  constexpr u64 kIgnored = signal_bit(kSignalChild) | signal_bit(kSignalContinue) | signal_bit(kSignalUrgent) |
                           signal_bit(kSignalWindowChange);
  return (kIgnored & signal_bit(number)) != 0;
}
template <Machine M>
MYR_FN bool is_ignored(const M& m, u32 number) {
  const u64 handler = word(m, action_word(number));
  return handler == kIgnoreAction || (handler == kDefaultAction && is_ignored_by_default(number));
}
/// Whether a signal that is not blocked does nothing to the process when it is delivered.
template <Machine M>
MYR_FN bool does_nothing(const M& m, u32 number) {
  return is_ignored(m, number) || (word(m, action_word(number)) == kDefaultAction && number != kSignalStop &&
                                   (stopping_signals() & signal_bit(number)));
}

/// Whom a signal is sent to, the thread that runs or the process. What waits for the thread comes first.
enum class Target : u8 { thread, process };
MYR_FN u32 pending_word(Target target) { return target == Target::thread ? kPending : kPendingShared; }
template <class M>
MYR_FN u64 pending_signals(const M& m) {
  return word(m, kPending) | word(m, kPendingShared);
}
template <Machine M>
MYR_FN u32 queued_signals(const M& m) {
  return (u32)lesser(word(m, kQueuedSignals), kQueueRecords);
}
MYR_FN u32 queue_record(u32 index) { return kSignalQueue + index * kQueueRecordBytes; }

/// Must be called, and have returned true, before signals are sent or taken, and before the other words of the first kernel
/// page are set. So many may be sent then: one for each timer.
template <Machine M>
MYR_FN bool own_signals(M& m) {
  const u32 records = queued_signals(m) + kIntervalTimers + timer_count(m);
  return own_timers(m) && (!has_table(m) || own_threads(m)) &&
         own_words(m, kSignalQueue, (records < kQueueRecords ? records : kQueueRecords) * kQueueRecordBytes);
}

/// What follows a record in the queue: whom it was sent to, and above this bit the timer that sent it, and 1.
constexpr u32 kQueueTimerShift = 32;
template <Machine M>
MYR_FN void remove_record(M& m, u32 index) {
  const u32 last = queued_signals(m) - 1;
  move_words(m, queue_record(index), queue_record(index + 1), (last - index) * kQueueRecordBytes);
  set_word(m, kQueuedSignals, last);
}
/// These signals wait no longer, neither for the process nor for its threads.
template <Machine M>
MYR_OUTLINE void drop_signals(M& m, u64 signals) {
  u64 waiting = pending_signals(m);
  const u32 slots = has_threads(m) ? thread_slots(m) : 0;
  for (u32 slot = 0; slot < slots; slot++) {
    if (is_own_thread(m, slot)) waiting |= thread_word(m, slot, kPending);
  }
  if (!(waiting & signals)) return;
  set_word(m, kPending, word(m, kPending) & ~signals);
  set_word(m, kPendingShared, word(m, kPendingShared) & ~signals);
  for (u32 slot = 0; slot < slots; slot++) {
    if (is_own_thread(m, slot)) set_thread_word(m, slot, kPending, thread_word(m, slot, kPending) & ~signals);
  }
  for (u32 i = queued_signals(m); i != 0; i--) {
    if (!(signals & signal_bit((u32)word(m, queue_record(i - 1))))) continue;
    const u64 timer = word(m, queue_record(i - 1) + kInformationWords * 8) >> kQueueTimerShift;
    if (timer != 0) pass_over_timer(m, (u32)timer - 1);
    remove_record(m, i - 1);
  }
}
/// What has been sent to this thread alone waits no longer: it leaves. After own_signals().
template <Machine M>
MYR_FN void drop_signals_of_thread(M& m) {
  set_word(m, kPending, 0);
  for (u32 i = queued_signals(m); i != 0; i--) {
    if ((u32)word(m, queue_record(i - 1) + kInformationWords * 8) == thread_id(m)) remove_record(m, i - 1);
  }
}

/// The signals that a thread does not take where it is.
template <Machine M>
MYR_FN u64 mask_of(const M& m, u32 slot) {
  return is_waiting(m, slot) ? head(m, slot, kHeadMask) : thread_word(m, slot, kBlocked);
}
/// The thread that gets a signal which is sent to the process, of several, as on Linux: the first thread, or else the first one,
/// that does not block it; kNoThread if all do.
template <Machine M>
MYR_OUTLINE u32 receiver(const M& m, u64 bit) {
  const u32 slots = thread_slots(m);
  for (u32 slot = 0; slot < slots; slot++) {
    if (is_own_thread(m, slot) && is_alive(m, slot) && !(mask_of(m, slot) & bit)) return slot;
  }
  return kNoThread;
}
/// Whether the default action of a signal ends the process.
template <Machine M>
MYR_FN bool ends_process(const M& m, u32 number) {
  return word(m, action_word(number)) == kDefaultAction && !does_nothing(m, number);
}

/// What is to be known to send a signal.
struct Addressee {
  u32 slot;  // of a thread; kNoThread: the process
  bool blocks;
};
template <Machine M>
MYR_OUTLINE Addressee addressee(M& m, u32 slot, u32 number) {
  const u64 bit = signal_bit(number);
  const u32 current = current_thread(m);
  if (slot == kNoThread) slot = receiver(m, bit);
  if (slot == kNoThread) return {slot, true};
  const bool blocks = (thread_word(m, slot, kBlocked) & bit) != 0;
  const bool takes = slot != current && current != kNoThread && !(mask_of(m, slot) & bit);
  if (!takes || !ends_process(m, number) || wait_state(m) != WaitState::none) return {slot, blocks};
  // The process ends now, not when that thread runs.
  set_word(m, kBlocked, word(m, kBlocked) & ~bit);
  return {current, false};
}
/// A signal has been sent to a thread: what it waits for ends, if the signal does that.
template <Machine M>
MYR_OUTLINE void interrupt_thread(M& m, u32 slot, u32 number) {
  const u64 bit = signal_bit(number);
  if (slot == kNoThread || !is_waiting(m, slot) || (head(m, slot, kHeadMask) & bit)) return;
  const bool awaited = (head(m, slot, kHeadKey) & 3) == (u64)WaitOn::time && (head(m, slot, kHeadBits) & bit);
  if (awaited || !does_nothing(m, number)) end_wait(m, slot, WaitState::interrupted);
}

/// Sends a signal to a thread, or with kNoThread to the process, after own_signals(). Returns 0, or -EAGAIN if too many wait: that
/// is for those who send more than a signal's number. Signals from 32 on wait each time that they are sent, the others once, and
/// once for each timer. `timer`: the one of timer_create() that sends it, and 1; 1 is returned if the signal is ignored.
template <Machine M>
MYR_OUTLINE i64 send_to(M& m, u32 slot, const SignalInformation& information, u64 timer = 0) {
  const u32 number = information.number();
  const u64 bit = signal_bit(number);
  if (stopping_signals() & bit) drop_signals(m, signal_bit(kSignalContinue));
  if (number == kSignalContinue) drop_signals(m, stopping_signals());
  bool blocks = (word(m, kBlocked) & bit) != 0;
  const bool several = has_table(m);
  if (several) {
    if (slot != kNoThread && !is_alive(m, slot)) return 0;
    const Addressee found = addressee(m, slot, number);
    // What this thread takes itself may stay with the process.
    if (slot != kNoThread || found.slot != current_thread(m)) slot = found.slot;
    blocks = found.blocks;
  }
  // One that is blocked may find a handler by the time that it is not.
  if (!blocks && is_ignored(m, number)) return timer != 0 ? 1 : 0;
  const bool to_process = slot == kNoThread;
  const u64 pending = to_process ? (u64)kPendingShared : several ? thread_word_at(m, slot, kPending) : (u64)kPending;
  const u32 count = queued_signals(m);
  if (number < kFirstRealTime && (word(m, pending) & bit) && timer == 0) return 0;
  if (number >= kFirstRealTime && count >= kMostQueued && timer == 0) {
    if ((i32)information.words[1] != kByUser) return -kEAGAIN;
  } else if (count < kQueueRecords) {
    for (u32 i = 0; i < kInformationWords; i++) set_word(m, queue_record(count) + i * 8, information.words[i]);
    const u64 to = to_process ? 0 : several && slot != current_thread(m) ? head(m, slot, kHeadThread) : thread_id(m);
    set_word(m, queue_record(count) + kInformationWords * 8, to | timer << kQueueTimerShift);
    set_word(m, kQueuedSignals, count + 1);
  }
  set_word(m, pending, word(m, pending) | bit);
  set_word(m, kSignalsSent, word(m, kSignalsSent) + 1);
  if (several) {
    interrupt_thread(m, to_process ? current_thread(m) : slot, number);
    wake_events(m, kSignalEvent);
  }
  return 0;
}
/// The same to the thread that runs, or to the process.
template <Machine M>
MYR_FN i64 send_signal(M& m, Target target, const SignalInformation& information) {
  return send_to(m, target == Target::process ? kNoThread : current_thread(m), information);
}

/// The next of these signals that waits, and for whom; 0 if none does.
struct NextSignal {
  u32 number;
  Target target;
};
MYR_FN NextSignal first_of(u64 signals, Target target) {
  const u64 first = signals & synchronous_signals() ? signals & synchronous_signals() : signals;
  return {64 - count_leading_zeros64(first & (~first + 1)), target};
}
template <Machine M>
MYR_FN NextSignal next_signal(const M& m, u64 signals) {
  const u64 own = word(m, kPending) & signals;
  return own != 0 ? first_of(own, Target::thread) : first_of(word(m, kPendingShared) & signals, Target::process);
}

/// Takes a signal that waits, the one that was sent first, after own_signals().
template <Machine M>
MYR_OUTLINE SignalInformation take_signal(M& m, NextSignal next) {
  SignalInformation information = signal_information(next.number, kByUser, 0);
  const u32 count = queued_signals(m);
  const u64 to = next.target == Target::process ? 0 : thread_id(m);
  u32 found = count;
  bool more = false;
  for (u32 i = 0; i < count; i++) {
    const u32 record = queue_record(i);
    const u64 receiver = word(m, record + kInformationWords * 8);
    if ((u32)word(m, record) != next.number || (u32)receiver != to) continue;
    if (found != count) more = true;
    else found = i;
  }
  if (found != count) {
    for (u32 i = 0; i < kInformationWords; i++) information.words[i] = word(m, queue_record(found) + i * 8);
    const u64 timer = word(m, queue_record(found) + kInformationWords * 8) >> kQueueTimerShift;
    remove_record(m, found);
    if (timer != 0) information.words[2] |= (u64)restart_timer(m, (u32)timer - 1) << 32;
  }
  const u32 pending = pending_word(next.target);
  if (!more) set_word(m, pending, word(m, pending) & ~signal_bit(next.number));
  if (next.number == kSignalAlarm) rearm_real_timer(m);
  return information;
}

/// The signal that a timer has sent waits no longer.
template <Machine M>
MYR_OUTLINE void drop_timer_signal(M& m, u32 id) {
  for (u32 i = queued_signals(m); i != 0; i--) {
    const u64 sender = word(m, queue_record(i - 1) + kInformationWords * 8);
    if (sender >> kQueueTimerShift != id + 1) continue;
    const u32 number = (u32)word(m, queue_record(i - 1));
    remove_record(m, i - 1);
    bool more = false;
    for (u32 other = 0; other < queued_signals(m); other++) {
      const u32 receiver = (u32)word(m, queue_record(other) + kInformationWords * 8);
      more |= (u32)word(m, queue_record(other)) == number && receiver == (u32)sender;
    }
    const u32 slot = (u32)sender != 0 ? find_thread(m, (u32)sender) : kNoThread;
    if (more || ((u32)sender != 0 && slot == kNoThread)) continue;
    const u64 pending = (u32)sender == 0 ? (u64)kPendingShared : thread_word_at(m, slot, kPending);
    set_word(m, pending, word(m, pending) & ~signal_bit(number));
  }
}

/// Of the timers of timer_create() nothing is left: their process ends, or executes another program. After own_signals().
template <Machine M>
MYR_OUTLINE void forget_timers(M& m) {
  const u32 count = timer_count(m);
  for (u32 id = 0; id < count; id++) drop_timer_signal(m, id);
  set_word(m, kTimerCount, 0);
  set_word(m, kNextTimer, 0);
  set_word(m, kNextWorkTimer, 0);
}

/// Sends what timers have to send, after own_signals().
template <Machine M>
MYR_OUTLINE void expire_timers(M& m) {
  constexpr u32 kSignals[kIntervalTimers] = {kSignalAlarm, kSignalVirtualAlarm, kSignalProfile};
  for (u32 timer = 0; timer < kIntervalTimers; timer++) {
    if (!expire_timer(m, timer)) continue;
    (void)send_signal(m, Target::process, signal_information(kSignals[timer], kByKernel, 0));
  }
  const u32 count = timer_count(m);
  for (u32 id = 0; id < count; id++) {
    const u32 use = timer_use(m, id), number = timer_signal(use);
    if (!will_expire(m, id) || posix_clock(m, use) < word(m, posix_timer(id) + kTimerAt)) continue;
    const u32 slot = (use & kTimerForThread) ? find_thread(m, (u32)word(m, posix_timer(id) + kTimerThread)) : kNoThread;
    set_word(m, posix_timer(id) + kTimerUse, use | kTimerWaits);
    // As on Linux, one whose thread has left expires once more, and sends nothing.
    if ((use & kTimerForThread) && slot == kNoThread) continue;
    const SignalInformation information = {{number, (u32)kByTimer, id, word(m, posix_timer(id) + kTimerValue), 0, 0}};
    if (send_to(m, slot, information, id + 1) > 0) set_word(m, posix_timer(id) + kTimerUse, use | kTimerIgnored);
  }
  if (count != 0) note_next_timers(m);
}

/// A signal that interrupts what the process waits for, with these signals blocked; 0: none.
template <Machine M>
MYR_FN u32 interrupting_signal(const M& m, u64 blocked) {
  u64 signals = ~blocked;
  while (true) {
    const NextSignal next = next_signal(m, signals);
    if (next.number == 0 || !does_nothing(m, next.number)) return next.number;
    signals &= ~signal_bit(next.number);
  }
}

}  // namespace myriarm::kernel
