// SPDX-License-Identifier: Apache-2.0
// Who the process is: a user without privileges. The first process of a lane leads its session and its process group.
#pragma once

#include "kernel/process_table.h"
#include "kernel/structures.h"

namespace myriarm::kernel {

constexpr u32 kUnchangedId = ~(u32)0;  // of setreuid() and its relatives

template <Machine M>
MYR_FN bool is_known_process(const M& m, u32 process) {
  return process == 0 || find_process(m, process) != kNoProcess;
}

template <Machine M>
MYR_FN Result getpid(M& m) {
  return answer(process_id(m));
}
template <Machine M>
MYR_FN Result parent_id(M& m) {
  return answer(own_part(m, kProcessParent, kParentId));
}
template <Machine M>
MYR_FN Result user_id(M&) {
  return answer(kUserId);
}
/// getpgid and getsid.
template <Machine M>
MYR_OUTLINE Result group_id(M& m) {
  constexpr u32 kGetsid = 156;
  const u32 id = (u32)m.argument(0), slot = id == 0 ? current_process(m) : find_process(m, id);
  if (slot == kNoProcess) return error(kESRCH);
  if (!has_processes(m)) return answer(kProcessId);
  return answer((i64)process_part(m, slot, m.number() == kGetsid ? kProcessSession : kProcessGroup));
}
template <Machine M>
MYR_OUTLINE Result setpgid(M& m) {
  const u32 id = (u32)m.argument(0);
  if ((i32)m.argument(1) < 0) return error(kEINVAL);
  const u32 current = current_process(m), slot = id == 0 ? current : find_process(m, id);
  if (slot == kNoProcess) return error(kESRCH);
  if (!has_processes(m)) return error(kEPERM);  // it leads a session
  const auto part = [&](u32 of, RecordOfProcess which) { return (u32)process_part(m, of, which); };
  const u32 own_session = part(current, kProcessSession), target = part(slot, kRecordProcess);
  if (slot != current) {
    if (part(slot, kProcessParent) != process_id(m)) return error(kESRCH);
    if (part(slot, kProcessSession) != own_session) return error(kEPERM);
    if (part(slot, kProcessHasRun) != 0) return error(kEACCES);
  }
  if (part(slot, kProcessSession) == target) return error(kEPERM);
  const u32 group = (u32)m.argument(1) != 0 ? (u32)m.argument(1) : target, slots = process_slots(m);
  bool known = group == target;
  for (u32 other = 0; other < slots && !known; other++) {
    known = is_in_group(m, other, group) && part(other, kProcessSession) == own_session;
  }
  if (!known) return error(kEPERM);
  if (!own_processes(m)) return again();
  set_process_part(m, slot, kProcessGroup, group);
  return answer(0);
}
template <Machine M>
MYR_OUTLINE Result setsid(M& m) {
  const u32 id = process_id(m), slots = process_slots(m);
  if (!has_processes(m)) return error(kEPERM);
  for (u32 slot = 0; slot < slots; slot++) {
    if (is_in_group(m, slot, id)) return error(kEPERM);
  }
  if (!own_processes(m)) return again();
  set_process_part(m, current_process(m), kProcessGroup, id);
  set_process_part(m, current_process(m), kProcessSession, id);
  return answer(id);
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
