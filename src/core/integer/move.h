// SPDX-License-Identifier: Apache-2.0
// Data processing: moves of constants and addresses into registers.
#pragma once

#include "core/cpu.h"

namespace myriarm {

/// MOVN, MOVZ. imm: the value that the register gets.
template <class Cpu>
MYR_FN Outcome move_imm(Cpu& cpu, const Operands& o) {
  cpu.set_r(o.rd, o.imm);
  return Outcome::next;
}

/// MOVK. rn: the destination as a source; offset: bit position, aux: imm16.
template <int kWidth, class Cpu>
MYR_FN Outcome move_keep(Cpu& cpu, const Operands& o) {
  u64 kept = cpu.r(o.rn) & ~((u64)0xFFFF << o.offset);
  write<kWidth>(cpu, o.rd, kept | (u64)o.aux << o.offset);
  return Outcome::next;
}

/// ADR. offset: bytes from this instruction.
template <class Cpu>
MYR_FN Outcome address(Cpu& cpu, const Operands& o) {
  cpu.set_r(o.rd, cpu.pc() + (u64)(i64)o.offset);
  return Outcome::next;
}

/// ADRP. imm: bytes from the start of this instruction's 4 KiB page.
template <class Cpu>
MYR_FN Outcome address_of_page(Cpu& cpu, const Operands& o) {
  cpu.set_r(o.rd, (cpu.pc() & ~(u64)0xFFF) + o.imm);
  return Outcome::next;
}

}  // namespace myriarm
