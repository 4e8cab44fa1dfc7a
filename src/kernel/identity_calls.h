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

/// Bits of kProcessFlags: what prctl() keeps and shows, and that nothing depends on.
enum ProcessFlag : u64 {
  kNotDumpable = 1,
  kKeepsCapabilities = 2,
  kReapsOrphans = 4,
  kNoNewPrivileges = 8,
  kNoHugePages = 16,
  kParentSignal = 0x100,  // times the number, 7 bits
  kTimerSlack = (u64)1 << 32,
  kNotForked = kReapsOrphans | 0x7F * kParentSignal,  // a child does not have them
  kNotExecuted = kKeepsCapabilities | kNotDumpable,   // a new program does not
};
/// Sets a flag to 0 or 1.
template <Machine M>
MYR_FN Result set_process_flag(M& m, u64 flag, u64 value) {
  if (value > 1) return error(kEINVAL);
  if (!own_word(m, kProcessFlags)) return again();
  const u64 flags = word(m, kProcessFlags);
  set_word(m, kProcessFlags, value != 0 ? flags | flag : flags & ~flag);
  return answer(0);
}
/// Stores a number of 32 bits at an address.
template <Machine M>
MYR_FN Result store_number(M& m, u64 address, u32 value) {
  const Storing storing = prepare(m, address, 4);
  if (storing != Storing::allowed) return not_stored(storing);
  store<u32>(m, address, value);
  return answer(0);
}
template <Machine M>
MYR_OUTLINE Result prctl(M& m) {
  // clang-format off
  enum Option : u32 { kSetParentSignal = 1, kGetParentSignal = 2, kGetDumpable = 3, kSetDumpable = 4, kGetKeepsCapabilities = 7,
                      kSetKeepsCapabilities = 8, kSetName = 15, kGetName = 16, kGetSeccomp = 21, kReadCapability = 23,
                      kDropCapability = 24, kGetSecureBits = 27, kSetSecureBits = 28, kSetTimerSlack = 29, kGetTimerSlack = 30,
                      kSetReapsOrphans = 36, kGetReapsOrphans = 37, kSetNoNewPrivileges = 38, kGetNoNewPrivileges = 39,
                      kSetNoHugePages = 41, kGetNoHugePages = 42 };
  // clang-format on
  constexpr u64 kCapabilities = 41, kSignalMask = 0x7F * kParentSignal, kUsualSlack = 50'000;  // of Linux 6.1
  const u64 value = m.argument(1), flags = word(m, kProcessFlags);
  const bool rest = (m.argument(2) | m.argument(3) | m.argument(4)) != 0;
  switch ((u32)m.argument(0)) {
    case kSetParentSignal:
      if (value > kMostSignals) return error(kEINVAL);
      if (!own_word(m, kProcessFlags)) return again();
      set_word(m, kProcessFlags, (flags & ~kSignalMask) | value * kParentSignal);
      return answer(0);
    case kGetParentSignal: return store_number(m, value, (u32)((flags & kSignalMask) / kParentSignal));
    case kGetDumpable: return answer(!(flags & kNotDumpable));
    case kSetDumpable: return value > 1 ? error(kEINVAL) : set_process_flag(m, kNotDumpable, value == 0);
    case kGetKeepsCapabilities: return answer((flags & kKeepsCapabilities) != 0);
    case kSetKeepsCapabilities: return set_process_flag(m, kKeepsCapabilities, value);
    case kSetName: return set_name(m, value);
    case kGetName: {
      const Storing storing = prepare(m, value, kNameBytes);
      if (storing != Storing::allowed) return not_stored(storing);
      store_words(m, value, word(m, kName), word(m, kName + 8));
      return answer(0);
    }
    case kGetSeccomp:
    case kGetSecureBits: return answer(0);
    case kReadCapability: return value < kCapabilities ? answer(0) : error(kEINVAL);
    case kDropCapability:
    case kSetSecureBits: return error(kEPERM);
    case kSetTimerSlack:
      if (!own_word(m, kProcessFlags)) return again();
      set_word(m, kProcessFlags, (u32)flags | ((i64)value > 0 ? (u64)(u32)value : 0) * kTimerSlack);
      return answer(0);
    case kGetTimerSlack: return answer((i64)(flags / kTimerSlack != 0 ? flags / kTimerSlack : kUsualSlack));
    case kSetReapsOrphans: return set_process_flag(m, kReapsOrphans, value != 0);
    case kGetReapsOrphans: return store_number(m, value, (flags & kReapsOrphans) != 0);
    case kSetNoNewPrivileges: return value != 1 || rest ? error(kEINVAL) : set_process_flag(m, kNoNewPrivileges, 1);
    case kGetNoNewPrivileges: return value != 0 || rest ? error(kEINVAL) : answer((flags & kNoNewPrivileges) != 0);
    case kSetNoHugePages: return rest ? error(kEINVAL) : set_process_flag(m, kNoHugePages, value != 0);
    case kGetNoHugePages: return value != 0 || rest ? error(kEINVAL) : answer((flags & kNoHugePages) != 0);
    default: return missing();
  }
}

template <Machine M>
MYR_OUTLINE Result personality(M& m) {
  constexpr u32 kQuery = ~(u32)0;
  const u32 wanted = (u32)m.argument(0);
  const u64 old = word(m, kPersonality);
  if (wanted != kQuery) {
    if (!own_word(m, kPersonality)) return again();
    set_word(m, kPersonality, wanted);
  }
  return answer((i64)old);
}
/// setfsuid and setfsgid: the id stays, and is returned.
template <Machine M>
MYR_FN Result set_file_id(M&) {
  return answer(kUserId);
}
template <Machine M>
MYR_FN Result not_permitted(M&) {
  return error(kEPERM);
}

// struct __user_cap_header_struct: version and process; __user_cap_data_struct: sets of 32 bits, effective, permitted, inheritable.
constexpr u32 kCapabilityHeaderBytes = 8, kCapabilityDataBytes = 12;
/// How many such structures the version of a header has; 0: it is unknown.
MYR_FN u32 capability_sets(u32 version) {
  return version == 0x19980330 ? 1 : version == 0x20071026 || version == 0x20080522 ? 2 : 0;
}
/// Tells the version that is known, as Linux does for one that is not.
template <Machine M>
MYR_FN Result refuse_version(M& m, u64 header, bool asks) {
  const Result stored = store_number(m, header, 0x20080522);
  if (stored.served != Served::answered || stored.value < 0) return stored;
  return asks ? answer(0) : error(kEINVAL);
}
template <Machine M>
MYR_OUTLINE Result capget(M& m) {
  const u64 header = m.argument(0), data = m.argument(1);
  if (!readable(m, header, 4)) return error(kEFAULT);
  const u32 sets = capability_sets(load<u32>(m, header));
  if (sets == 0) return refuse_version(m, header, data == 0);
  if (!readable(m, header, kCapabilityHeaderBytes)) return error(kEFAULT);
  const u32 process = load<u32>(m, header + 4);
  if ((i32)process < 0) return error(kEINVAL);
  if (!is_known_process(m, process)) return error(kESRCH);
  if (data == 0) return answer(0);
  const Storing storing = prepare(m, data, sets * kCapabilityDataBytes);
  if (storing != Storing::allowed) return not_stored(storing);
  for (u32 i = 0; i < sets * kCapabilityDataBytes; i += 4) store<u32>(m, data + i, 0);
  return answer(0);
}
/// It has no capabilities, and cannot get any.
template <Machine M>
MYR_OUTLINE Result capset(M& m) {
  const u64 header = m.argument(0), data = m.argument(1);
  if (!readable(m, header, 4)) return error(kEFAULT);
  const u32 sets = capability_sets(load<u32>(m, header));
  if (sets == 0) return refuse_version(m, header, false);
  if (!readable(m, header, kCapabilityHeaderBytes)) return error(kEFAULT);
  const u32 process = load<u32>(m, header + 4);
  if (process != 0 && process != process_id(m)) return error(kEPERM);
  if (!readable(m, data, sets * kCapabilityDataBytes)) return error(kEFAULT);
  for (u32 i = 0; i < sets * kCapabilityDataBytes; i += 4) {
    if (load<u32>(m, data + i) != 0) return error(kEPERM);
  }
  return answer(0);
}

}  // namespace myriarm::kernel
