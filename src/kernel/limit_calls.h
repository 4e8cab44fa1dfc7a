// SPDX-License-Identifier: Apache-2.0
// getrlimit(2), setrlimit(2) and prlimit64(2). A process may lower its limits. Of those it can set, RLIMIT_NOFILE bounds its
// descriptors; the others are what it has set, and nothing more.
#pragma once

#include "kernel/identity_calls.h"

namespace myriarm::kernel {

constexpr u64 kNoLimit = ~(u64)0, kLimitBytes = 16;  // RLIM_INFINITY; struct rlimit: soft limit, hard limit
constexpr u32 kFileLimit = 7, kLockLimit = 8;        // RLIMIT_NOFILE, RLIMIT_MEMLOCK
constexpr u64 kFirstLockLimit = (u64)8 << 20;

/// What a limit is before it is set.
template <Machine M>
MYR_FN u64 first_limit(const M& m, u32 resource) {
  // clang-format off
  enum Resource : u32 { kLimitStack = 3, kLimitCore = 4, kLimitProcesses = 6,
                        kLimitSignals = 11, kLimitQueues = 12, kLimitNice = 13, kLimitRealtime = 14 };
  // clang-format on
  switch (resource) {
    case kLimitStack: return m.facts().stack_bytes;
    case kFileLimit: return kMostFiles;
    case kLimitProcesses: return kMostThreads;
    case kLimitSignals: return kMostQueued;
    case kLockLimit: return kFirstLockLimit;
    case kLimitCore:
    case kLimitQueues:
    case kLimitNice:
    case kLimitRealtime: return 0;
    default: return kNoLimit;
  }
}
/// The soft limit, or with `hard` the hard one.
template <Machine M>
MYR_FN u64 limit_of(const M& m, u32 resource, bool hard) {
  const u64 kept = word(m, kLimitWords + resource * kLimitBytes + (hard ? 8 : 0));
  return kept == 0 ? first_limit(m, resource) : kept == kNoLimit ? kNoLimit : kept - 1;
}
template <Machine M>
MYR_FN void set_limit(M& m, u32 resource, u64 soft, u64 hard) {
  const u64 at = kLimitWords + resource * kLimitBytes;
  set_word(m, at, soft == kNoLimit ? kNoLimit : soft + 1);
  set_word(m, at + 8, hard == kNoLimit ? kNoLimit : hard + 1);
}

/// Sets the limits of a resource to the struct rlimit at `next`, unless that is 0, and stores what they were at `old`.
template <Machine M>
MYR_OUTLINE Result change_limits(M& m, u32 resource, u64 next, u64 old) {
  constexpr u64 kMostOpen = 1 << 20;  // fs.nr_open
  if (next != 0 && !readable(m, next, kLimitBytes)) return error(kEFAULT);
  if (resource >= kLimits) return error(kEINVAL);
  const u64 soft = limit_of(m, resource, false), hard = limit_of(m, resource, true);
  const u64 new_soft = next != 0 ? load<u64>(m, next) : soft, new_hard = next != 0 ? load<u64>(m, next + 8) : hard;
  if (new_soft > new_hard) return error(kEINVAL);
  if (new_hard > hard || (resource == kFileLimit && new_hard > kMostOpen)) return error(kEPERM);
  const Storing storing = old == 0 ? Storing::allowed : prepare(m, old, kLimitBytes);
  if (storing == Storing::again || (next != 0 && !own_word(m, kLimitWords))) return again();
  if (next != 0) set_limit(m, resource, new_soft, new_hard);
  if (storing == Storing::refused) return error(kEFAULT);  // as on Linux, the limits have been set
  if (old != 0) store_words(m, old, soft, hard);
  return answer(0);
}
template <Machine M>
MYR_OUTLINE Result getrlimit(M& m) {
  if ((u32)m.argument(0) >= kLimits) return error(kEINVAL);
  return m.argument(1) != 0 ? change_limits(m, (u32)m.argument(0), 0, m.argument(1)) : error(kEFAULT);
}
template <Machine M>
MYR_OUTLINE Result setrlimit(M& m) {
  return m.argument(1) != 0 ? change_limits(m, (u32)m.argument(0), m.argument(1), 0) : error(kEFAULT);
}
template <Machine M>
MYR_OUTLINE Result prlimit64(M& m) {
  if (m.argument(2) != 0 && !readable(m, m.argument(2), kLimitBytes)) return error(kEFAULT);
  const u32 id = (u32)m.argument(0), slot = id == 0 ? current_process(m) : find_process(m, id);
  if (slot == kNoProcess) return error(kESRCH);
  if (slot != current_process(m)) return error(kEPERM);  // those of others are not known here
  return change_limits(m, (u32)m.argument(1), m.argument(2), m.argument(3));
}

}  // namespace myriarm::kernel
