// SPDX-License-Identifier: Apache-2.0
// The ID registers as a program sees them under Linux, which emulates the reads of S3_0_C0_C0 and S3_0_C0_C2 to C7 by
// user space and hides what a program cannot use. The fields of features come from features.inc.
#pragma once

#include "core/system/features.h"

namespace myriarm {

/// A system register's name as one number: op0:op1:CRn:CRm:op2, bits 20:5 of MSR, MRS and SYS.
constexpr u32 system_key(u32 op0, u32 op1, u32 crn, u32 crm, u32 op2) {
  return op0 << 14 | op1 << 11 | crn << 7 | crm << 3 | op2;
}

/// A 4-bit field of an ID register.
constexpr u64 id_field(int low_bit, u64 value) { return value << low_bit; }

// Implementer 0 (software), variant 0, architecture by ID registers, part 0xA64, revision 0.
constexpr u64 kMidr = 0x000FA640;
constexpr u64 kMpidr = (u64)1 << 31;  // Linux shows no other bit
constexpr u64 kRevidr = 0;

constexpr u64 kIdPfr0 = id_field(0, 1)    // EL0: AArch64 only
                        | id_field(4, 1)  // EL1: the same
                        | feature_fields(IdRegister::PFR0);
constexpr u64 kIdIsar0 = feature_fields(IdRegister::ISAR0);
constexpr u64 kIdIsar1 = feature_fields(IdRegister::ISAR1);
constexpr u64 kIdDfr0 = id_field(0, 6);     // DebugVer: the safe value that Linux shows
constexpr u64 kIdMmfr0 = id_field(24, 0xF)  // TGran64, TGran4: hidden, so shown as not supported
                         | id_field(28, 0xF);

/// Cache type: 64-byte lines, physically tagged, and neither cleaning (IDC) nor invalidation (DIC) is needed
/// before new instructions are run, since the engines notice every store to executed memory.
constexpr u64 kCtr = (u64)1 << 31 | 1 << 29 | 1 << 28 | 4 << 24 | 4 << 20 | 4 << 16 | 3 << 14 | 4;
/// DC ZVA zeroes 4 << kDczid bytes.
constexpr u64 kDczid = 4;
/// Ticks of the counter per second: one for each retired instruction, at a nominal 1 GHz.
constexpr u64 kCntfrq = 1'000'000'000;

/// True if Linux answers an MRS of this register in place of the processor.
MYR_FN bool is_id_register(u32 key) {
  u32 crm = key >> 3 & 15;
  if (key >> 7 != system_key(3, 0, 0, 0, 0) >> 7) return false;
  return (crm >= 2 && crm <= 7) || key == system_key(3, 0, 0, 0, 0) || key == system_key(3, 0, 0, 0, 5) ||
         key == system_key(3, 0, 0, 0, 6);
}

/// The value of an ID register; those that are not listed read as zero.
MYR_FN u64 id_register(u32 key) {
  switch (key) {
    case system_key(3, 0, 0, 0, 0): return kMidr;
    case system_key(3, 0, 0, 0, 5): return kMpidr;
    case system_key(3, 0, 0, 0, 6): return kRevidr;
    case system_key(3, 0, 0, 4, 0): return kIdPfr0;
    case system_key(3, 0, 0, 5, 0): return kIdDfr0;
    case system_key(3, 0, 0, 6, 0): return kIdIsar0;
    case system_key(3, 0, 0, 6, 1): return kIdIsar1;
    case system_key(3, 0, 0, 7, 0): return kIdMmfr0;
    default: return 0;
  }
}

}  // namespace myriarm
