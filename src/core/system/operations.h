// SPDX-License-Identifier: Apache-2.0
// Hints, barriers and SYS operations. A lane runs alone, in program order, and its caches are always coherent, so only
// CLREX and DC ZVA have an effect.
#pragma once

#include "core/cpu.h"
#include "core/system/id_registers.h"

namespace myriarm {

/// HINT (NOP, YIELD, WFE, SEV, ESB, CSDB; also PAC and BTI, which do nothing without their extensions), DSB, DMB, ISB.
template <class Cpu>
MYR_FN Outcome no_operation(Cpu&, const Operands&) {
  return Outcome::next;
}

/// CLREX.
template <class Cpu>
MYR_FN Outcome clear_exclusive(Cpu& cpu, const Operands&) {
  cpu.set_system(SystemField::monitor, kMonitorOpen);
  return Outcome::next;
}

/// DC ZVA: zeroes the aligned block that contains the address. A block lies within one page, so only the first store
/// can be refused, and then the instruction can be run again.
template <class Cpu>
MYR_FN Outcome zero_block(Cpu& cpu, u64 address) {
  constexpr u64 kBlock = (u64)4 << kDczid;
  address &= ~(kBlock - 1);
  for (u64 offset = 0; offset < kBlock; offset += 16) {
    if (!store_pair<u64>(cpu, address + offset, 0, 0)) return Outcome::stop;
  }
  return Outcome::next;
}

/// SYS. aux: the operation's key; rn: Rt. EL0 may run DC ZVA and, as Linux permits, cache maintenance by address.
template <class Cpu>
MYR_FN Outcome system_operation(Cpu& cpu, const Operands& o) {
  switch (o.aux) {
    case system_key(1, 3, 7, 4, 1): return zero_block(cpu, cpu.r(o.rn));
    case system_key(1, 3, 7, 5, 1):   // IC IVAU
    case system_key(1, 3, 7, 10, 1):  // DC CVAC
    case system_key(1, 3, 7, 11, 1):  // DC CVAU
    case system_key(1, 3, 7, 12, 1):  // DC CVAP
    case system_key(1, 3, 7, 14, 1):  // DC CIVAC
      return Outcome::next;
    default: return cpu.undefined();
  }
}

/// SYSL: in Armv8.2 EL0 may run none of its operations.
template <class Cpu>
MYR_FN Outcome system_operation_with_result(Cpu& cpu, const Operands&) {
  return cpu.undefined();
}

}  // namespace myriarm
