// SPDX-License-Identifier: Apache-2.0
// Who the process is: a user without privileges, the leader of its session and of its process group, in the root of a
// file system. Nothing of it can be changed but the mask of file modes and the thread's name.
#pragma once

#include "kernel/structures.h"

namespace myriarm::kernel {

constexpr u32 kUnchangedId = ~(u32)0;  // of setreuid() and its relatives

MYR_FN bool is_self(u32 process) { return process == 0 || process == kProcessId; }

template <Machine M>
MYR_FN Result process_id(M&) {
  return answer(kProcessId);
}
template <Machine M>
MYR_FN Result parent_id(M&) {
  return answer(kParentId);
}
template <Machine M>
MYR_FN Result user_id(M&) {
  return answer(kUserId);
}
/// getpgid and getsid.
template <Machine M>
MYR_FN Result group_id(M& m) {
  return is_self((u32)m.argument(0)) ? answer(kProcessId) : error(kESRCH);
}
template <Machine M>
MYR_FN Result setpgid(M& m) {
  if ((i32)m.argument(1) < 0) return error(kEINVAL);
  return error(is_self((u32)m.argument(0)) ? kEPERM : kESRCH);  // it leads a session
}
template <Machine M>
MYR_FN Result setsid(M&) {
  return error(kEPERM);
}
/// setuid and setgid.
template <Machine M>
MYR_FN Result set_id(M& m) {
  const u32 id = (u32)m.argument(0);
  if (id == kUserId) return answer(0);
  return error(id == kUnchangedId ? kEINVAL : kEPERM);
}
/// setreuid, setregid, setresuid and setresgid: two or three ids, each of which may stay as it is.
template <Machine M>
MYR_FN Result set_ids(M& m) {
  constexpr u32 kSetreuid = 145, kSetregid = 143;
  const u32 count = m.number() == kSetreuid || m.number() == kSetregid ? 2 : 3;
  for (u32 i = 0; i < count; i++) {
    const u32 id = (u32)m.argument(i);
    if (id != kUserId && id != kUnchangedId) return error(kEPERM);
  }
  return answer(0);
}
/// getresuid and getresgid. As on Linux, the ids before a bad address are stored.
template <Machine M>
MYR_OUTLINE Result get_ids(M& m) {
  constexpr u32 kIds = 3;
  u32 good = 0;
  for (; good < kIds; good++) {
    const Storing storing = prepare(m, m.argument(good), sizeof kUserId);
    if (storing == Storing::again) return again();
    if (storing == Storing::refused) break;
  }
  for (u32 i = 0; i < good; i++) store<u32>(m, m.argument(i), kUserId);
  return good == kIds ? answer(0) : error(kEFAULT);
}
template <Machine M>
MYR_FN Result getgroups(M& m) {
  // No group but its own, which Linux does not list.
  return (i32)m.argument(0) < 0 ? error(kEINVAL) : answer(0);
}

template <Machine M>
MYR_OUTLINE Result umask(M& m) {
  constexpr u64 kModes = 0777;
  if (!own_word(m, kModeMask)) return again();
  const u64 old = word(m, kModeMask);
  set_word(m, kModeMask, m.argument(0) & kModes);
  return answer((i64)(old & kModes));
}

/// Reads up to the NUL, at most what fits in front of one.
template <Machine M>
MYR_OUTLINE Result set_name(M& m, u64 address) {
  const u64 size = accessible(m, address, kNameBytes - 1, kPageReadable);
  u64 low = 0, high = 0;
  bool complete = size == kNameBytes - 1;
  for (u32 i = 0; i < size; i++) {
    const u64 byte = load<u8>(m, address + i);
    if (byte == 0) {
      complete = true;
      break;
    }
    if (i < 8) low |= byte << 8 * i;
    else high |= byte << 8 * (i - 8);
  }
  if (!complete) return error(kEFAULT);
  if (!own_words(m, kName, kNameBytes)) return again();
  set_word(m, kName, low);
  set_word(m, kName + 8, high);
  return answer(0);
}

template <Machine M>
MYR_OUTLINE Result prctl(M& m) {
  enum Option : u32 { kSetName = 15, kGetName = 16, kReadCapability = 23 };
  constexpr u64 kCapabilities = 41;  // of Linux 6.1
  const u64 value = m.argument(1);
  switch ((u32)m.argument(0)) {
    case kSetName: return set_name(m, value);
    case kGetName: {
      const Storing storing = prepare(m, value, kNameBytes);
      if (storing != Storing::allowed) return not_stored(storing);
      store_words(m, value, word(m, kName), word(m, kName + 8));
      return answer(0);
    }
    case kReadCapability: return value < kCapabilities ? answer(0) : error(kEINVAL);
    default: return missing();
  }
}

}  // namespace myriarm::kernel
