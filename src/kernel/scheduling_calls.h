// SPDX-License-Identifier: Apache-2.0
// The scheduling of threads, as a user without privileges on one processor may see and change it: sched(7), and the manual page of
// each call. Policies and nice values are kept, and change nothing: the threads of a process take turns.
#pragma once

#include "kernel/threads.h"

namespace myriarm::kernel {

// clang-format off
enum Policy : u32 { kPolicyOther = 0, kPolicyFifo = 1, kPolicyRoundRobin = 2, kPolicyBatch = 3, kPolicyIdle = 5, kPolicyDeadline = 6 };
// clang-format on
constexpr u32 kHighestPriority = 99;
constexpr u64 kProcessorMask = 1;  // there is one processor
constexpr u32 kMaskBytes = 8;

MYR_FN bool policy_exists(u32 policy) {
  return policy <= kPolicyBatch || policy == kPolicyIdle || policy == kPolicyDeadline;
}
MYR_FN bool policy_has_priorities(u32 policy) { return policy == kPolicyFifo || policy == kPolicyRoundRobin; }

/// The slot of the thread that a call names, 0 for that which makes it; kNoThread if there is none.
template <Machine M>
MYR_FN u32 named_thread(const M& m, u32 id) {
  return id == 0 ? current_thread(m) : find_thread(m, id);
}

template <Machine M>
MYR_OUTLINE Result sched_yield(M& m) {
  if (!own_slice(m)) return again();
  end_slice(m);
  return answer(0);
}

template <Machine M>
MYR_OUTLINE Result sched_getaffinity(M& m) {
  const u32 size = (u32)m.argument(1);
  if (size < kMaskBytes || size % kMaskBytes != 0) return error(kEINVAL);
  if (named_thread(m, (u32)m.argument(0)) == kNoThread) return error(kESRCH);
  const Storing storing = prepare(m, m.argument(2), kMaskBytes);
  if (storing != Storing::allowed) return not_stored(storing);
  store<u64>(m, m.argument(2), kProcessorMask);
  return answer(kMaskBytes);
}
template <Machine M>
MYR_OUTLINE Result sched_setaffinity(M& m) {
  const u64 size = lesser((u32)m.argument(1), kMaskBytes);
  if (!readable(m, m.argument(2), size)) return error(kEFAULT);
  if (named_thread(m, (u32)m.argument(0)) == kNoThread) return error(kESRCH);
  const bool has_processor = size != 0 && (load<u8>(m, m.argument(2)) & kProcessorMask);
  return has_processor ? answer(0) : error(kEINVAL);
}

template <Machine M>
MYR_FN Result sched_get_priority_max(M& m) {
  const u32 policy = (u32)m.argument(0);
  if (!policy_exists(policy)) return error(kEINVAL);
  return answer(policy_has_priorities(policy) ? kHighestPriority : 0);
}
template <Machine M>
MYR_FN Result sched_get_priority_min(M& m) {
  const u32 policy = (u32)m.argument(0);
  if (!policy_exists(policy)) return error(kEINVAL);
  return answer(policy_has_priorities(policy) ? 1 : 0);
}
/// sched_rr_get_interval: how long a thread runs while others could.
template <Machine M>
MYR_OUTLINE Result sched_rr_get_interval(M& m) {
  constexpr u32 kTimeBytes = 16;
  if ((i32)m.argument(0) < 0) return error(kEINVAL);
  if (named_thread(m, (u32)m.argument(0)) == kNoThread) return error(kESRCH);
  const Storing storing = prepare(m, m.argument(1), kTimeBytes);
  if (storing != Storing::allowed) return not_stored(storing);
  store_words(m, m.argument(1), 0, kSlice);
  return answer(0);
}

MYR_FN bool is_valid_policy(u32 policy, i32 priority) {
  return policy_exists(policy) && policy != kPolicyDeadline && priority >= 0 && priority <= (i32)kHighestPriority &&
         policy_has_priorities(policy) == (priority != 0);
}
/// Gives a thread a policy, and the priority 0 that this user may have.
template <Machine M>
MYR_OUTLINE Result set_policy(M& m, u32 slot, u64 policy, i32 priority) {
  const u32 kind = (u32)(policy & ~kResetsOnFork);
  const u64 known = thread_word(m, slot, kPolicy);
  if (!is_valid_policy(kind, priority)) return error(kEINVAL);
  const bool leaves_idle = (u32)(known & ~kResetsOnFork) == kPolicyIdle && kind != kPolicyIdle;
  if (policy_has_priorities(kind) || leaves_idle || ((known & kResetsOnFork) && !(policy & kResetsOnFork))) {
    return error(kEPERM);
  }
  const u64 at = thread_word_at(m, slot, kPolicy);
  if (!own_word(m, at)) return again();
  set_word(m, at, policy);
  return answer(0);
}
template <Machine M>
MYR_OUTLINE Result sched_setscheduler(M& m) {
  const i32 id = (i32)m.argument(0);
  const u32 policy = (u32)m.argument(1);
  if ((i32)policy < 0 || id < 0 || m.argument(2) == 0) return error(kEINVAL);
  if (!readable(m, m.argument(2), 4)) return error(kEFAULT);
  const u32 slot = named_thread(m, (u32)id);
  return slot == kNoThread ? error(kESRCH) : set_policy(m, slot, policy, load<i32>(m, m.argument(2)));
}
template <Machine M>
MYR_OUTLINE Result sched_setparam(M& m) {
  const i32 id = (i32)m.argument(0);
  if (id < 0 || m.argument(1) == 0) return error(kEINVAL);
  if (!readable(m, m.argument(1), 4)) return error(kEFAULT);
  const u32 slot = named_thread(m, (u32)id);
  if (slot == kNoThread) return error(kESRCH);
  return set_policy(m, slot, thread_word(m, slot, kPolicy), load<i32>(m, m.argument(1)));
}
template <Machine M>
MYR_FN Result sched_getscheduler(M& m) {
  const i32 id = (i32)m.argument(0);
  if (id < 0) return error(kEINVAL);
  const u32 slot = named_thread(m, (u32)id);
  return slot == kNoThread ? error(kESRCH) : answer((i64)thread_word(m, slot, kPolicy));
}
template <Machine M>
MYR_OUTLINE Result sched_getparam(M& m) {
  const i32 id = (i32)m.argument(0);
  if (id < 0 || m.argument(1) == 0) return error(kEINVAL);
  if (named_thread(m, (u32)id) == kNoThread) return error(kESRCH);
  const Storing storing = prepare(m, m.argument(1), 4);
  if (storing != Storing::allowed) return not_stored(storing);
  store<u32>(m, m.argument(1), 0);
  return answer(0);
}

// ---- nice values

// clang-format off
enum PriorityOf : u32 { kPriorityOfThread = 0, kPriorityOfGroup = 1, kPriorityOfUser = 2 };
// clang-format on
constexpr i32 kLowestNice = -20, kHighestNice = 19;

/// What getpriority() and setpriority() name: one thread, or with kNoThread all; or an error, negative.
struct PrioritySet {
  u32 slot;
  i64 failed;
};
template <Machine M>
MYR_FN PrioritySet priority_set(const M& m) {
  const u32 kind = (u32)m.argument(0), id = (u32)m.argument(1);
  if (kind > kPriorityOfUser) return {kNoThread, -kEINVAL};
  if (kind == kPriorityOfThread) {
    const u32 slot = named_thread(m, id);
    return {slot, slot == kNoThread ? -kESRCH : 0};
  }
  const bool own = id == 0 || id == (kind == kPriorityOfGroup ? own_part(m, kProcessGroup, kProcessId) : kUserId);
  return {kNoThread, own ? 0 : -kESRCH};
}
template <Machine M>
MYR_OUTLINE Result getpriority(M& m) {
  const PrioritySet named = priority_set(m);
  if (named.failed < 0) return answer(named.failed);
  // 20 less the value, so that it is no error.
  const auto shown = [&](u32 slot) { return kHighestNice + 1 - (i64)(i32)thread_word(m, slot, kNice); };
  if (named.slot != kNoThread) return answer(shown(named.slot));
  i64 highest = shown(current_thread(m));
  const u32 slots = thread_slots(m);
  for (u32 slot = 0; slot < slots; slot++) {
    if (is_own_thread(m, slot) && is_alive(m, slot) && shown(slot) > highest) highest = shown(slot);
  }
  return answer(highest);
}
template <Machine M>
MYR_OUTLINE Result setpriority(M& m) {
  const PrioritySet named = priority_set(m);
  if (named.failed < 0) return answer(named.failed);
  const i32 wanted = (i32)m.argument(2);
  const i32 nice = wanted < kLowestNice ? kLowestNice : wanted > kHighestNice ? kHighestNice : wanted;
  if (!own_threads(m)) return again();
  const u32 slots = greater(thread_slots(m), 1) > kMostThreads ? kMostThreads : (u32)greater(thread_slots(m), 1);
  bool refused = false;
  for (u32 slot = 0; slot < slots; slot++) {
    if (!is_alive(m, slot) || (named.slot != kNoThread && named.slot != slot)) continue;
    if (nice < (i32)thread_word(m, slot, kNice)) refused = true;
    else set_thread_word(m, slot, kNice, (u64)(i64)nice);
  }
  return refused ? error(kEACCES) : answer(0);
}

// ---- struct sched_attr

/// Its words: size and policy, flags, nice value and priority; then what threads with deadlines have, and hints.
enum AttributeWord : u32 { kAttributeSize = 0, kAttributeFlags = 8, kAttributeNice = 16, kAttributeRest = 24 };
constexpr u32 kFirstAttributeBytes = 48,
              kAttributeBytes = 56;  // the least that it may have, and what is known

template <Machine M>
MYR_OUTLINE Result sched_getattr(M& m) {
  const u64 address = m.argument(1);
  const u32 size = (u32)m.argument(2);
  if (address == 0 || (i32)m.argument(0) < 0 || size < kFirstAttributeBytes || size > kPageSize) return error(kEINVAL);
  if ((u32)m.argument(3) != 0) return error(kEINVAL);
  const u32 slot = named_thread(m, (u32)m.argument(0));
  if (slot == kNoThread) return error(kESRCH);
  const Storing storing = prepare(m, address, size);
  if (storing != Storing::allowed) return not_stored(storing);
  const u64 policy = thread_word(m, slot, kPolicy);
  for (u32 i = 0; i < size; i++) store<u8>(m, address + i, 0);
  store<u64>(m, address, lesser(size, kAttributeBytes) | (u64)(u32)(policy & ~kResetsOnFork) << 32);
  store<u64>(m, address + kAttributeFlags, (policy & kResetsOnFork) ? 1 : 0);
  store<u32>(m, address + kAttributeNice, (u32)thread_word(m, slot, kNice));
  return answer(0);
}
template <Machine M>
MYR_OUTLINE Result sched_setattr(M& m) {
  enum Flag : u64 { kResets = 1, kKeepsPolicy = 8, kKeepsParameters = 16, kKnown = 0x7f };
  const u64 address = m.argument(1);
  if (address == 0 || (i32)m.argument(0) < 0 || (u32)m.argument(2) != 0) return error(kEINVAL);
  if (!readable(m, address, 4)) return error(kEFAULT);
  const u32 given = load<u32>(m, address), size = given == 0 ? kFirstAttributeBytes : given;
  bool fits = size >= kFirstAttributeBytes && size <= kPageSize;
  if (fits && !readable(m, address, size)) return error(kEFAULT);
  for (u32 i = kAttributeBytes; fits && i < size; i++) fits = load<u8>(m, address + i) == 0;
  if (!fits) {
    const Storing storing = prepare(m, address, 4);
    if (storing != Storing::allowed) return not_stored(storing);
    store<u32>(m, address, kAttributeBytes);
    return error(kE2BIG);
  }
  const u64 flags = load<u64>(m, address + kAttributeFlags);
  const u32 asked = load<u32>(m, address + 4);
  if ((i32)asked < 0) return error(kEINVAL);
  const u32 slot = named_thread(m, (u32)m.argument(0));
  if (slot == kNoThread) return error(kESRCH);
  const u64 known = thread_word(m, slot, kPolicy);
  const u64 policy = (flags & kKeepsPolicy) ? known : asked | ((flags & kResets) ? kResetsOnFork : 0);
  const i32 old = (i32)thread_word(m, slot, kNice), wanted = load<i32>(m, address + kAttributeNice);
  i32 nice = wanted < kLowestNice ? kLowestNice : wanted > kHighestNice ? kHighestNice : wanted;
  const i32 priority = (flags & kKeepsParameters) ? 0 : load<i32>(m, address + kAttributeNice + 4);
  const u32 kind = (u32)(policy & ~kResetsOnFork);
  if ((flags & ~(u64)kKnown) || !is_valid_policy(kind, priority)) return error(kEINVAL);
  const bool has_nice = kind == kPolicyOther || kind == kPolicyBatch;
  if ((flags & kKeepsParameters) || !has_nice) nice = old;
  if (nice < old) return error(kEPERM);
  if (!own_threads(m) || !own_word(m, thread_word_at(m, slot, kNice))) return again();
  const Result result = set_policy(m, slot, policy, priority);
  if (result.served == Served::answered && result.value == 0) set_thread_word(m, slot, kNice, (u64)(i64)nice);
  return result;
}

// ---- processors

template <Machine M>
MYR_OUTLINE Result getcpu(M& m) {
  for (u32 i = 0; i < 2; i++) {
    if (m.argument(i) == 0) continue;
    const Storing storing = prepare(m, m.argument(i), 4);
    if (storing != Storing::allowed) return not_stored(storing);
  }
  for (u32 i = 0; i < 2; i++) {
    if (m.argument(i) != 0) store<u32>(m, m.argument(i), 0);
  }
  return answer(0);
}

/// membarrier(2): one thread runs at a time, so that all see the same order.
template <Machine M>
MYR_OUTLINE Result membarrier(M& m) {
  enum Command : u32 {
    kQuery = 0,
    kGlobal = 1,
    kGlobalExpedited = 2,
    kRegisterGlobal = 4,
    kPrivate = 8,
    kRegisterPrivate = 16,
    kPrivateCode = 32,
    kRegisterCode = 64
  };
  constexpr u32 kAll =
      kGlobal | kGlobalExpedited | kRegisterGlobal | kPrivate | kRegisterPrivate | kPrivateCode | kRegisterCode;
  const u32 command = (u32)m.argument(0);
  if ((u32)m.argument(1) != 0) return error(kEINVAL);
  switch (command) {
    case kQuery: return answer(kAll);
    case kGlobal:
    case kGlobalExpedited: return answer(0);
    case kPrivate:
    case kPrivateCode: return word(m, kBarriers) & (command << 1) ? answer(0) : error(kEPERM);
    case kRegisterGlobal:
    case kRegisterPrivate:
    case kRegisterCode:
      if (!own_word(m, kBarriers)) return again();
      set_word(m, kBarriers, word(m, kBarriers) | command);
      return answer(0);
    default: return error(kEINVAL);
  }
}

}  // namespace myriarm::kernel
