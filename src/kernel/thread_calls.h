// SPDX-License-Identifier: Apache-2.0
// Threads: how they begin (clone(2)) and leave, and what is theirs.
#pragma once

#include "kernel/futex_calls.h"
#include "kernel/signal_frame.h"
#include "kernel/thread_switch.h"

namespace myriarm::kernel {

// clang-format off
enum CloneFlag : u64 { kCloneSignal = 0xFF, kCloneMemory = 0x100, kCloneFolders = 0x200, kCloneFiles = 0x400, kCloneHandlers = 0x800,
                       kClonePidfd = 0x1000, kCloneTraced = 0x2000, kCloneVfork = 0x4000, kCloneParent = 0x8000, kCloneThread = 0x10000,
                       kCloneMounts = 0x20000, kCloneSemaphores = 0x40000, kCloneSetsTls = 0x80000, kCloneStoresInParent = 0x100000,
                       kCloneClears = 0x200000, kCloneDetached = 0x400000, kCloneUntraced = 0x800000, kCloneStoresInChild = 0x1000000,
                       kCloneGroup = 0x2000000, kCloneNames = 0x4000000, kCloneQueues = 0x8000000, kCloneUsers = 0x10000000,
                       kCloneProcesses = 0x20000000, kCloneNetwork = 0x40000000, kCloneIo = 0x80000000,
                       kCloneClearsHandlers = 0x100000000, kCloneIntoGroup = 0x200000000, kCloneFlags = 0x3FFFFFFFF };
// clang-format on
constexpr u64 kCloneNamespaces =
    kCloneMounts | kCloneGroup | kCloneNames | kCloneQueues | kCloneUsers | kCloneProcesses | kCloneNetwork;

/// What clone() and clone3() ask for. `stack`: 0: that of the caller.
struct CloneRequest {
  u64 flags, stack, parent_id, child_id, tls, signal;
};

/// What is wrong with the flags of both calls, as an error; 0 if nothing is.
MYR_FN i64 clone_refused(u64 flags) {
  const auto has = [&](u64 all) { return (flags & all) == all; };
  if (has(kCloneMounts | kCloneFolders) || has(kCloneUsers | kCloneFolders)) return -kEINVAL;
  if (has(kCloneThread) && !has(kCloneHandlers)) return -kEINVAL;
  if (has(kCloneHandlers) && !has(kCloneMemory)) return -kEINVAL;
  if (has(kCloneThread) && (flags & (kCloneUsers | kCloneProcesses))) return -kEINVAL;
  if (has(kCloneHandlers | kCloneClearsHandlers)) return -kEINVAL;
  if (has(kClonePidfd) && (flags & (kCloneThread | kCloneDetached))) return -kEINVAL;
  return flags & kCloneNamespaces ? -(i64)kEPERM : 0;
}

/// Whether a process, a group or a session has this id.
template <Machine M>
MYR_OUTLINE bool is_id_of_processes(const M& m, u32 id) {
  const u32 slots = process_slots(m);
  for (u32 slot = 0; slot < slots; slot++) {
    if (process_part(m, slot, kRecordProcess) == 0) continue;
    for (const u32 part : {(u32)kRecordProcess, (u32)kProcessGroup, (u32)kProcessSession}) {
      if ((u32)process_part(m, slot, part) == id) return true;
    }
  }
  return false;
}
/// An id that no thread has; own_heads() must have returned true.
template <Machine M>
MYR_FN u32 new_thread_id(M& m) {
  u32 id = (u32)greater(word(m, kNewestThread), kProcessId);
  do {
    id = id < kMostThreadId ? id + 1 : kProcessId + 1;
  } while (find_thread(m, id) != kNoThread || is_id_of_processes(m, id));
  set_word(m, kNewestThread, id);
  return id;
}

/// A free slot; kMostThreads if there is none.
template <Machine M>
MYR_FN u32 free_thread_slot(const M& m) {
  const u32 slots = thread_slots(m);
  u32 slot = slots == 0 ? 1 : 0;
  while (slot < slots && head(m, slot, kHeadThread) != 0) slot++;
  return slot;
}
/// To be called, and to have returned true, before make_thread().
template <Machine M>
MYR_FN bool own_new_thread(M& m, u32 slot) {
  return own_heads(m) && own_words(m, kThreadHeads, (u64)(slot + 1) * kThreadHeadBytes) &&
         own_words(m, thread_record(slot), kThreadRecordBytes);
}
/// Makes a thread like the one that runs, with x0 = 0 and a new id, which it returns. It is not ready yet.
template <Machine M>
MYR_OUTLINE u32 make_thread(M& m, const CloneRequest& request, u32 slot) {
  if (thread_slots(m) == 0) {
    set_word(m, kThreads, 1);
    set_word(m, kThreadSlots, 1);
    set_word(m, kNextWake, kNever);
    set_head(m, 0, kHeadThread, thread_id(m));
    set_head(m, 0, kHeadState, (u64)ThreadState::running);
  }
  const u32 id = new_thread_id(m);
  if (slot >= thread_slots(m)) set_word(m, kThreadSlots, slot + 1);
  set_word(m, kThreads, word(m, kThreads) + 1);
  save_thread(m, slot);
  const u64 record = thread_record(slot);
  set_word(m, record, 0);
  if (request.stack != 0) set_word(m, record + kSlotSP * 8, request.stack);
  if (request.flags & kCloneSetsTls) set_word(m, record + kRecordTpidr, request.tls);
  set_thread_word(m, slot, kThread, id);
  set_thread_word(m, slot, kPending, 0);
  set_thread_word(m, slot, kMaskIsSaved, 0);
  set_thread_word(m, slot, kWaitState, (u64)WaitState::none);
  set_thread_word(m, slot, kClearThread, request.flags & kCloneClears ? request.child_id : 0);
  set_thread_word(m, slot, kRobustList, 0);
  set_thread_word(m, slot, kThreadRan, 0);
  // It resets policies and nice values that this user cannot have.
  set_thread_word(m, slot, kPolicy, thread_word(m, slot, kPolicy) & ~kResetsOnFork);
  set_head(m, slot, kHeadThread, id);
  set_head(m, slot, kHeadProcess, current_process(m));
  return id;
}

/// A thread like the one that makes the call, which goes on.
template <Machine M>
MYR_OUTLINE Result begin_thread(M& m, const CloneRequest& request) {
  const u32 slot = free_thread_slot(m);
  if (slot >= kMostThreads) return error(kEAGAIN);
  const bool tells_parent = (request.flags & kCloneStoresInParent) != 0;
  const bool tells_child = (request.flags & kCloneStoresInChild) != 0;
  const Storing parent = tells_parent ? prepare(m, request.parent_id, 4) : Storing::refused;
  const Storing child = tells_child ? prepare(m, request.child_id, 4) : Storing::refused;
  if (parent == Storing::again || child == Storing::again || !own_new_thread(m, slot)) return again();
  const u32 id = make_thread(m, request, slot);
  set_thread_word(m, slot, kSignalStack, 0);
  set_thread_word(m, slot, kSignalStack + 8, 0);
  set_thread_word(m, slot, kSignalStack + 16, kNoStack);
  set_word(m, kProcessThreads, process_threads(m) + 1);
  make_ready(m, slot);
  // As on Linux, a place to which nobody may write is left out.
  if (parent == Storing::allowed) store<u32>(m, request.parent_id, id);
  if (child == Storing::allowed) store<u32>(m, request.child_id, id);
  return answer(id);
}

template <Machine M>
MYR_FN Result exit_group(M& m) {
  return ended((u32)m.argument(0) & 0xff);
}
/// exit(2) ends the thread, and the process with the last one: as on Linux since 5.18, with its status.
template <Machine M>
MYR_OUTLINE Result exit(M& m) {
  if (process_threads(m) == 1) return exit_group(m);
  const u64 clears = word(m, kClearThread);
  if (!own_signals(m) || !own_locks(m) || prepare(m, clears, 4) == Storing::again) return again();
  release_locks(m);
  if (accessible(m, clears, 4, kPageWritable) == 4 && clears != 0) {
    store<u32>(m, clears, 0);
    if (clears % 4 == 0) (void)wake(m, futex_key(m, WaitOn::futex, clears, false), 1);
  }
  drop_signals_of_thread(m);
  set_word(m, kThreads, word(m, kThreads) - 1);
  set_word(m, kProcessThreads, process_threads(m) - 1);
  set_word(m, kWaitState, (u64)WaitState::leaves);
  return {0, Served::waits};
}

template <Machine M>
MYR_FN Result gettid(M& m) {
  return answer(thread_id(m));
}
template <Machine M>
MYR_FN Result set_tid_address(M& m) {
  if (!own_word(m, kClearThread)) return again();
  set_word(m, kClearThread, m.argument(0));
  return answer(thread_id(m));
}

constexpr u64 kRobustHeadBytes = 24;  // struct robust_list_head
template <Machine M>
MYR_FN Result set_robust_list(M& m) {
  if (m.argument(1) != kRobustHeadBytes) return error(kEINVAL);
  if (!own_word(m, kRobustList)) return again();
  set_word(m, kRobustList, m.argument(0));
  return answer(0);
}
template <Machine M>
MYR_OUTLINE Result get_robust_list(M& m) {
  const u32 id = (u32)m.argument(0), slot = id == 0 ? current_thread(m) : find_thread(m, id);
  if (slot == kNoThread) return error(kESRCH);
  const Storing size = prepare(m, m.argument(2), 8);
  if (size != Storing::allowed) return not_stored(size);
  const Storing list = prepare(m, m.argument(1), 8);
  if (list == Storing::again) return again();
  store<u64>(m, m.argument(2), kRobustHeadBytes);
  if (list == Storing::refused) return error(kEFAULT);
  store<u64>(m, m.argument(1), thread_word(m, slot, kRobustList));
  return answer(0);
}

}  // namespace myriarm::kernel
