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

/// Bits of kProcessFlags: what prctl() keeps and shows, and that nothing depends on.
enum ProcessFlag : u64 {
  kNotDumpable = 1,
  kKeepsCapabilities = 2,
  kReapsOrphans = 4,
  kNoNewPrivileges = 8,
  kNoHugePages = 16,
  kParentSignal = 0x100,  // times the number, 7 bits
  kTimerSlack = (u64)1 << 32,
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
  if (!is_self(process)) return error(kESRCH);
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
  if (!is_self(load<u32>(m, header + 4))) return error(kEPERM);
  if (!readable(m, data, sets * kCapabilityDataBytes)) return error(kEFAULT);
  for (u32 i = 0; i < sets * kCapabilityDataBytes; i += 4) {
    if (load<u32>(m, data + i) != 0) return error(kEPERM);
  }
  return answer(0);
}

}  // namespace myriarm::kernel
