// SPDX-License-Identifier: Apache-2.0
// What becomes of signals: a lane that is a process takes them where it would run its next instruction. A backend asks
// attention_at() wherever a run begins for a lane and its call has been served, and calls deliver() as soon as the lane has come
// there; and deliver_fault() for the stops that are signals. docs/design/signals.md.
#pragma once

#include "core/system/registers.h"
#include "kernel/file_mappings.h"
#include "kernel/process_calls.h"
#include "kernel/signal_frame.h"

namespace myriarm::kernel {

/// The count of retired instructions from which on deliver() has something to do; 0 if it has now.
template <class M>
MYR_FN u64 attention_at(const M& m) {
  const FirstWords<M> words(m);
  const WaitState state = (WaitState)words[kWaitState];
  if (words[kEnding] != 0) return 0;
  if (state == WaitState::waits || state == WaitState::leaves) return 0;
  if (state == WaitState::none) {
    if (((words[kPending] | words[kPendingShared]) & ~words[kBlocked]) != 0 || words[kMaskIsSaved] != 0) return 0;
  }
  const u64 expiry = next_expiry(words);
  return words[kThreads] > 1 ? lesser(expiry, thread_attention(words)) : expiry;
}

MYR_FN Result killed(u32 number) { return ended(kKilledBySignal + number); }

/// The signal that a stop is, if it is one; number 0 if not.
struct FaultSignal {
  SignalInformation information;
  bool is_noted;  // the frames of later signals show `address` and `syndrome` too
  u64 address;
  u32 syndrome;  // ESR_EL1; 0: the kernel does not show it
};
/// An address as the kernel shows it: with the tag of one of its own half of the address space, or without.
MYR_FN u64 shown_address(u64 address) { return (u64)((i64)(address << 8) >> 8); }

template <Machine M>
MYR_OUTLINE FaultSignal signal_of_stop(const M& m, const StopRecord& stop) {
  // clang-format off
  enum Syndrome : u32 { kFetchAbort = 0x82000000, kDataAbort = 0x92000000, kBadPc = 0x8A000000, kNoTranslation = 7,
                        kNoPermission = 15, kMisaligned = 0x21, kByStore = 0x40 };
  // clang-format on
  const u64 pc = m.pc(), address = shown_address(stop.address);
  const auto at_pc = [&](u32 number, i32 code, bool is_noted) {
    return FaultSignal{signal_information(number, code, pc), is_noted, 0, 0};
  };
  const auto fault = [&](u32 number, i32 code, u32 syndrome) {
    return FaultSignal{signal_information(number, code, address), true, address, syndrome};
  };
  switch (stop.code) {
    case StopCode::undefined:
    case StopCode::halt: return at_pc(kSignalIllegal, kIllegalOpcode, true);
    case StopCode::breakpoint: return at_pc(kSignalTrap, kBreakpointTrap, false);
    case StopCode::fault: break;
    default: return at_pc(0, 0, false);
  }
  const u32 store = stop.fault == FaultCode::write ? (u32)kByStore : 0;
  Range range;
  // Whether an access to what is not mapped was a store is not known.
  switch (stop.fault) {
    case FaultCode::alignment:
      if ((pc & 3) != 0) return {signal_information(kSignalBus, kBadAlignment, pc), true, 0, kBadPc};
      return fault(kSignalBus, kBadAlignment, kDataAbort | kMisaligned | store);
    case FaultCode::unmapped: {
      const bool fetches = stop.address == pc;
      return fault(kSignalSegment, kUnmappedAddress,
                   (fetches ? (u32)kFetchAbort : kDataAbort | store) | kNoTranslation);
    }
    default: {
      const u32 kind = stop.fault == FaultCode::execute ? (u32)kFetchAbort : kDataAbort | store;
      if (find_range(m, stop.address, range) &&
          is_behind_file(m, range, stop.address, stop.fault == FaultCode::write)) {
        return fault(kSignalBus, kNoObject, kind | kNoTranslation);
      }
      return fault(kSignalSegment, kRefusedAccess, kind | kNoPermission);
    }
  }
}

/// Lets a handler run: it is the lane's next instruction. `next`: the signal that is taken for it; number 0: it was not sent, and
/// `information` is given. The result is `answered` if it will, `again`, or `missing` if there is no room for the frame.
template <Machine M>
MYR_OUTLINE Result begin_handler(M& m, NextSignal next, SignalInformation information, const FaultSignal* fault) {
  const u32 number = next.number != 0 ? next.number : information.number();
  const u64 bit = signal_bit(number), handler = word(m, action_word(number));
  const u64 flags = word(m, action_word(number, kActionFlags)), mask = word(m, action_word(number, kActionMask));
  const FramePlace place = place_frame(m, flags);
  const Storing storing = prepare(m, place.begin, place.unwind + kUnwindRecordBytes - place.begin);
  if (storing == Storing::refused) return missing();
  if (storing == Storing::again || !own_signals(m) || !own_words(m, action_word(number), kActionBytes)) return again();
  if (next.number != 0) information = take_signal(m, next);
  if (fault != nullptr && fault->is_noted) {
    set_word(m, kFaultAddress, fault->address);
    set_word(m, kFaultSyndrome, fault->syndrome);
  }
  m.tell_of_signal(information.words, false);
  if (is_made_again(m)) interrupt_made_again(m, (flags & kRestarts) != 0);
  const u64 blocked = word(m, kBlocked);
  const bool saved = word(m, kMaskIsSaved) != 0, informs = (flags & kWithInformation) != 0;
  store_frame(m, place, saved ? word(m, kSavedMask) : blocked, informs ? &information : nullptr);
  set_word(m, kMaskIsSaved, 0);
  set_word(m, kBlocked, (blocked | mask | (flags & kNotDeferred ? 0 : bit)) & ~unblockable_signals());
  if (flags & kResets) set_word(m, action_word(number), kDefaultAction);
  if (signal_stack(m).flags & kAutoDisarm) set_signal_stack(m, {0, 0, kNoStack});
  m.set_x(0, number);
  if (informs) {
    m.set_x(1, place.begin);
    m.set_x(2, place.begin + kFrameContext);
  }
  m.set_x(29, place.unwind);
  m.set_x(30, flags & kHasRestorer ? word(m, action_word(number, kRestorer)) : word(m, kSignalReturn));
  m.set_x(kSlotSP, place.begin);
  m.set_pc(handler);
  m.set_system(SystemField::monitor, kMonitorOpen);
  m.count_delivery();
  return answer(0);
}

/// Must be called, and have returned true, before force_signal().
template <Machine M>
MYR_FN bool own_forced(M& m, u32 number) {
  return own_signals(m) && own_words(m, action_word(number), kActionBytes);
}
/// Sends a signal that the process cannot refuse: if it blocks or ignores it, it gets its default action.
template <Machine M>
MYR_OUTLINE void force_signal(M& m, const SignalInformation& information) {
  const u32 number = information.number();
  const u64 bit = signal_bit(number);
  if ((word(m, kBlocked) & bit) || word(m, action_word(number)) == kIgnoreAction) {
    set_word(m, action_word(number), kDefaultAction);
    set_word(m, kBlocked, word(m, kBlocked) & ~bit);
  }
  (void)send_signal(m, Target::thread, information);
}

/// There is no room for a handler's frame: the process gets a SIGSEGV, or it ends by the one that it has. `next`: as for
/// begin_handler().
template <Machine M>
MYR_OUTLINE Result refuse_handler(M& m, NextSignal next, SignalInformation information) {
  const u32 number = next.number != 0 ? next.number : information.number();
  if (!own_forced(m, kSignalSegment)) return again();
  if (next.number != 0) information = take_signal(m, next);
  m.tell_of_signal(information.words, number == kSignalSegment);
  if (number == kSignalSegment) return killed(kSignalSegment);
  force_signal(m, signal_information(kSignalSegment, kByKernel, 0));
  return answer(0);
}

/// Brings the process to where its next instruction is, at most one handler further: to be called again until
/// attention_at() lies ahead. The result is `answered`, `ended` or `again`.
template <Machine M>
MYR_OUTLINE Result deliver_next(M& m) {
  if (word(m, kEnding) != 0) return ended((u32)word(m, kEnding) - 1);
  if (next_expiry(m) <= m.retired()) {
    if (!own_signals(m)) return again();
    expire_timers(m);
  }
  if (is_to_schedule(FirstWords<M>(m), m.retired()) && !schedule(m)) return again();
  if (wait_state(m) != WaitState::none) return answer(0);
  while (true) {
    const NextSignal next = next_signal(m, ~word(m, kBlocked));
    if (next.number == 0) break;
    const u32 number = next.number;
    if (does_nothing(m, number)) {
      if (!own_signals(m)) return again();
      (void)take_signal(m, next);
      continue;
    }
    if (word(m, action_word(number)) == kDefaultAction) {
      if (!own_signals(m)) return again();
      // One that stops the process ends it: no other could let it go on.
      m.tell_of_signal(take_signal(m, next).words, true);
      return killed(number);
    }
    const Result begun = begin_handler(m, next, {}, nullptr);
    return begun.served == Served::missing ? refuse_handler(m, next, {}) : begun;
  }
  if (word(m, kMaskIsSaved) != 0) {
    if (!own_signals(m)) return again();
    set_word(m, kBlocked, word(m, kSavedMask));
    set_word(m, kMaskIsSaved, 0);
  }
  return answer(0);
}

template <Machine M>
MYR_FN Result deliver(M& m) {
  return finish(m, deliver_next(m));
}

/// For a lane that has stopped at an instruction. The result is `answered` if it goes on, in the handler of the signal that the
/// stop is; `missing` if the signal has no handler that could run, or is none, so that the stop stays; `ended` or `again`.
template <Machine M>
MYR_OUTLINE Result deliver_fault(M& m, const StopRecord& stop) {
  if (stop.code == StopCode::fault && files_have_grown(m)) {
    if (!follow_files(m)) return again();
    const u64 page = m.page_of(stop.address);
    Range range;
    // The access is made again: this happens once for each time that a file has grown.
    const bool joined = page < m.guest_pages() && find_range(m, stop.address, range) && (range.flags & kSharedFile);
    if (joined && (m.entry(page) & kPagePermissions)) return answer(0);
  }
  const FaultSignal fault = signal_of_stop(m, stop);
  const u32 number = fault.information.number();
  if (number == 0) return missing();
  const u64 handler = word(m, action_word(number));
  if (handler == kDefaultAction || handler == kIgnoreAction || (word(m, kBlocked) & signal_bit(number))) {
    m.tell_of_signal(fault.information.words, true);
    // A stop of the lane's first process stays what it is.
    return current_process(m) == kFirstProcess ? missing() : end_process(m, kKilledBySignal + number);
  }
  const NextSignal none = {0, Target::thread};
  const Result begun = begin_handler(m, none, fault.information, &fault);
  return begun.served == Served::missing ? finish(m, refuse_handler(m, none, fault.information)) : begun;
}

}  // namespace myriarm::kernel
