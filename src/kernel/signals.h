// SPDX-License-Identifier: Apache-2.0
// The signals of a process: which are ignored, which wait, and what is known of those that wait (signal(7), sigaction(2)).
// What becomes of them is in signal_delivery.h.
#pragma once

#include "kernel/interval_timers.h"
#include "kernel/signal_numbers.h"

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
constexpr u64 kSender = (u64)kUserId << 32 | kProcessId;

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

/// Whom a signal is sent to. What waits for the thread comes first.
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
/// page are set.
template <Machine M>
MYR_FN bool own_signals(M& m) {
  const u32 records = queued_signals(m) + 1;
  return own_word(m, kPending) &&
         own_words(m, kSignalQueue, (records < kQueueRecords ? records : kQueueRecords) * kQueueRecordBytes);
}

template <Machine M>
MYR_FN void remove_record(M& m, u32 index) {
  const u32 last = queued_signals(m) - 1;
  move_words(m, queue_record(index), queue_record(index + 1), (last - index) * kQueueRecordBytes);
  set_word(m, kQueuedSignals, last);
}
/// These signals wait no longer.
template <Machine M>
MYR_OUTLINE void drop_signals(M& m, u64 signals) {
  if (!(pending_signals(m) & signals)) return;
  set_word(m, kPending, word(m, kPending) & ~signals);
  set_word(m, kPendingShared, word(m, kPendingShared) & ~signals);
  for (u32 i = queued_signals(m); i != 0; i--) {
    if (signals & signal_bit((u32)word(m, queue_record(i - 1)))) remove_record(m, i - 1);
  }
}

/// Sends a signal, after own_signals(). Returns 0, or -EAGAIN if too many wait: that is for those who send more than a
/// signal's number. Signals from 32 on wait each time that they are sent, the others once.
template <Machine M>
MYR_OUTLINE i64 send_signal(M& m, Target target, const SignalInformation& information) {
  const u32 number = information.number();
  const u64 bit = signal_bit(number);
  if (stopping_signals() & bit) drop_signals(m, signal_bit(kSignalContinue));
  if (number == kSignalContinue) drop_signals(m, stopping_signals());
  // One that is blocked may find a handler by the time that it is not.
  if (!(word(m, kBlocked) & bit) && is_ignored(m, number)) return 0;
  const u32 pending = pending_word(target), count = queued_signals(m);
  if (number < kFirstRealTime && (word(m, pending) & bit)) return 0;
  if (number >= kFirstRealTime && count >= kMostQueued) {
    if ((i32)information.words[1] != kByUser) return -kEAGAIN;
  } else {
    for (u32 i = 0; i < kInformationWords; i++) set_word(m, queue_record(count) + i * 8, information.words[i]);
    set_word(m, queue_record(count) + kInformationWords * 8, (u64)target);
    set_word(m, kQueuedSignals, count + 1);
  }
  set_word(m, pending, word(m, pending) | bit);
  return 0;
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
  u32 found = count;
  bool more = false;
  for (u32 i = 0; i < count; i++) {
    const u32 record = queue_record(i);
    if ((u32)word(m, record) != next.number || word(m, record + kInformationWords * 8) != (u64)next.target) continue;
    if (found != count) more = true;
    else found = i;
  }
  if (found != count) {
    for (u32 i = 0; i < kInformationWords; i++) information.words[i] = word(m, queue_record(found) + i * 8);
    remove_record(m, found);
  }
  const u32 pending = pending_word(next.target);
  if (!more) set_word(m, pending, word(m, pending) & ~signal_bit(next.number));
  if (next.number == kSignalAlarm) rearm_real_timer(m);
  return information;
}

/// Sends what timers have to send, after own_signals().
template <Machine M>
MYR_OUTLINE void expire_timers(M& m) {
  constexpr u32 kSignals[kIntervalTimers] = {kSignalAlarm, kSignalVirtualAlarm, kSignalProfile};
  for (u32 timer = 0; timer < kIntervalTimers; timer++) {
    if (!expire_timer(m, timer)) continue;
    send_signal(m, Target::process, signal_information(kSignals[timer], kByKernel, 0));
  }
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
