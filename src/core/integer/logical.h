// SPDX-License-Identifier: Apache-2.0
// Data processing: bitwise operations.
#pragma once

#include "core/cpu.h"
#include "core/integer/add_sub.h"
#include "core/integer/shift.h"

namespace myriarm {

enum class Logical : u8 { and_, orr, eor };
enum class Invert : u8 { no, yes };

/// The flags that the S variants write: they clear C and V.
template <int kWidth>
MYR_FN Flags logical_flags(u64 result) {
  return {((result >> (kWidth - 1)) & 1) != 0, result == 0, false, false};
}

/// The last step of all forms.
template <int kWidth, Logical kOp, Setting kSetting, class Cpu>
MYR_FN Outcome logical(Cpu& cpu, u32 rd, u64 operand1, u64 operand2) {
  u64 result = kOp == Logical::and_  ? operand1 & operand2
               : kOp == Logical::orr ? operand1 | operand2
                                     : operand1 ^ operand2;
  if (kWidth == 32) result = (u32)result;
  if (kSetting == Setting::set_flags) {
    if constexpr (KeepsFlagSource<Cpu>) {
      cpu.template set_flags_of_logical<kWidth>(result);
    } else {
      cpu.set_flags(logical_flags<kWidth>(result));
    }
  }
  cpu.set_r(rd, result);
  return Outcome::next;
}

/// AND, ORR, EOR, ANDS (immediate). imm: the expanded bitmask.
template <int kWidth, Logical kOp, Setting kSetting, class Cpu>
MYR_FN Outcome logical_imm(Cpu& cpu, const Operands& o) {
  return logical<kWidth, kOp, kSetting>(cpu, o.rd, cpu.r(o.rn), o.imm);
}

/// AND, BIC, ORR, ORN, EOR, EON, ANDS, BICS (shifted register). offset: kind of shift, aux: amount.
template <int kWidth, Logical kOp, Invert kInvert, Setting kSetting, class Cpu>
MYR_FN Outcome logical_shifted(Cpu& cpu, const Operands& o) {
  u64 operand2 = shifted_register<kWidth>(cpu, o);
  if (kInvert == Invert::yes) operand2 = ~operand2;
  return logical<kWidth, kOp, kSetting>(cpu, o.rd, cpu.r(o.rn), operand2);
}

}  // namespace myriarm
