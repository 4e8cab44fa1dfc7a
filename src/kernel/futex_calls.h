// SPDX-License-Identifier: Apache-2.0
// futex(2): a lane runs one thread at a time, so that each operation is atomic. FUTEX_LOCK_PI and its relatives keep who owns a
// lock, not priorities.
#pragma once

#include "kernel/file_mappings.h"
#include "kernel/waiting.h"

namespace myriarm::kernel {

// clang-format off
enum FutexOperation : u32 { kFutexWait = 0, kFutexWake = 1, kFutexRequeue = 3, kFutexCompareRequeue = 4, kFutexWakeOp = 5,
                            kFutexLock = 6, kFutexUnlock = 7, kFutexTryLock = 8, kFutexWaitBits = 9, kFutexWakeBits = 10,
                            kFutexLockClock = 13 };
enum FutexOption : u32 { kFutexPrivate = 128, kFutexRealtime = 256 };
/// The word of a lock: the thread that owns it, and these.
enum FutexLock : u32 { kLockWaiters = 0x80000000, kLockOwnerDied = 0x40000000, kLockOwner = 0x3FFFFFFF };
// clang-format on

/// A call, its address and its options.
struct Futex {
  u64 address;
  u32 operation;
  bool is_private, realtime;

  MYR_FN bool has_timeout() const {
    return operation == kFutexWait || operation == kFutexWaitBits || operation == kFutexLock ||
           operation == kFutexLockClock;
  }
};
/// What a thread waits for. A futex of the process alone and one that processes may share are not the same, at one address. Processes
/// that were forked have shared memory at the same address; one in a file is where it lies in the file. (If thousands of files were
/// mapped, two may have one key: then more threads are woken than must be.)
constexpr u32 kFutexAddressBits = 48;
template <class M>
MYR_OUTLINE u64 futex_key(const M& m, WaitOn kind, u64 address, bool is_private) {
  constexpr u64 kShared = (u64)1 << 63, kAnyProcess = 0x7FFF;
  u64 process = current_process(m);
  if constexpr (HasSpaces<M>) {
    constexpr u64 kInFile = 0x7FFE;
    constexpr u32 kOffsetBits = 36;
    Range range;
    Mapping mapping;
    if (!is_private && find_range(m, address, range) && (range.flags & kSharedMemory)) {
      process = kAnyProcess;
      if ((range.flags & kSharedFile) && find_mapping(m, address, mapping)) {
        const u64 offset =
            (mapping.page_at(address) << kPageBits | offset_in_page(address)) & (((u64)1 << kOffsetBits) - 1);
        process = kInFile;
        address = mapping.serial << kOffsetBits | offset;
      }
    }
  }
  const u64 place = (address & (((u64)1 << kFutexAddressBits) - 1)) | process << kFutexAddressBits;
  return wait_key(kind, is_private ? place : place | kShared);
}
template <class M>
MYR_FN u64 futex_key(const M& m, const Futex& f, u64 address) {
  return futex_key(m, WaitOn::futex, address, f.is_private);
}
template <class M>
MYR_FN u64 lock_key(const M& m, const Futex& f) {
  return futex_key(m, WaitOn::lock, f.address, f.is_private);
}

/// The time of a wait that has a limit; kNever if the call has none; or an error, negative. That of FUTEX_WAIT is how long it lasts,
/// the others are when it ends.
struct FutexTime {
  u64 most;
  i64 failed;
};
template <Machine M>
MYR_FN FutexTime futex_time(const M& m, const Futex& f) {
  if (!f.has_timeout() || m.argument(3) == 0) return {kNever, 0};
  const i64 time = duration(m, m.argument(3));
  if (time < 0) return {0, time};
  if (f.operation == kFutexWait) return {(u64)time, 0};
  return {time_until(m, (u64)time, start_of(f.realtime || f.operation == kFutexLock)), 0};
}

/// Whether the guest may read the word, as an error or 0. A private futex that nobody waits for need not be mapped to be woken.
template <Machine M>
MYR_FN i64 futex_fault(const M& m, u64 address) {
  if (address % 4 != 0) return -kEINVAL;
  return readable(m, address, 4) ? 0 : -(i64)kEFAULT;
}

template <Machine M>
MYR_OUTLINE Result futex_wait(M& m, const Futex& f, u64 most, u32 bits) {
  if (wait_state(m) == WaitState::woken) return answer(0);
  if (bits == 0) return error(kEINVAL);
  if (const i64 fault = futex_fault(m, f.address); fault != 0) return answer(fault);
  // The value was looked at when the wait began.
  if (wait_state(m) == WaitState::none && load<u32>(m, f.address) != (u32)m.argument(2)) return error(kEAGAIN);
  const Wait wait = wait_for_signal(m, word(m, kBlocked), most);
  if (wait.end == WaitEnd::never) return error(kEDEADLK);  // Linux would wait forever
  if (wait.end == WaitEnd::begins) {
    // FUTEX_REQUEUE may have changed what it waits for.
    const bool began = wait_state(m) != WaitState::none;
    const u64 key = began ? head(m, current_thread(m), kHeadKey) : futex_key(m, f, f.address);
    return begin_wait(m, wait, word(m, kBlocked), key, bits);
  }
  if (!own_word(m, kSlept)) return again();
  if (wait.end == WaitEnd::signal) return m.argument(3) != 0 ? interrupt(m, wait) : interrupt_or_restart(m, wait);
  pass_time(m, wait.time);
  return error(kETIMEDOUT);
}

template <Machine M>
MYR_OUTLINE Result futex_wake(M& m, const Futex& f, u32 bits) {
  if (bits == 0 || f.address % 4 != 0) return error(kEINVAL);
  if (!f.is_private && !readable(m, f.address, 4)) return error(kEFAULT);
  if (!has_threads(m)) return answer(0);
  if (!own_heads(m)) return again();
  // As on Linux, one is woken even if the call asks for none.
  const i32 most = (i32)m.argument(2);
  return answer((i64)wake(m, futex_key(m, f, f.address), most > 1 ? (u64)most : 1, bits));
}

/// FUTEX_REQUEUE and FUTEX_CMP_REQUEUE: wakes some, and lets others wait for another futex.
template <Machine M>
MYR_OUTLINE Result futex_requeue(M& m, const Futex& f) {
  const i32 wakes = (i32)m.argument(2), moves = (i32)m.argument(3);
  const u64 target = m.argument(4);
  if (wakes < 0 || moves < 0) return error(kEINVAL);
  const bool compares = f.operation == kFutexCompareRequeue;
  if (f.address % 4 != 0 || target % 4 != 0) return error(kEINVAL);
  if ((compares || !f.is_private) && !readable(m, f.address, 4)) return error(kEFAULT);
  if (!f.is_private && !readable(m, target, 4)) return error(kEFAULT);
  if (compares && load<u32>(m, f.address) != (u32)m.argument(5)) return error(kEAGAIN);
  if (!has_threads(m)) return answer(0);
  if (!own_heads(m)) return again();
  const u64 key = futex_key(m, f, f.address), woken = wake(m, key, (u64)wakes);
  u64 moved = 0;
  // Onto itself as well: each thread is counted once.
  for (; moved < (u64)moves && moved < kMostThreads; moved++) {
    const u32 slot = first_waiting(m, key);
    if (slot == kNoThread) break;
    if (target == f.address) {
      const u32 slots = thread_slots(m);
      for (u32 i = 0; i < slots; i++) moved += is_waiting(m, i) && head(m, i, kHeadKey) == key;
      moved = lesser(moved, (u64)moves);
      break;
    }
    set_head(m, slot, kHeadKey, futex_key(m, f, target));
    set_head(m, slot, kHeadTicket, next_ticket(m));
  }
  return answer((i64)(woken + moved));
}

/// FUTEX_WAKE_OP: changes the word of another futex, wakes at this one, and if that word was as asked for at the other as well.
template <Machine M>
MYR_OUTLINE Result futex_wake_op(M& m, const Futex& f) {
  enum Operation : u32 { kSet = 0, kAdd = 1, kOr = 2, kAndNot = 3, kXor = 4, kOperations = 5 };
  enum Comparison : u32 {
    kEqual = 0,
    kNotEqual = 1,
    kLess = 2,
    kAtMost = 3,
    kGreater = 4,
    kAtLeast = 5,
    kComparisons = 6
  };
  const u32 encoded = (u32)m.argument(5), operation = encoded >> 28 & 7, comparison = encoded >> 24 & 15;
  const i32 compared = (i32)(encoded << 20) >> 20, given = (i32)(encoded << 8) >> 20;
  const u32 operand = encoded >> 31 ? (u32)1 << (given & 31) : (u32)given;
  const u64 target = m.argument(4);
  if (f.address % 4 != 0 || target % 4 != 0) return error(kEINVAL);
  if (!f.is_private && !readable(m, f.address, 4)) return error(kEFAULT);
  if (operation >= kOperations) return error(kENOSYS);
  const Storing storing = prepare(m, target, 4);
  if (storing != Storing::allowed) return not_stored(storing);
  if (has_threads(m) && !own_heads(m)) return again();
  const u32 old = load<u32>(m, target);
  const u32 next = operation == kSet      ? operand
                   : operation == kAdd    ? old + operand
                   : operation == kOr     ? old | operand
                   : operation == kAndNot ? old & ~operand
                                          : old ^ operand;
  store<u32>(m, target, next);
  if (comparison >= kComparisons) return error(kENOSYS);  // as on Linux, the word has changed
  const i32 was = (i32)old;
  const bool holds = comparison == kEqual      ? was == compared
                     : comparison == kNotEqual ? was != compared
                     : comparison == kLess     ? was < compared
                     : comparison == kAtMost   ? was <= compared
                     : comparison == kGreater  ? was > compared
                                               : was >= compared;
  if (!has_threads(m)) return answer(0);
  const i32 first = (i32)m.argument(2), second = (i32)m.argument(3);
  u64 woken = wake(m, futex_key(m, f, f.address), first > 1 ? (u64)first : 1);
  if (holds) woken += wake(m, futex_key(m, f, target), second > 1 ? (u64)second : 1);
  return answer((i64)woken);
}

/// FUTEX_LOCK_PI, FUTEX_LOCK_PI2 and FUTEX_TRYLOCK_PI.
template <Machine M>
MYR_OUTLINE Result futex_lock(M& m, const Futex& f, u64 most) {
  if (wait_state(m) == WaitState::woken) return answer(0);  // who unlocked it has given it to this thread
  if (const i64 fault = futex_fault(m, f.address); fault != 0) return answer(fault);
  const Storing storing = prepare(m, f.address, 4);
  if (storing != Storing::allowed) return not_stored(storing);
  const u32 value = load<u32>(m, f.address), owner = value & kLockOwner, self = thread_id(m);
  if (owner == self) return error(kEDEADLK);
  const u64 key = lock_key(m, f);
  if (owner == 0) {
    const bool others = has_threads(m) && first_waiting(m, key) != kNoThread;
    store<u32>(m, f.address, (value & kLockOwnerDied) | (others ? (u32)kLockWaiters : 0) | self);
    return answer(0);
  }
  const u32 slot = find_thread(m, owner);
  if (slot == kNoThread || !is_alive(m, slot)) return error(kESRCH);
  if (f.operation == kFutexTryLock) {
    store<u32>(m, f.address, value | kLockWaiters);
    return error(kEAGAIN);
  }
  const Wait wait = wait_for_signal(m, word(m, kBlocked), most);
  if (wait.end == WaitEnd::never) return error(kEDEADLK);  // Linux would wait forever
  if (wait.end == WaitEnd::begins) {
    const Result begun = begin_wait(m, wait, word(m, kBlocked), key);
    if (begun.served == Served::waits) store<u32>(m, f.address, value | kLockWaiters);
    return begun;
  }
  if (!own_word(m, kSlept)) return again();
  if (wait.end == WaitEnd::signal) return restart(m, wait);
  pass_time(m, wait.time);
  return error(kETIMEDOUT);
}

/// Gives a lock to the thread that has waited for it longest, after own_heads(), and prepare() for its word. `kept`: what else the
/// word says.
template <Machine M>
MYR_OUTLINE void pass_lock(M& m, u64 address, u32 slot, u32 kept) {
  store<u32>(m, address, (u32)head(m, slot, kHeadThread) | kLockWaiters | kept);
  end_wait(m, slot, WaitState::woken);
}

template <Machine M>
MYR_OUTLINE Result futex_unlock(M& m, const Futex& f) {
  if (const i64 fault = futex_fault(m, f.address); fault != 0) return answer(fault);
  if ((load<u32>(m, f.address) & kLockOwner) != thread_id(m)) return error(kEPERM);
  const Storing storing = prepare(m, f.address, 4);
  if (storing != Storing::allowed) return not_stored(storing);
  if (has_threads(m) && !own_heads(m)) return again();
  const u32 next = has_threads(m) ? first_waiting(m, lock_key(m, f)) : kNoThread;
  if (next == kNoThread) store<u32>(m, f.address, 0);
  else pass_lock(m, f.address, next, 0);
  return answer(0);
}

template <Machine M>
MYR_OUTLINE Result futex(M& m) {
  constexpr u32 kAllBits = ~(u32)0;
  const u32 options = (u32)m.argument(1);
  const Futex f = {m.argument(0), options & ~(u32)(kFutexPrivate | kFutexRealtime), (options & kFutexPrivate) != 0,
                   (options & kFutexRealtime) != 0};
  if (f.realtime && f.operation != kFutexWaitBits && f.operation != kFutexLockClock) return error(kENOSYS);
  const FutexTime time = futex_time(m, f);
  if (time.failed < 0) return answer(time.failed);
  switch (f.operation) {
    case kFutexWait: return futex_wait(m, f, time.most, kAllBits);
    case kFutexWaitBits: return futex_wait(m, f, time.most, (u32)m.argument(5));
    case kFutexWake: return futex_wake(m, f, kAllBits);
    case kFutexWakeBits: return futex_wake(m, f, (u32)m.argument(5));
    case kFutexRequeue:
    case kFutexCompareRequeue: return futex_requeue(m, f);
    case kFutexWakeOp: return futex_wake_op(m, f);
    case kFutexLock:
    case kFutexLockClock:
    case kFutexTryLock: return futex_lock(m, f, time.most);
    case kFutexUnlock: return futex_unlock(m, f);
    default: return missing();
  }
}

// ---- a thread's death

/// The robust list of a thread that leaves (get_robust_list(2)): calls visit(address of a lock's word, whether it is one of
/// FUTEX_LOCK_PI, whether it is the one that was being locked or unlocked) for each lock.
template <Machine M, class Visit>
MYR_FN void walk_robust_list(const M& m, u64 list, Visit visit) {
  constexpr u32 kLongest = 2048;
  constexpr u64 kHeadBytes =
      24;  // the first entry, where an entry's lock is, the lock that was being taken or given back
  if (list == 0 || !readable(m, list, kHeadBytes)) return;
  const u64 distance = load<u64>(m, list + 8), pending = load<u64>(m, list + 16);
  u64 entry = load<u64>(m, list);
  for (u32 i = 0; i < kLongest && (entry & ~(u64)1) != list; i++) {
    const u64 at = entry & ~(u64)1;
    const bool known = readable(m, at, 8);
    const u64 next = known ? load<u64>(m, at) : 0;
    if (at != (pending & ~(u64)1) && !visit(at + distance, (entry & 1) != 0, false)) return;
    if (!known) return;
    entry = next;
  }
  if ((pending & ~(u64)1) != 0) (void)visit((pending & ~(u64)1) + distance, (pending & 1) != 0, true);
}
/// Whether the thread's death changes the word of a lock that it may own.
template <Machine M>
MYR_FN bool dies_with(const M& m, u64 address) {
  return address % 4 == 0 && readable(m, address, 4) && accessible(m, address, 4, kPageWritable) == 4;
}

/// The address of the lock that a thread waits for.
MYR_FN constexpr u64 lock_of_key(u64 key) {
  return key << (64 - kFutexAddressBits) >> (64 - kFutexAddressBits) & ~(u64)3;
}

/// Must be called, and have returned true, before release_locks().
template <Machine M>
MYR_OUTLINE bool own_locks(M& m) {
  bool owned = true;
  walk_robust_list(m, word(m, kRobustList), [&](u64 address, bool, bool) {
    if (!dies_with(m, address)) return false;
    owned = prepare(m, address, 4) != Storing::again;
    return owned;
  });
  const u32 slots = thread_slots(m);
  for (u32 slot = 0; slot < slots && owned; slot++) {
    if (!is_own_thread(m, slot) || !is_waiting(m, slot) || (head(m, slot, kHeadKey) & 3) != (u64)WaitOn::lock) continue;
    owned = prepare(m, lock_of_key(head(m, slot, kHeadKey)), 4) != Storing::again;
  }
  return owned;
}
/// The locks of a thread that leaves say that their owner has died, and go to threads that wait for them. After own_locks() and
/// own_heads().
template <Machine M>
MYR_OUTLINE void release_locks(M& m) {
  const u32 self = thread_id(m);
  walk_robust_list(m, word(m, kRobustList), [&](u64 address, bool passes, bool pending) {
    if (!dies_with(m, address)) return false;
    const u32 value = load<u32>(m, address);
    const u64 key = futex_key(m, WaitOn::futex, address, false);
    if (pending && !passes && value == 0) (void)wake(m, key, 1);  // it was given back, and nobody was woken yet
    if ((value & kLockOwner) != self) return true;
    store<u32>(m, address, (value & kLockWaiters) | kLockOwnerDied);
    if (!passes && (value & kLockWaiters)) (void)wake(m, key, 1);
    if (!passes) return true;
    for (u32 kind = 0; kind < 2; kind++) {
      const u32 next = first_waiting(m, futex_key(m, WaitOn::lock, address, kind == 0));
      if (next == kNoThread) continue;
      pass_lock(m, address, next, kLockOwnerDied);
      break;
    }
    return true;
  });
  // Those of FUTEX_LOCK_PI that are on no list.
  const u32 slots = thread_slots(m);
  for (u32 slot = 0; slot < slots; slot++) {
    const u64 key = head(m, slot, kHeadKey), address = lock_of_key(key);
    if (!is_own_thread(m, slot) || !is_waiting(m, slot) || (key & 3) != (u64)WaitOn::lock || !dies_with(m, address))
      continue;
    if ((load<u32>(m, address) & kLockOwner) != self) continue;
    pass_lock(m, address, first_waiting(m, key), kLockOwnerDied);
  }
}

}  // namespace myriarm::kernel
