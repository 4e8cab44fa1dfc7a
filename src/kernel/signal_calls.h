// SPDX-License-Identifier: Apache-2.0
// Signals that a process sends to itself: a signal is ignored, stays pending while it is blocked, or ends the process,
// as raise() and abort() need. Handlers are remembered but never run: the host reports a call that would run one.
#pragma once

#include "kernel/structures.h"

namespace myriarm::kernel {

/// What Stop::detail is more than the number of the signal that has ended a process.
constexpr u32 kKilledBySignal = 0x100;

constexpr u64 kSignalSetBytes = 8;
constexpr u32 kActionBytes = 32;
constexpr u64 kDefaultAction = 0, kIgnoreAction = 1;  // SIG_DFL, SIG_IGN

// clang-format off
enum Signal : u32 { kSignalKill = 9, kSignalPipe = 13, kSignalChild = 17, kSignalContinue = 18, kSignalStop = 19,
                    kSignalStopTyped = 20, kSignalTerminalOut = 22, kSignalUrgent = 23, kSignalWindowChange = 28 };
// clang-format on

// Signals are numbered from 1 to kMostSignals.
MYR_FN constexpr u64 signal_bit(u32 number) { return (u64)1 << (number - 1); }
MYR_FN constexpr u64 unblockable_signals() { return signal_bit(kSignalKill) | signal_bit(kSignalStop); }
/// Where the signal's struct sigaction lies.
MYR_FN u32 action_word(u32 number) { return kActions + (number - 1) * kActionBytes; }

MYR_FN bool is_ignored_by_default(u32 number) {
  return number == kSignalChild || number == kSignalContinue || number == kSignalUrgent ||
         number == kSignalWindowChange;
}
MYR_FN bool stops_by_default(u32 number) { return number >= kSignalStop && number <= kSignalTerminalOut; }

/// What happens when a signal that is not blocked is delivered.
enum class Delivery : u8 { nothing, end, missing };
template <Machine M>
MYR_FN Delivery delivery_of(const M& m, u32 number) {
  const u64 handler = word(m, action_word(number));
  if (handler == kIgnoreAction || (handler == kDefaultAction && is_ignored_by_default(number))) {
    return Delivery::nothing;
  }
  // No other process could continue one that is stopped.
  return handler != kDefaultAction || stops_by_default(number) ? Delivery::missing : Delivery::end;
}
MYR_FN Result killed(u32 number) { return ended(kKilledBySignal + number); }

/// Sends a signal to the process. `number` is one of a signal.
template <Machine M>
MYR_OUTLINE Result raise(M& m, u32 number) {
  if (word(m, kBlocked) & signal_bit(number)) {
    if (!own_word(m, kPending)) return again();
    set_word(m, kPending, word(m, kPending) | signal_bit(number));
    return answer(0);
  }
  switch (delivery_of(m, number)) {
    case Delivery::nothing: return answer(0);
    case Delivery::end: return killed(number);
    default: return missing();
  }
}
/// The same, where 0 sends nothing.
template <Machine M>
MYR_FN Result raise_or_test(M& m, u32 number) {
  return number == 0 ? answer(0) : raise(m, number);
}

template <Machine M>
MYR_OUTLINE Result kill(M& m) {
  // A process can signal itself, also as its group (0). On Linux -1 means all other processes, and there are none.
  const u32 process = (u32)m.argument(0), number = (u32)m.argument(1);
  if (number > kMostSignals) return error(kEINVAL);
  if (process != kProcessId && process != 0) return error(kESRCH);
  return raise_or_test(m, number);
}

template <Machine M>
MYR_OUTLINE Result tkill(M& m) {
  const u32 thread = (u32)m.argument(0), number = (u32)m.argument(1);
  if ((i32)thread <= 0 || number > kMostSignals) return error(kEINVAL);
  if (thread != kProcessId) return error(kESRCH);
  return raise_or_test(m, number);
}

template <Machine M>
MYR_OUTLINE Result tgkill(M& m) {
  const u32 process = (u32)m.argument(0), thread = (u32)m.argument(1), number = (u32)m.argument(2);
  if ((i32)process <= 0 || (i32)thread <= 0 || number > kMostSignals) return error(kEINVAL);
  if (process != kProcessId || thread != kProcessId) return error(kESRCH);
  return raise_or_test(m, number);
}

template <Machine M>
MYR_OUTLINE Result rt_sigaction(M& m) {
  const u32 number = (u32)m.argument(0);
  const u64 next = m.argument(1), old = m.argument(2);
  if (m.argument(3) != kSignalSetBytes || number < 1 || number > kMostSignals) return error(kEINVAL);
  if (next != 0 && (unblockable_signals() & signal_bit(number))) return error(kEINVAL);
  if (next != 0 && !readable(m, next, kActionBytes)) return error(kEFAULT);
  const Storing storing = old == 0 ? Storing::allowed : prepare(m, old, kActionBytes);
  if (storing == Storing::again) return again();
  const u32 known_at = action_word(number);
  if (next != 0 && !(own_words(m, known_at, kActionBytes) && own_word(m, kPending))) return again();
  const bool stores = old != 0 && storing == Storing::allowed;
  constexpr u32 kWords = kActionBytes / 8;
  u64 action[kWords];  // both structures may lie at the same place
  for (u32 i = 0; i < kWords && next != 0; i++) action[i] = load<u64>(m, next + i * 8);
  for (u32 i = 0; i < kWords; i++) {
    const u64 known = word(m, known_at + i * 8);
    if (next != 0) set_word(m, known_at + i * 8, action[i]);
    if (stores) store<u64>(m, old + i * 8, known);
  }
  if (next != 0 && action[0] == kIgnoreAction) set_word(m, kPending, word(m, kPending) & ~signal_bit(number));
  // As on Linux, the new action has taken effect even if the old one cannot be stored.
  return storing == Storing::refused ? error(kEFAULT) : answer(0);
}

/// Pending signals that a change of the mask lets through, and what becomes of them.
struct DueSignals {
  u64 delivered;
  u32 last;  // number of the last one delivered
  Delivery delivery;
};
/// They are delivered in rising order up to one that does something.
template <Machine M>
MYR_FN DueSignals find_due(const M& m, u64 blocked) {
  DueSignals due = {0, 0, Delivery::nothing};
  const u64 pending = word(m, kPending) & ~blocked;
  for (u32 number = 1; number <= kMostSignals && due.delivery == Delivery::nothing && pending >> (number - 1) != 0;
       number++) {
    if (!(pending & signal_bit(number))) continue;
    due = {due.delivered | signal_bit(number), number, delivery_of(m, number)};
  }
  return due;
}

template <Machine M>
MYR_OUTLINE Result rt_sigprocmask(M& m) {
  enum How : u32 { kBlock = 0, kUnblock = 1, kSet = 2 };
  const u32 how = (u32)m.argument(0);
  const u64 next = m.argument(1), old = m.argument(2), blocked = word(m, kBlocked);
  if (m.argument(3) != kSignalSetBytes) return error(kEINVAL);
  u64 mask = blocked;
  if (next != 0) {
    if (!readable(m, next, kSignalSetBytes)) return error(kEFAULT);
    if (how > kSet) return error(kEINVAL);
    const u64 named = load<u64>(m, next) & ~unblockable_signals();
    mask = how == kBlock ? blocked | named : how == kUnblock ? blocked & ~named : named;
  }
  const DueSignals due = find_due(m, mask);
  if (due.delivery == Delivery::missing) return missing();  // the mask stays as it is
  const Storing storing = old == 0 ? Storing::allowed : prepare(m, old, kSignalSetBytes);
  if (storing == Storing::again || !own_word(m, kBlocked) || !own_word(m, kPending)) return again();
  set_word(m, kBlocked, mask);
  set_word(m, kPending, word(m, kPending) & ~due.delivered);
  if (old != 0 && storing == Storing::allowed) store<u64>(m, old, blocked);
  if (due.delivery == Delivery::end) return killed(due.last);
  return storing == Storing::refused ? error(kEFAULT) : answer(0);
}

template <Machine M>
MYR_OUTLINE Result rt_sigpending(M& m) {
  const u64 address = m.argument(0), size = m.argument(1), pending = word(m, kPending);
  if (size > kSignalSetBytes) return error(kEINVAL);
  const Storing storing = prepare(m, address, size);
  if (storing != Storing::allowed) return not_stored(storing);
  for (u32 i = 0; i < size; i++) store<u8>(m, address + i, (u8)(pending >> 8 * i));
  return answer(0);
}

}  // namespace myriarm::kernel
