// SPDX-License-Identifier: Apache-2.0
// wait4 and waitid: a process waits for its children to end. Nothing stops a process here, so nothing lets one go on.
#pragma once

#include "kernel/process_calls.h"

namespace myriarm::kernel {

// clang-format off
enum WaitOption : u32 { kWaitNotAtAll = 1, kWaitStopped = 2, kWaitEnded = 4, kWaitContinued = 8, kWaitLeaves = 0x01000000,
                        kWaitOwnThread = 0x20000000, kWaitAll = 0x40000000, kWaitClones = 0x80000000 };
// clang-format on

/// Which children a call waits for.
struct ChildSet {
  u32 process, group;  // 0: any
  u32 options;
};
template <Machine M>
MYR_OUTLINE bool is_child(const M& m, u32 slot, const ChildSet& set) {
  const u32 id = (u32)process_part(m, slot, kRecordProcess);
  if (id == 0 || (u32)process_part(m, slot, kProcessParent) != process_id(m)) return false;
  if (set.process != 0 && id != set.process) return false;
  if (set.group != 0 && (u32)process_part(m, slot, kProcessGroup) != set.group) return false;
  const bool clone = process_part(m, slot, kProcessSignal) != kSignalChild;
  return (set.options & kWaitAll) || clone == ((set.options & kWaitClones) != 0);
}

/// The child that has ended and began first; kNoProcess if none has. `any`: there are children.
template <Machine M>
MYR_OUTLINE u32 ended_child(const M& m, const ChildSet& set, bool& any) {
  const u32 slots = process_slots(m);
  u32 first = kNoProcess;
  any = false;
  for (u32 slot = 0; slot < slots; slot++) {
    if (!is_child(m, slot, set)) continue;
    any = true;
    if (process_lives(m, slot)) continue;
    if (first == kNoProcess || process_part(m, slot, kRecordProcess) < process_part(m, first, kRecordProcess))
      first = slot;
  }
  return first;
}

constexpr u32 kUsageWords = 18;  // struct rusage, which begins with the user time
template <Machine M>
MYR_FN void store_usage(M& m, u64 address, u64 time) {
  clear_words(m, address, kUsageWords);
  store_words(m, address, time / kNanoseconds, time % kNanoseconds / 1000);
}

/// No child has ended yet: what the call does instead.
template <Machine M>
MYR_OUTLINE Result wait_for_child(M& m) {
  const Wait wait = wait_for_signal(m, word(m, kBlocked), kNever);
  if (wait.end == WaitEnd::never) return error(kEDEADLK);  // Linux would wait forever
  if (wait.end == WaitEnd::begins) {
    return begin_wait(m, wait, word(m, kBlocked), wait_key(WaitOn::event, event_of_children(current_process(m))));
  }
  if (!own_word(m, kBlocked)) return again();
  return interrupt_or_restart(m, wait);
}

/// The child is waited for, after own_processes() and own_word(kChildrenRan).
template <Machine M>
MYR_FN void reap(M& m, u32 slot, bool leaves) {
  if (leaves) return;
  set_word(m, kChildrenRan, word(m, kChildrenRan) + process_part(m, slot, kProcessRan));
  forget_process(m, slot);
}

template <Machine M>
MYR_OUTLINE Result wait4(M& m) {
  const i32 named = (i32)m.argument(0);
  const u64 status = m.argument(1), usage = m.argument(3);
  const u32 options = (u32)m.argument(2);
  constexpr u32 kKnown = kWaitNotAtAll | kWaitStopped | kWaitContinued | kWaitOwnThread | kWaitAll | kWaitClones;
  if (options & ~kKnown) return error(kEINVAL);
  if ((u32)named == 0x80000000) return error(kESRCH);
  const u32 group = named == 0 ? own_part(m, kProcessGroup, kProcessId) : named < -1 ? (u32)-named : 0;
  const ChildSet set = {named > 0 ? (u32)named : 0, group, options};
  bool any;
  const u32 slot = ended_child(m, set, any);
  if (!any) return error(kECHILD);
  if (slot == kNoProcess) return (options & kWaitNotAtAll) ? answer(0) : wait_for_child(m);
  const Storing status_storing = status == 0 ? Storing::allowed : prepare(m, status, 4);
  const Storing usage_storing = usage == 0 ? Storing::allowed : prepare(m, usage, kUsageWords * 8);
  if (status_storing == Storing::again || usage_storing == Storing::again || !own_processes(m) ||
      !own_word(m, kChildrenRan)) {
    return again();
  }
  const u64 id = process_part(m, slot, kRecordProcess), how = process_part(m, slot, kProcessStatus),
            ran = process_part(m, slot, kProcessRan);
  reap(m, slot, false);
  // As on Linux, the child has been waited for.
  if (status != 0 && status_storing == Storing::allowed) store<u32>(m, status, (u32)how);
  if (usage != 0 && usage_storing == Storing::allowed) store_usage(m, usage, ran);
  if (status_storing == Storing::refused || usage_storing == Storing::refused) return error(kEFAULT);
  return answer((i64)id);
}

template <Machine M>
MYR_OUTLINE Result waitid(M& m) {
  enum IdKind : u32 { kAny = 0, kOfProcess = 1, kOfGroup = 2 };
  const u32 kind = (u32)m.argument(0), options = (u32)m.argument(3);
  const i32 named = (i32)m.argument(1);
  const u64 to = m.argument(2), usage = m.argument(4);
  constexpr u32 kStored = 28;
  constexpr u32 kKnown = kWaitNotAtAll | kWaitStopped | kWaitEnded | kWaitContinued | kWaitLeaves | kWaitOwnThread |
                         kWaitAll | kWaitClones;
  if ((options & ~kKnown) || !(options & (kWaitEnded | kWaitStopped | kWaitContinued))) return error(kEINVAL);
  if (kind > kOfGroup + 1) return error(kEINVAL);
  if (kind > kOfGroup) return error(kEBADF);
  if ((kind == kOfProcess && named <= 0) || (kind == kOfGroup && named < 0)) return error(kEINVAL);
  const u32 own_group = own_part(m, kProcessGroup, kProcessId);
  const ChildSet set = {kind == kOfProcess ? (u32)named : 0,
                        kind != kOfGroup ? 0u
                        : named == 0     ? own_group
                                         : (u32)named,
                        options};
  bool any;
  u32 slot = ended_child(m, set, any);
  if (!any) return error(kECHILD);
  if (!(options & kWaitEnded)) slot = kNoProcess;
  if (slot == kNoProcess && !(options & kWaitNotAtAll)) return wait_for_child(m);
  const Storing storing = to == 0 ? Storing::allowed : prepare(m, to, kStored);
  const bool uses = usage != 0 && slot != kNoProcess;
  const Storing usage_storing = uses ? prepare(m, usage, kUsageWords * 8) : Storing::allowed;
  if (storing == Storing::again || usage_storing == Storing::again || !own_processes(m) || !own_word(m, kChildrenRan)) {
    return again();
  }
  SignalInformation information = {};
  u64 ran = 0;
  if (slot != kNoProcess) {
    information = child_information(m, slot, kSignalChild);
    ran = process_part(m, slot, kProcessRan);
    reap(m, slot, (options & kWaitLeaves) != 0);
  }
  if (uses && usage_storing == Storing::allowed) store_usage(m, usage, ran);
  if (storing == Storing::refused || usage_storing == Storing::refused) return error(kEFAULT);
  if (to == 0) return answer(0);
  store_words(m, to, information.words[0], (u32)information.words[1]);
  store<u64>(m, to + 16, information.words[2]);
  store<u32>(m, to + 24, (u32)information.words[3]);
  return answer(0);
}

}  // namespace myriarm::kernel
