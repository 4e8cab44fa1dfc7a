// SPDX-License-Identifier: Apache-2.0
// Threads: how they begin (clone(2)) and leave, and what is theirs.
#pragma once

#include "kernel/futex_calls.h"

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
  u64 flags, stack, parent_id, child_id, tls;
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

/// An id that no thread has; own_heads() must have returned true.
template <Machine M>
MYR_FN u32 new_thread_id(M& m) {
  u32 id = (u32)greater(word(m, kNewestThread), kProcessId);
  do {
    id = id < kMostThreadId ? id + 1 : kProcessId + 1;
  } while (find_thread(m, id) != kNoThread);
  set_word(m, kNewestThread, id);
  return id;
}

/// A thread like the one that makes the call, which goes on.
template <Machine M>
MYR_OUTLINE Result begin_thread(M& m, const CloneRequest& request) {
  const u32 slots = thread_slots(m);
  u32 slot = slots == 0 ? 1 : 0;
  while (slot < slots && head(m, slot, kHeadThread) != 0) slot++;
  if (slot >= kMostThreads) return error(kEAGAIN);
  const bool tells_parent = (request.flags & kCloneStoresInParent) != 0;
  const bool tells_child = (request.flags & kCloneStoresInChild) != 0;
  const Storing parent = tells_parent ? prepare(m, request.parent_id, 4) : Storing::refused;
  const Storing child = tells_child ? prepare(m, request.child_id, 4) : Storing::refused;
  if (parent == Storing::again || child == Storing::again || !own_heads(m) ||
      !own_words(m, kThreadHeads, (u64)(slot + 1) * kThreadHeadBytes) ||
      !own_words(m, thread_record(slot), kThreadRecordBytes)) {
    return again();
  }
  if (slots == 0) {
    set_word(m, kThreads, 1);
    set_word(m, kNextWake, kNever);
    set_head(m, kFirstThread, kHeadThread, thread_id(m));
    set_head(m, kFirstThread, kHeadState, (u64)ThreadState::running);
  }
  const u32 id = new_thread_id(m);
  if (slot >= slots) set_word(m, kThreadSlots, slot + 1);
  set_word(m, kThreads, word(m, kThreads) + 1);
  save_thread(m, slot);
  const u64 record = thread_record(slot);
  set_word(m, record, 0);
  if (request.stack != 0) set_word(m, record + kSlotSP * 8, request.stack);
  if (request.flags & kCloneSetsTls) set_word(m, record + kRecordTpidr, request.tls);
  set_thread_word(m, slot, kThread, id);
  set_thread_word(m, slot, kPending, 0);
  set_thread_word(m, slot, kMaskIsSaved, 0);
  set_thread_word(m, slot, kSignalStack, 0);
  set_thread_word(m, slot, kSignalStack + 8, 0);
  set_thread_word(m, slot, kSignalStack + 16, kNoStack);
  set_thread_word(m, slot, kWaitState, (u64)WaitState::none);
  set_thread_word(m, slot, kClearThread, request.flags & kCloneClears ? request.child_id : 0);
  set_thread_word(m, slot, kRobustList, 0);
  set_thread_word(m, slot, kThreadRan, 0);
  // It resets policies and nice values that this user cannot have.
  set_thread_word(m, slot, kPolicy, thread_word(m, slot, kPolicy) & ~kResetsOnFork);
  set_head(m, slot, kHeadThread, id);
  make_ready(m, slot);
  // As on Linux, a place to which nobody may write is left out.
  if (parent == Storing::allowed) store<u32>(m, request.parent_id, id);
  if (child == Storing::allowed) store<u32>(m, request.child_id, id);
  return answer(id);
}

/// What a request makes.
template <Machine M>
MYR_OUTLINE Result begin_clone(M& m, const CloneRequest& request) {
  if (const i64 refused = clone_refused(request.flags); refused < 0) return answer(refused);
  constexpr u64 kShared = kCloneThread | kCloneFolders | kCloneFiles;
  if ((request.flags & kShared) != kShared || (request.flags & kCloneVfork)) return missing();
  return begin_thread(m, request);
}

template <Machine M>
MYR_OUTLINE Result clone(M& m) {
  const u64 flags = (u32)m.argument(0);
  if ((flags & kClonePidfd) && (flags & kCloneStoresInParent)) return error(kEINVAL);
  return begin_clone(m, {flags & ~(u64)kCloneSignal, m.argument(1), m.argument(2), m.argument(4), m.argument(3)});
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
  return begin_clone(m, {flags, stack + stack_size, part(kParentId), part(kChildId), part(kTls)});
}

template <Machine M>
MYR_FN Result exit_group(M& m) {
  return ended((u32)m.argument(0) & 0xff);
}
/// exit(2) ends the thread, and the process with the last one: as on Linux since 5.18, with its status.
template <Machine M>
MYR_OUTLINE Result exit(M& m) {
  if (!has_threads(m)) return exit_group(m);
  const u64 clears = word(m, kClearThread);
  if (!own_signals(m) || !own_locks(m) || prepare(m, clears, 4) == Storing::again) return again();
  release_locks(m);
  if (accessible(m, clears, 4, kPageWritable) == 4 && clears != 0) {
    store<u32>(m, clears, 0);
    if (clears % 4 == 0) (void)wake(m, futex_key(WaitOn::futex, clears, false), 1);
  }
  drop_signals_of_thread(m);
  set_word(m, kThreads, word(m, kThreads) - 1);
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
