// SPDX-License-Identifier: Apache-2.0
// MRS and MSR (register): the system registers that EL0 can access. Access to any other is undefined.
#pragma once

#include "core/cpu.h"
#include "core/system/id_registers.h"

namespace myriarm {

/// The writable bits of FPCR (AHP, DN, FZ, RMode, FZ16) and of FPSR (QC, IDC, IXC, UFC, OFC, DZC, IOC).
constexpr u64 kFpcrMask = 0x07C80000;
constexpr u64 kFpsrMask = 0x0800009F;

constexpr u32 kKeyNzcv = system_key(3, 3, 4, 2, 0);
constexpr u32 kKeyFpcr = system_key(3, 3, 4, 4, 0);
constexpr u32 kKeyFpsr = system_key(3, 3, 4, 4, 1);
constexpr u32 kKeyTpidr = system_key(3, 3, 13, 0, 2);
constexpr u32 kKeyTpidrro = system_key(3, 3, 13, 0, 3);
constexpr u32 kKeyCtr = system_key(3, 3, 0, 0, 1);
constexpr u32 kKeyDczid = system_key(3, 3, 0, 0, 7);
constexpr u32 kKeyCntfrq = system_key(3, 3, 14, 0, 0);
constexpr u32 kKeyCntvct = system_key(3, 3, 14, 0, 2);

/// MRS. aux: the register's key.
template <class Cpu>
MYR_FN Outcome read_system_register(Cpu& cpu, const Operands& o) {
  u64 value;
  switch (o.aux) {
    case kKeyTpidr: value = cpu.system(SystemField::tpidr); break;
    case kKeyNzcv: value = (u64)pack_flags(cpu.flags()) << 28; break;
    case kKeyFpcr: value = cpu.system(SystemField::fpcr); break;
    case kKeyFpsr: value = cpu.system(SystemField::fpsr); break;
    case kKeyTpidrro: value = 0; break;  // Linux keeps it at zero for 64-bit programs
    case kKeyCtr: value = kCtr; break;
    case kKeyDczid: value = kDczid; break;
    case kKeyCntfrq: value = kCntfrq; break;
    case kKeyCntvct: value = cpu.retired(); break;
    default:
      if (!is_id_register(o.aux)) return cpu.undefined();
      value = id_register(o.aux);
      break;
  }
  cpu.set_r(o.rd, value);
  return Outcome::next;
}

/// MSR (register). aux: the register's key; rn: Rt.
template <class Cpu>
MYR_FN Outcome write_system_register(Cpu& cpu, const Operands& o) {
  u64 value = cpu.r(o.rn);
  switch (o.aux) {
    case kKeyTpidr: cpu.set_system(SystemField::tpidr, value); break;
    case kKeyNzcv: cpu.set_flags(unpack_flags((u32)(value >> 28) & 15)); break;
    case kKeyFpcr: cpu.set_system(SystemField::fpcr, value & kFpcrMask); break;
    case kKeyFpsr: cpu.set_system(SystemField::fpsr, value & kFpsrMask); break;
    default: return cpu.undefined();
  }
  return Outcome::next;
}

}  // namespace myriarm
