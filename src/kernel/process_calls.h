// SPDX-License-Identifier: Apache-2.0
// How processes begin (clone(2), vfork(2)) and end, in a lane that has several. When the first one ends, so does the lane, with
// all that is left of the others. docs/design/processes.md.
#pragma once

#include "kernel/descriptor_calls.h"
#include "kernel/identity_calls.h"
#include "kernel/thread_calls.h"

namespace myriarm::kernel {

/// The record of the first process, when a second one begins, after own_processes().
template <Machine M>
MYR_FN void make_first_record(M& m) {
  if (has_processes(m)) return;
  for (const u32 part : {(u32)kRecordProcess, (u32)kProcessGroup, (u32)kProcessSession}) {
    set_process_part(m, kFirstProcess, part, kProcessId);
  }
  set_process_part(m, kFirstProcess, kProcessParent, kParentId);
  set_word(m, kProcessSlots, 1);
}

template <Machine M>
MYR_FN u32 free_process_slot(const M& m) {
  const u32 slots = process_slots(m);
  u32 slot = 1;
  while (slot < slots && process_part(m, slot, kRecordProcess) != 0) slot++;
  return slot;
}

/// What the record of a new process says.
template <Machine M>
MYR_OUTLINE void make_process(M& m, u32 slot, u32 id, u32 space, u64 signal) {
  make_first_record(m);
  const u32 parent = current_process(m);
  for (u32 part = 0; part < kProcessRecordBytes; part += 8) set_process_part(m, slot, part, 0);
  set_process_part(m, slot, kRecordProcess, id);
  set_process_part(m, slot, kProcessParent, process_id(m));
  set_process_part(m, slot, kProcessGroup, process_part(m, parent, kProcessGroup));
  set_process_part(m, slot, kProcessSession, process_part(m, parent, kProcessSession));
  set_process_part(m, slot, kProcessSpace, space);
  set_process_part(m, slot, kProcessAlarm, kNever);
  set_process_part(m, slot, kProcessFolder, word(m, kWorkingFolder));
  set_process_part(m, slot, kProcessSignal, signal);
  if (slot >= process_slots(m)) set_word(m, kProcessSlots, slot + 1);
}

/// The words of a process that has just begun, whose space runs.
template <Machine M>
MYR_OUTLINE void clear_process_words(M& m, u32 id) {
  set_word(m, kProcess, id);
  for (const u32 at : {(u32)kPendingShared, (u32)kQueuedSignals, (u32)kProcessThreads, (u32)kEnding, (u32)kChildrenRan,
                       (u32)kTimerCount, (u32)kNextTimer, (u32)kNextWorkTimer}) {
    set_word(m, at, 0);
  }
  set_word(m, kProcessFlags, word(m, kProcessFlags) & ~(u64)kNotForked);
  for (u32 at = kTimers; at < kTimers + kIntervalTimers * 16; at += 8) set_word(m, at, 0);
  set_word(m, kAway, m.retired());
  set_word(m, kLeftAt, m.retired());
}

template <Machine M>
MYR_OUTLINE bool own_all_holders(M& m) {
  for (u32 fd = 0; fd < kMostFiles; fd++) {
    if (file_at(m, fd) != 0 && !own_holders(m, stream_of(m, fd))) return false;
  }
  return true;
}

/// The pages that a child has in common with its parent get places of their own: those of zeros have none yet. False: abandoned.
template <Machine M>
MYR_OUTLINE bool own_shared_memory(M& m) {
  const u32 count = range_count(m);
  for (u32 i = 0; i < count; i++) {
    const Range range = range_at(m, i);
    if ((range.flags & (kSharedMemory | kSharedFile)) != kSharedMemory) continue;  // pages of files have theirs
    for (u64 at = range.begin; at < range.end; at += kPageSize) {
      if (!m.own_page(m.page_of(at))) return false;
    }
  }
  return true;
}

/// A process like the one that makes the call.
template <Machine M>
MYR_OUTLINE Result begin_process(M& m, const CloneRequest& request) {
  constexpr u64 kMeansNothing = kCloneSetsTls | kCloneStoresInParent | kCloneStoresInChild | kCloneClears |
                                kCloneUntraced | kCloneTraced | kCloneIo | kCloneSemaphores | kCloneDetached;
  if constexpr (HasSpaces<M>) {
    if (!m.has_spaces() || (request.flags & ~(kMeansNothing | kCloneMemory | kCloneVfork | kCloneClearsHandlers))) {
      return missing();
    }
    if (wait_state(m) != WaitState::none) return answer((i64)head(m, current_thread(m), kHeadBits));  // vfork() returns
    const u32 thread = free_thread_slot(m), process = free_process_slot(m);
    if (thread >= kMostThreads || process >= kMostProcesses) return error(kEAGAIN);
    const bool waits = (request.flags & kCloneVfork) != 0, borrows = (request.flags & kCloneMemory) != 0;
    const bool tells_child = (request.flags & kCloneStoresInChild) != 0;
    if (!own_new_thread(m, thread) || !own_processes(m) || !own_all_holders(m) || !own_shared_memory(m)) return again();
    u32 space;
    if (!m.make_space(borrows ? SpaceKind::borrow : SpaceKind::fork, space)) return again();
    // Pages that were own may not be any more.
    const u32 here = m.space();
    const Storing parent = (request.flags & kCloneStoresInParent) ? prepare(m, request.parent_id, 4) : Storing::refused;
    bool owned = parent != Storing::again && own_word(m, kThreads);
    m.enter_space(space);
    const Storing child = owned && tells_child ? prepare(m, request.child_id, 4) : Storing::refused;
    owned = owned && child != Storing::again && own_word(m, 0) && own_words(m, kActions, kMostSignals * kActionBytes);
    m.enter_space(here);
    if (!owned) {
      m.end_space(space);
      return again();
    }
    const u32 id = make_thread(m, request, thread);
    make_process(m, process, id, space, request.signal);
    set_head(m, thread, kHeadProcess, process);
    for (u32 fd = 0; fd < kMostFiles; fd++) hold(m, stream_of(m, fd));
    if (parent == Storing::allowed) store<u32>(m, request.parent_id, id);
    make_ready(m, thread);
    enter_space(m, space);
    clear_process_words(m, id);
    for (u32 signal = 1; signal <= kMostSignals && (request.flags & kCloneClearsHandlers); signal++) {
      if (word(m, action_word(signal)) != kIgnoreAction) set_word(m, action_word(signal), kDefaultAction);
    }
    if (child == Storing::allowed) store<u32>(m, request.child_id, id);
    enter_space(m, here);
    if (!waits) return answer(id);
    set_process_part(m, process, kProcessWaker, current_thread(m) + 1);
    return begin_wait(m, {WaitEnd::begins, 0, kNever}, ~(u64)0, wait_key(WaitOn::event, event_of_memory(process)), id);
  } else {
    (void)request;
    return missing();
  }
}

/// What a request makes.
template <Machine M>
MYR_OUTLINE Result begin_clone(M& m, const CloneRequest& request) {
  if (const i64 refused = clone_refused(request.flags); refused < 0) return answer(refused);
  constexpr u64 kShared = kCloneThread | kCloneFolders | kCloneFiles;
  if (!(request.flags & kCloneThread)) return begin_process(m, request);
  if ((request.flags & kShared) != kShared || (request.flags & kCloneVfork)) return missing();
  return begin_thread(m, request);
}

template <Machine M>
MYR_OUTLINE Result clone(M& m) {
  const u64 flags = (u32)m.argument(0);
  if ((flags & kClonePidfd) && (flags & kCloneStoresInParent)) return error(kEINVAL);
  return begin_clone(m, {flags & ~(u64)kCloneSignal, m.argument(1), m.argument(2), m.argument(4), m.argument(3),
                         flags & kCloneSignal});
}

template <Machine M>
MYR_OUTLINE Result clone3(M& m) {
  // Words of struct clone_args.
  enum Part : u32 {
    kFlags = 0,
    kChildId = 2,
    kParentId = 3,
    kExitSignal = 4,
    kStack = 5,
    kStackSize = 6,
    kTls = 7,
    kSetIds = 8,
    kSetIdCount = 9,
    kParts = 11
  };
  constexpr u64 kLeast = 64, kMostNamespaces = 32;
  const u64 address = m.argument(0), size = m.argument(1);
  if (size > kPageSize) return error(kE2BIG);
  if (size < kLeast) return error(kEINVAL);
  if (!readable(m, address, size)) return error(kEFAULT);
  const auto part = [&](u32 n) { return n * 8 + 8 <= size ? load<u64>(m, address + n * 8) : 0; };
  for (u64 at = kParts * 8; at < size; at++) {
    if (load<u8>(m, address + at) != 0) return error(kE2BIG);
  }
  const u64 flags = part(kFlags), stack = part(kStack), stack_size = part(kStackSize), signal = part(kExitSignal);
  if (part(kSetIdCount) > kMostNamespaces || (part(kSetIds) == 0) != (part(kSetIdCount) == 0)) return error(kEINVAL);
  if (signal > kMostSignals || (flags & ~(u64)kCloneFlags) || (flags & (kCloneDetached | kCloneSignal)))
    return error(kEINVAL);
  if ((flags & (kCloneThread | kCloneParent)) && signal != 0) return error(kEINVAL);
  if ((stack == 0) != (stack_size == 0) || stack + stack_size < stack) return error(kEINVAL);
  if (part(kSetIdCount) != 0) return error(kEPERM);
  return begin_clone(m, {flags, stack + stack_size, part(kParentId), part(kChildId), part(kTls), signal});
}

// ---- the end

/// Lets the thread go on that waits for a process to leave its memory, after own_heads() and own_processes().
template <Machine M>
MYR_FN void leave_memory(M& m, u32 process) {
  if (process_part(m, process, kProcessWaker) == 0) return;
  set_process_part(m, process, kProcessWaker, 0);
  (void)wake(m, wait_key(WaitOn::event, event_of_memory(process)), kMostThreads);
}

/// What wait4() shows of a process that has ended so.
MYR_FN u64 wait_status(u32 detail) {
  const u32 signal = detail - kKilledBySignal;
  return detail >= kKilledBySignal ? signal : (u64)detail << 8;
}
/// siginfo_t of SIGCHLD.
template <Machine M>
MYR_OUTLINE SignalInformation child_information(const M& m, u32 process, u32 number) {
  enum ChildCode : u32 { kExited = 1, kKilled = 2 };
  const u64 status = process_part(m, process, kProcessStatus);
  const u32 signal = (u32)status & 0x7f;
  SignalInformation information = signal_information(number, signal == 0 ? kExited : kKilled,
                                                     process_part(m, process, kRecordProcess) | (u64)kUserId << 32);
  information.words[3] = signal == 0 ? status >> 8 : signal;
  return information;
}

/// What is left of a process is gone: its parent has waited for it, or does not want to.
template <Machine M>
MYR_FN void forget_process(M& m, u32 slot) {
  set_process_part(m, slot, kRecordProcess, 0);
}

/// The threads of the process that runs are gone, but for the one that runs, which leaves. After own_heads().
template <Machine M>
MYR_OUTLINE void end_threads(M& m) {
  const u32 slots = thread_slots(m), current = current_thread(m);
  for (u32 slot = 0; slot < slots; slot++) {
    if (slot == current || !is_own_thread(m, slot)) continue;
    const ThreadState state = thread_state(m, slot);
    if (state == ThreadState::ready) set_word(m, kReadyThreads, word(m, kReadyThreads) - 1);
    if (state != ThreadState::gone) set_word(m, kThreads, word(m, kThreads) - 1);
    set_head(m, slot, kHeadThread, 0);
  }
}

/// Whether the parent, which is visited, wants nothing of its children but that they end: SIG_IGN or SA_NOCLDWAIT.
template <Machine M>
MYR_FN bool ignores_children(const M& m) {
  constexpr u64 kNoZombies = 2;
  return word(m, action_word(kSignalChild)) == kIgnoreAction ||
         (word(m, action_word(kSignalChild, kActionFlags)) & kNoZombies);
}

/// The slot of the process that gets the children of another one which ends.
template <Machine M>
MYR_FN u32 parent_of_process(const M& m, u32 slot) {
  const u32 parent = find_process(m, (u32)process_part(m, slot, kProcessParent));
  return parent == kNoProcess || !process_lives(m, parent) ? (u32)kFirstProcess : parent;
}

/// A process has ended: its parent is told. Its record must be complete, and the parent own.
template <Machine M>
MYR_OUTLINE void tell_parent(M& m, u32 slot) {
  const u32 parent = parent_of_process(m, slot), signal = (u32)process_part(m, slot, kProcessSignal);
  const SignalInformation information = child_information(m, slot, signal != 0 ? signal : (u32)kSignalChild);
  bool forgets;
  {
    const ProcessVisit<M> visit(m, parent);
    forgets = signal == kSignalChild && ignores_children(m);
    // clone() takes any number: as on Linux, one that is no signal is not sent.
    if (signal != 0 && signal <= kMostSignals) (void)send_to(m, kNoThread, information);
  }
  if (forgets) forget_process(m, slot);
  (void)wake(m, wait_key(WaitOn::event, event_of_children(parent)), kMostThreads);
}

/// The process that runs ends, with what Stop::detail would be of a lane. The result is `ended` if the lane ends with it, or else
/// `waits`, or `again`: then it is to be called again, whatever the process was about to do.
template <Machine M>
MYR_OUTLINE Result end_process(M& m, u32 detail) {
  if constexpr (HasSpaces<M>) {
    const u32 slot = current_process(m);
    if (slot == kFirstProcess) return ended(detail);
    if (!own_word(m, kEnding)) return again();
    set_word(m, kEnding, (u64)detail + 1);
    const u32 folder = (u32)word(m, kWorkingFolder);
    if (!own_signals(m) || !own_processes(m) || !own_locks(m) || !own_all_files(m, false) || !plan_leave(m, folder)) {
      return again();
    }
    const u32 slots = process_slots(m);
    bool owned = own_process(m, kFirstProcess) && own_process(m, parent_of_process(m, slot));
    if (!owned) return again();
    release_locks(m);
    close_all(m, false);
    set_word(m, kWorkingFolder, 0);
    drop_file(m, folder);
    for (u32 at = kTimers; at < kTimers + kIntervalTimers * 16; at += 16) set_word(m, at, 0);
    forget_timers(m);
    end_threads(m);
    leave_memory(m, slot);
    set_process_part(m, slot, kProcessState, (u64)ProcessState::zombie);
    set_process_part(m, slot, kProcessStatus, wait_status(detail));
    set_process_part(m, slot, kProcessRan, process_time(m) + word(m, kChildrenRan));
    set_word(m, kEnding, 0);
    set_word(m, kPending, 0);
    set_word(m, kPendingShared, 0);
    set_word(m, kMaskIsSaved, 0);
    set_word(m, kThreads, word(m, kThreads) - 1);
    set_word(m, kWaitState, (u64)WaitState::leaves);
    const u32 id = process_id(m);
    for (u32 child = 0; child < slots; child++) {
      if (process_part(m, child, kRecordProcess) == 0 || (u32)process_part(m, child, kProcessParent) != id) continue;
      set_process_part(m, child, kProcessParent, kProcessId);
      set_process_part(m, child, kProcessSignal, kSignalChild);  // another one could end its new parent
      if ((ProcessState)process_part(m, child, kProcessState) == ProcessState::zombie) tell_parent(m, child);
    }
    tell_parent(m, slot);
    return {0, Served::waits};
  } else {
    return ended(detail);
  }
}

/// What becomes of a result: a process that has ended may not be all of the lane.
template <Machine M>
MYR_FN Result finish(M& m, const Result& result) {
  return result.served == Served::ended ? end_process(m, (u32)result.value) : result;
}

}  // namespace myriarm::kernel
