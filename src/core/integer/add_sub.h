// SPDX-License-Identifier: Apache-2.0
// Data processing: addition and subtraction in all their forms.
#pragma once

#include "core/cpu.h"
#include "core/integer/shift.h"

namespace myriarm {

enum class AddSub : u8 { add, sub };
enum class Setting : u8 { keep_flags, set_flags };

/// AddWithCarry() of the manual for kWidth bits; `flags` gets the flags that the S variants write.
template <int kWidth>
MYR_FN u64 add_with_carry(u64 x, u64 y, bool carry_in, Flags& flags) {
  if (kWidth == 64) {
    u64 result = x + y + (u64)carry_in;
    flags.n = (i64)result < 0;
    flags.z = result == 0;
    flags.c = carry_in ? result <= x : result < x;
    flags.v = (i64)((x ^ result) & (y ^ result)) < 0;
    return result;
  }
  u32 x32 = (u32)x, y32 = (u32)y;
  u32 result = x32 + y32 + (u32)carry_in;
  flags.n = (i32)result < 0;
  flags.z = result == 0;
  flags.c = carry_in ? result <= x32 : result < x32;
  flags.v = (i32)((x32 ^ result) & (y32 ^ result)) < 0;
  return result;
}

/// The last step of all forms, with the operands computed.
template <int kWidth, AddSub kOp, Setting kSetting, class Cpu>
MYR_FN Outcome add_sub(Cpu& cpu, u32 rd, u64 operand1, u64 operand2) {
  if (kSetting == Setting::keep_flags) {
    write<kWidth>(cpu, rd, kOp == AddSub::add ? operand1 + operand2 : operand1 - operand2);
    return Outcome::next;
  }
  if constexpr (KeepsFlagSource<Cpu>) {
    cpu.template set_flags_of<kWidth, kOp>(operand1, operand2);
    write<kWidth>(cpu, rd, kOp == AddSub::add ? operand1 + operand2 : operand1 - operand2);
    return Outcome::next;
  }
  Flags flags;
  u64 result = kOp == AddSub::add ? add_with_carry<kWidth>(operand1, operand2, false, flags)
                                  : add_with_carry<kWidth>(operand1, ~operand2, true, flags);
  cpu.set_flags(flags);
  write<kWidth>(cpu, rd, result);
  return Outcome::next;
}

/// ADD, ADDS, SUB, SUBS (immediate). imm: the immediate, shifted.
template <int kWidth, AddSub kOp, Setting kSetting, class Cpu>
MYR_FN Outcome add_sub_imm(Cpu& cpu, const Operands& o) {
  return add_sub<kWidth, kOp, kSetting>(cpu, o.rd, read<kWidth>(cpu, o.rn), o.imm);
}

/// ADD, ADDS, SUB, SUBS (shifted register). offset: kind of shift, aux: amount.
template <int kWidth, AddSub kOp, Setting kSetting, class Cpu>
MYR_FN Outcome add_sub_shifted(Cpu& cpu, const Operands& o) {
  return add_sub<kWidth, kOp, kSetting>(cpu, o.rd, read<kWidth>(cpu, o.rn), shifted_register<kWidth>(cpu, o));
}

/// ADD, ADDS, SUB, SUBS (extended register). aux: the extension as the form packs it.
template <int kWidth, AddSub kOp, Setting kSetting, class Cpu>
MYR_FN Outcome add_sub_extended(Cpu& cpu, const Operands& o) {
  return add_sub<kWidth, kOp, kSetting>(cpu, o.rd, read<kWidth>(cpu, o.rn), extended_register(cpu, o));
}

/// ADC, ADCS, SBC, SBCS.
template <int kWidth, AddSub kOp, Setting kSetting, class Cpu>
MYR_FN Outcome add_sub_carry(Cpu& cpu, const Operands& o) {
  u64 operand1 = read<kWidth>(cpu, o.rn);
  u64 operand2 = read<kWidth>(cpu, o.rm);
  if (kOp == AddSub::sub) operand2 = ~operand2;
  Flags flags = cpu.flags();
  u64 result = add_with_carry<kWidth>(operand1, operand2, flags.c, flags);
  if (kSetting == Setting::set_flags) cpu.set_flags(flags);
  write<kWidth>(cpu, o.rd, result);
  return Outcome::next;
}

}  // namespace myriarm
