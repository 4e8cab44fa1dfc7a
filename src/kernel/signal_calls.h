// SPDX-License-Identifier: Apache-2.0
// The system calls about signals: signal(7), and the manual page of each call.
#pragma once

#include "kernel/signal_delivery.h"
#include "kernel/waiting.h"

namespace myriarm::kernel {

/// Sends a signal to a thread, or with kNoThread to the process; of signal 0 only whether it could be sent is tested.
template <Machine M>
MYR_OUTLINE Result send_or_test(M& m, u32 number, u32 slot, const SignalInformation& information) {
  if (number > kMostSignals) return error(kEINVAL);
  if (number == 0) return answer(0);
  if (!own_signals(m)) return again();
  return answer(send_to(m, slot, information));
}

/// The same to a process, or with `thread` a slot to a thread of it. One that has ended gets nothing, and that is no error.
template <Machine M>
MYR_OUTLINE Result send_to_process(M& m, u32 slot, u32 thread, const SignalInformation& information) {
  const u32 number = information.number();
  if (slot == current_process(m)) return send_or_test(m, number, thread, information);
  if (number > kMostSignals) return error(kEINVAL);
  if (number == 0 || !process_lives(m, slot)) return answer(0);
  if (!own_signals(m) || !own_processes(m) || !own_process(m, slot)) return again();
  const ProcessVisit<M> visit(m, slot);
  return answer(send_to(m, thread, information));
}

/// Processes of a lane may signal each other. -1 means all but the one that calls, and 0 its group.
template <Machine M>
MYR_OUTLINE Result kill(M& m) {
  const i32 named = (i32)m.argument(0);
  const u32 number = (u32)m.argument(1);
  const SignalInformation information = signal_information(number, kByUser, sender(m));
  if (named > 0) {
    const u32 slot = find_process(m, (u32)named);
    return slot == kNoProcess ? error(kESRCH) : send_to_process(m, slot, kNoThread, information);
  }
  if ((u32)named == 0x80000000) return error(kESRCH);
  const u32 own_group = own_part(m, kProcessGroup, kProcessId), group = named == 0 ? own_group : (u32)-named;
  if (!has_processes(m)) {
    return named != -1 && group == kProcessId ? send_or_test(m, number, kNoThread, information) : error(kESRCH);
  }
  if (number > kMostSignals) return error(kEINVAL);
  const u32 slots = process_slots(m), current = current_process(m);
  const auto is_meant = [&](u32 slot) {
    return named == -1 ? slot != current && process_part(m, slot, kRecordProcess) != 0 : is_in_group(m, slot, group);
  };
  if (!own_signals(m) || !own_processes(m)) return again();
  for (u32 slot = 0; slot < slots; slot++) {
    if (is_meant(slot) && process_lives(m, slot) && !own_process(m, slot)) return again();
  }
  bool any = false;
  for (u32 slot = 0; slot < slots; slot++) {
    if (!is_meant(slot)) continue;
    any = true;
    if (slot != current) (void)send_to_process(m, slot, kNoThread, information);
  }
  // Its own comes last: it may end by it.
  if (named != -1 && is_in_group(m, current, group)) return send_or_test(m, number, kNoThread, information);
  return any ? answer(0) : error(kESRCH);
}
template <Machine M>
MYR_FN Result kill_thread(M& m, u32 process, u32 thread, u32 number) {
  const u32 slot = find_thread(m, thread);
  if (slot == kNoThread) return error(kESRCH);
  const u32 of = (u32)head(m, slot, kHeadProcess);
  if (process != 0 && of != find_process(m, process)) return error(kESRCH);
  return send_to_process(m, of, slot, signal_information(number, kByThread, sender(m)));
}
template <Machine M>
MYR_OUTLINE Result tkill(M& m) {
  const u32 thread = (u32)m.argument(0);
  return (i32)thread <= 0 ? error(kEINVAL) : kill_thread(m, 0, thread, (u32)m.argument(1));
}
template <Machine M>
MYR_OUTLINE Result tgkill(M& m) {
  const u32 process = (u32)m.argument(0), thread = (u32)m.argument(1);
  if ((i32)process <= 0 || (i32)thread <= 0) return error(kEINVAL);
  return kill_thread(m, process, thread, (u32)m.argument(2));
}

constexpr u32 kWholeInformation = 128;  // bytes of siginfo_t
/// The siginfo_t at an address, whose number is replaced. Returns 0 or an error.
template <Machine M>
MYR_FN i64 load_information(const M& m, u64 address, u32 number, SignalInformation& information) {
  if (!readable(m, address, kWholeInformation)) return -kEFAULT;
  for (u32 i = 0; i < kInformationWords; i++) information.words[i] = load<u64>(m, address + i * 8);
  information.words[0] = (information.words[0] >> 32 << 32) | number;
  return 0;
}
template <Machine M>
MYR_OUTLINE Result rt_sigqueueinfo(M& m) {
  const u32 process = (u32)m.argument(0), number = (u32)m.argument(1);
  SignalInformation information;
  if (const i64 failed = load_information(m, m.argument(2), number, information); failed < 0) return answer(failed);
  const i32 code = (i32)information.words[1];
  if (process != process_id(m) && (code >= 0 || code == kByThread)) return error(kEPERM);
  const u32 slot = find_process(m, process);
  return slot == kNoProcess ? error(kESRCH) : send_to_process(m, slot, kNoThread, information);
}
template <Machine M>
MYR_OUTLINE Result rt_tgsigqueueinfo(M& m) {
  const u32 process = (u32)m.argument(0), thread = (u32)m.argument(1), number = (u32)m.argument(2);
  SignalInformation information;
  if (const i64 failed = load_information(m, m.argument(3), number, information); failed < 0) return answer(failed);
  if ((i32)process <= 0 || (i32)thread <= 0) return error(kEINVAL);
  const i32 code = (i32)information.words[1];
  if (thread != thread_id(m) && (code >= 0 || code == kByThread)) return error(kEPERM);
  const u32 slot = find_thread(m, thread);
  if (slot == kNoThread || (u32)head(m, slot, kHeadProcess) != find_process(m, process)) return error(kESRCH);
  return send_to_process(m, (u32)head(m, slot, kHeadProcess), slot, information);
}

template <Machine M>
MYR_OUTLINE Result rt_sigaction(M& m) {
  const u32 number = (u32)m.argument(0);
  const u64 next = m.argument(1), old = m.argument(2);
  if (m.argument(3) != kSignalSetBytes) return error(kEINVAL);
  if (next != 0 && !readable(m, next, kActionBytes)) return error(kEFAULT);
  if (number < 1 || number > kMostSignals) return error(kEINVAL);
  if (next != 0 && (unblockable_signals() & signal_bit(number))) return error(kEINVAL);
  const Storing storing = old == 0 ? Storing::allowed : prepare(m, old, kActionBytes);
  if (storing == Storing::again) return again();
  const u32 known_at = action_word(number);
  if (next != 0 && !(own_words(m, known_at, kActionBytes) && own_signals(m))) return again();
  const bool stores = old != 0 && storing == Storing::allowed;
  constexpr u32 kWords = kActionBytes / 8;
  u64 action[kWords];  // both structures may lie at the same place
  for (u32 i = 0; i < kWords && next != 0; i++) action[i] = load<u64>(m, next + i * 8);
  if (next != 0) {
    action[kActionFlags / 8] &= kKnownActionFlags;
    action[kActionMask / 8] &= ~unblockable_signals();
  }
  for (u32 i = 0; i < kWords; i++) {
    const u64 known = word(m, known_at + i * 8);
    if (next != 0) set_word(m, known_at + i * 8, action[i]);
    if (stores) store<u64>(m, old + i * 8, known);
  }
  if (next != 0 && is_ignored(m, number)) drop_signals(m, signal_bit(number));
  else if (next != 0 && timer_count(m) != 0) heed_timers(m, number);
  // As on Linux, the new action has taken effect even if the old one cannot be stored.
  return storing == Storing::refused ? error(kEFAULT) : answer(0);
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
  const Storing storing = old == 0 ? Storing::allowed : prepare(m, old, kSignalSetBytes);
  if (storing == Storing::again || !own_word(m, kBlocked)) return again();
  set_word(m, kBlocked, mask);
  if (old != 0 && storing == Storing::allowed) store<u64>(m, old, blocked);
  return storing == Storing::refused ? error(kEFAULT) : answer(0);
}

template <Machine M>
MYR_OUTLINE Result rt_sigpending(M& m) {
  const u64 address = m.argument(0), size = m.argument(1), pending = pending_signals(m) & word(m, kBlocked);
  if (size > kSignalSetBytes) return error(kEINVAL);
  const Storing storing = prepare(m, address, size);
  if (storing != Storing::allowed) return not_stored(storing);
  for (u32 i = 0; i < size; i++) store<u8>(m, address + i, (u8)(pending >> 8 * i));
  return answer(0);
}

template <Machine M>
MYR_OUTLINE Result rt_sigsuspend(M& m) {
  if (m.argument(1) != kSignalSetBytes) return error(kEINVAL);
  if (!readable(m, m.argument(0), kSignalSetBytes)) return error(kEFAULT);
  const u64 mask = load<u64>(m, m.argument(0)) & ~unblockable_signals();
  const Wait wait = wait_for_signal(m, mask, kNever);
  if (wait.end == WaitEnd::never) return error(kEDEADLK);
  if (wait.end == WaitEnd::begins) return begin_sleep(m, wait, mask);
  if (!own_word(m, kBlocked)) return again();
  return interrupt(m, wait, mask, true);
}

/// The signal among `set` that a process takes, waiting for at most a time: sigtimedwait(2).
template <Machine M>
MYR_OUTLINE Result rt_sigtimedwait(M& m) {
  const u64 to = m.argument(1), limit = m.argument(2);
  if (m.argument(3) != kSignalSetBytes) return error(kEINVAL);
  if (!readable(m, m.argument(0), kSignalSetBytes)) return error(kEFAULT);
  const u64 set = load<u64>(m, m.argument(0)) & ~unblockable_signals();
  const i64 most = limit == 0 ? 0 : duration(m, limit);
  if (most < 0) return answer(most);
  NextSignal next = next_signal(m, set);
  Wait wait = {WaitEnd::signal, 0};
  bool takes_sent = false;  // what a timer sends meanwhile
  if (next.number == 0) {
    // The signals of `set` are let through for this time. One that was not blocked before is dropped if it is ignored.
    const u64 blocked = word(m, kBlocked), longest = limit == 0 ? kNever : (u64)most;
    const SentSignal sent = time_to_signal(m, set);
    const bool waits = sent.number != 0 && ((blocked & signal_bit(sent.number)) || !is_ignored(m, sent.number));
    takes_sent = !waits_among_others(m) && waits && sent.time < longest && interrupting_signal(m, blocked & ~set) == 0;
    wait = takes_sent ? Wait{WaitEnd::signal, sent.time} : wait_for_signal(m, blocked & ~set, longest);
    if (wait.end == WaitEnd::never) return error(kEDEADLK);
    if (wait.end == WaitEnd::begins) return begin_sleep(m, wait, blocked & ~set, set);
  }
  const Storing storing = to == 0 ? Storing::allowed : prepare(m, to, kWholeInformation);
  if (storing == Storing::again || !own_signals(m)) return again();
  pass_time(m, wait.time);
  if (takes_sent) {
    expire_timers(m);
    next = next_signal(m, set);
  }
  if (next.number == 0) return error(wait.end == WaitEnd::signal ? kEINTR : kEAGAIN);
  const SignalInformation information = take_signal(m, next);
  if (storing == Storing::refused) return error(kEFAULT);
  for (u32 i = 0; i < kWholeInformation / 8 && to != 0; i++) {
    store<u64>(m, to + i * 8, i < kInformationWords ? information.words[i] : 0);
  }
  return answer(next.number);
}

template <Machine M>
MYR_OUTLINE Result sigaltstack(M& m) {
  const u64 next = m.argument(0), old = m.argument(1);
  const SignalStack known = signal_stack(m);
  if (next != 0) {
    if (!readable(m, next, kStackBytes)) return error(kEFAULT);
    if (const i64 refused = change_signal_stack(m, signal_stack_at(m, next), false); refused < 0)
      return answer(refused);
  }
  const Storing storing = old == 0 ? Storing::allowed : prepare(m, old, kStackBytes);
  if (storing == Storing::again || (next != 0 && !own_word(m, kSignalStack))) return again();
  if (next != 0) (void)change_signal_stack(m, signal_stack_at(m, next), true);
  // As on Linux, the new stack is the process's.
  if (storing == Storing::refused) return error(kEFAULT);
  if (old != 0) {
    store_words(m, old, known.begin, known.shown_flags(m.x(kSlotSP)));
    store<u64>(m, old + 16, known.size);
  }
  return answer(0);
}

/// The lane goes on where the frame at its SP says, with those registers and that mask.
template <Machine M>
MYR_OUTLINE Result rt_sigreturn(M& m) {
  constexpr u64 kFlagBits = 0xF0000000;
  // Bits of PSTATE that make it another mode than EL0 of AArch64: M, and the masks of interrupts.
  constexpr u64 kRefusedBits = 0x3DF;
  const u64 sp = m.x(kSlotSP), frame = sp;
  const bool whole = (sp & 15) == 0 && readable(m, frame, kFrameBytes);
  const u64 pstate = whole ? load<u64>(m, frame + kFramePstate) : 0;
  const u64 vectors = whole && !(pstate & kRefusedBits) ? find_vectors(m, frame) : 0;
  if (!own_forced(m, kSignalSegment)) return again();
  if (whole) {
    set_word(m, kBlocked, load<u64>(m, frame + kFrameMask) & ~unblockable_signals());
    for (u32 n = 0; n <= kSlotSP; n++) m.set_x(n, load<u64>(m, frame + kFrameRegisters + n * 8));
    m.set_pc(load<u64>(m, frame + kFramePc));
    m.set_nzcv((u32)((pstate & kFlagBits) >> 28));
  }
  m.set_system(SystemField::monitor, kMonitorOpen);
  if (vectors == 0) {
    // As on Linux, the registers are those of the frame.
    m.set_x(0, 0);
    force_signal(m, bad_frame(m, m.x(kSlotSP)));
    return replaced(0);
  }
  m.set_system(SystemField::fpsr, load<u32>(m, vectors + 8) & kFpsrMask);
  m.set_system(SystemField::fpcr, load<u32>(m, vectors + 12) & kFpcrMask);
  for (u32 n = 0; n < 32; n++) {
    for (u32 half = 0; half < 2; half++) m.set_v(n, half, load<u64>(m, vectors + 16 + n * 16 + half * 8));
  }
  // By the stack pointer of the frame; a stack that cannot be is not taken.
  (void)change_signal_stack(m, signal_stack_at(m, frame + kFrameStack), true);
  return replaced((i64)m.x(0));
}

/// restart_syscall(2), which the kernel makes for a process that it lets go on with a call. No call needs that here.
template <Machine M>
MYR_FN Result restart_syscall(M&) {
  return error(kEINTR);
}

}  // namespace myriarm::kernel
