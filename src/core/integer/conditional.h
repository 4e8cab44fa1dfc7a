// SPDX-License-Identifier: Apache-2.0
// Data processing: conditional compare and conditional select.
#pragma once

#include "core/cpu.h"
#include "core/integer/add_sub.h"

namespace myriarm {

/// The last step of CCMN (add) and CCMP (sub). offset: cond; nzcv: the flags if the condition fails.
template <int kWidth, AddSub kOp, class Cpu>
MYR_FN Outcome conditional_compare(Cpu& cpu, const Operands& o, u64 operand2, u32 nzcv) {
  if constexpr (KeepsFlagSource<Cpu>) {
    Flags flags;
    const u64 operand1 = read<kWidth>(cpu, o.rn);
    add_with_carry<kWidth>(operand1, kOp == AddSub::add ? operand2 : ~operand2, kOp == AddSub::sub, flags);
    cpu.set_flags(condition(cpu, (u32)o.offset) ? flags : unpack_flags(nzcv));
    return Outcome::next;
  }
  Flags flags = cpu.flags();
  if (condition_holds((u32)o.offset, flags)) {
    u64 operand1 = read<kWidth>(cpu, o.rn);
    add_with_carry<kWidth>(operand1, kOp == AddSub::add ? operand2 : ~operand2, kOp == AddSub::sub, flags);
  } else {
    flags = unpack_flags(nzcv);
  }
  cpu.set_flags(flags);
  return Outcome::next;
}

/// CCMN, CCMP (register). offset: cond, aux: nzcv.
template <int kWidth, AddSub kOp, class Cpu>
MYR_FN Outcome conditional_compare_register(Cpu& cpu, const Operands& o) {
  return conditional_compare<kWidth, kOp>(cpu, o, read<kWidth>(cpu, o.rm), o.aux);
}

/// CCMN, CCMP (immediate). offset: cond, aux: nzcv in bits 3:0, imm5 above.
template <int kWidth, AddSub kOp, class Cpu>
MYR_FN Outcome conditional_compare_imm(Cpu& cpu, const Operands& o) {
  return conditional_compare<kWidth, kOp>(cpu, o, o.aux >> 4, o.aux & 15);
}

/// What happens to Rm if the condition fails.
enum class Select : u8 { as_is, increment, invert, negate };

/// CSEL, CSINC, CSINV, CSNEG. imm: cond.
template <int kWidth, Select kElse, class Cpu>
MYR_FN Outcome conditional_select(Cpu& cpu, const Operands& o) {
  u64 taken = cpu.r(o.rn), other = cpu.r(o.rm);
  switch (kElse) {
    case Select::as_is: break;
    case Select::increment: other = other + 1; break;
    case Select::invert: other = ~other; break;
    case Select::negate: other = 0 - other; break;
  }
  write<kWidth>(cpu, o.rd, condition(cpu, (u32)o.imm) ? taken : other);
  return Outcome::next;
}

}  // namespace myriarm
