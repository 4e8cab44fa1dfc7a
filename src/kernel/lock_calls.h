// SPDX-License-Identifier: Apache-2.0
// Calls on memory that a process wants to stay in memory, or to be written back: msync, mlock and their relatives. All
// of it does, and nothing is to be written back, so that they check what Linux checks and change nothing: which pages
// are locked is not kept.
#pragma once

#include "kernel/limit_calls.h"
#include "kernel/memory_calls.h"

namespace myriarm::kernel {

template <Machine M>
MYR_OUTLINE Result msync(M& m) {
  enum Flag : u32 { kLater = 1, kInvalidate = 2, kNow = 4 };
  const u64 address = m.argument(0), end = address + page_up(m.argument(1));
  const u32 flags = (u32)m.argument(2);
  if ((flags & ~(kLater | kInvalidate | kNow)) || !is_page_aligned(address)) return error(kEINVAL);
  if ((flags & kLater) && (flags & kNow)) return error(kEINVAL);
  if (end < address) return error(kENOMEM);
  return mapped_until(m, address, end) == end ? answer(0) : error(kENOMEM);
}

/// Whether all pages of a part are mapped, as mlock() and munlock() ask.
template <Machine M>
MYR_FN Result check_locked(const M& m, u64 begin, u64 size) {
  const u64 end = begin + size;
  if (end < begin) return error(kEINVAL);
  return mapped_until(m, begin, end) == end ? answer(0) : error(kENOMEM);
}
template <Machine M>
MYR_FN bool may_lock(const M& m) {
  return limit_of(m, kLockLimit, false) != 0;
}
template <Machine M>
MYR_OUTLINE Result mlock(M& m) {
  const u64 begin = page_down(m.argument(0)), size = page_up(m.argument(1) + offset_in_page(m.argument(0)));
  if (!may_lock(m)) return error(kEPERM);
  return size > limit_of(m, kLockLimit, false) ? error(kENOMEM) : check_locked(m, begin, size);
}
template <Machine M>
MYR_FN Result mlock2(M& m) {
  constexpr u32 kOnFault = 1;
  return ((u32)m.argument(2) & ~kOnFault) ? error(kEINVAL) : mlock(m);
}
template <Machine M>
MYR_FN Result munlock(M& m) {
  return check_locked(m, page_down(m.argument(0)), page_up(m.argument(1) + offset_in_page(m.argument(0))));
}
template <Machine M>
MYR_OUTLINE Result mlockall(M& m) {
  enum Flag : u32 { kCurrent = 1, kFuture = 2, kOnFault = 4 };
  const u32 flags = (u32)m.argument(0), count = range_count(m);
  if (flags == 0 || flags == kOnFault || (flags & ~(kCurrent | kFuture | kOnFault))) return error(kEINVAL);
  if (!may_lock(m)) return error(kEPERM);
  u64 size = 0;
  for (u32 i = 0; i < count; i++) size += range_at(m, i).end - range_at(m, i).begin;
  return (flags & kCurrent) && size > limit_of(m, kLockLimit, false) ? error(kENOMEM) : answer(0);
}

}  // namespace myriarm::kernel
