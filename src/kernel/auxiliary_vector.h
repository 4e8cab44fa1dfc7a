// SPDX-License-Identifier: Apache-2.0
// The auxiliary vector of a process (getauxval(3)), for its first program and for those that it executes.
#pragma once

#include "kernel/process.h"

namespace myriarm::kernel {

/// What differs between programs.
struct AuxiliaryFacts {
  u64 program_headers, program_header_count, interpreter_base, entry;
  u64 random, file_name, platform;  // addresses
};
constexpr u32 kAuxiliaryPairs = 19;

/// Calls put(tag, value) for each pair, the last one included.
template <class Put>
MYR_FN void for_auxiliary(const AuxiliaryFacts& facts, u64 hwcap, u64 hwcap2, Put put) {
  // clang-format off
  enum Tag : u64 { kNull = 0, kHeaders = 3, kHeaderBytes = 4, kHeaderCount = 5, kPageBytesTag = 6, kBase = 7, kFlags = 8,
                   kEntry = 9, kUser = 11, kEffectiveUser = 12, kGroup = 13, kEffectiveGroup = 14, kPlatform = 15, kHwcap = 16,
                   kClockTicks = 17, kSecure = 23, kRandom = 25, kHwcap2 = 26, kFileName = 31 };
  // clang-format on
  constexpr u64 kProgramHeaderBytes = 56, kTicks = 100;
  put(kHwcap, hwcap);
  put(kPageBytesTag, (u64)kPageSize);
  put(kClockTicks, kTicks);
  put(kHeaders, facts.program_headers);
  put(kHeaderBytes, kProgramHeaderBytes);
  put(kHeaderCount, facts.program_header_count);
  put(kBase, facts.interpreter_base);
  put(kFlags, (u64)0);
  put(kEntry, facts.entry);
  put(kUser, (u64)kUserId);
  put(kEffectiveUser, (u64)kUserId);
  put(kGroup, (u64)kUserId);
  put(kEffectiveGroup, (u64)kUserId);
  put(kSecure, (u64)0);
  put(kRandom, facts.random);
  put(kHwcap2, hwcap2);
  put(kFileName, facts.file_name);
  put(kPlatform, facts.platform);
  put(kNull, (u64)0);
}

}  // namespace myriarm::kernel
