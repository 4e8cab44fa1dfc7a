// SPDX-License-Identifier: Apache-2.0
// Data processing: shift instructions, and shifts of the second operand of other instructions.
#pragma once

#include "core/cpu.h"

namespace myriarm {

/// The architecture's two-bit kinds of shift.
enum class Shift : u8 { lsl, lsr, asr, ror };

/// ShiftReg() of the manual: `value` is zero-extended from kWidth bits, amount is below kWidth. Bits
/// of the result above kWidth are unspecified.
template <int kWidth>
MYR_FN u64 shift_value(u64 value, Shift shift, u32 amount) {
  if (kWidth == 64) {
    switch (shift) {
      case Shift::lsl: return value << amount;
      case Shift::lsr: return value >> amount;
      case Shift::asr: return (u64)((i64)value >> amount);
      default: return value >> amount | value << (-amount & 63);
    }
  }
  u32 value32 = (u32)value;
  switch (shift) {
    case Shift::lsl: return value32 << amount;
    case Shift::lsr: return value32 >> amount;
    case Shift::asr: return (u32)((i32)value32 >> amount);
    default: return value32 >> amount | value32 << (-amount & 31);
  }
}

/// Rm of the shifted-register forms. offset: kind of shift, aux: amount.
template <int kWidth, class Cpu>
MYR_FN u64 shifted_register(Cpu& cpu, const Operands& o) {
  return shift_value<kWidth>(read<kWidth>(cpu, o.rm), (Shift)o.offset, o.aux);
}

/// Rm of the extended-register forms, ExtendReg() of the manual, as two shifts, so that engines need no branch on the
/// kind. aux: bits above the extended part; offset: the left shift, with bit 8 set if the extension is signed.
/// This also serves 32-bit instructions, because bits of Rm above bit 31 do not reach the lower half of the result.
template <class Cpu>
MYR_FN u64 extended_register(Cpu& cpu, const Operands& o) {
  u64 top = cpu.r(o.rm) << o.aux;
  u64 extended = (o.offset & 0x100) ? (u64)((i64)top >> o.aux) : top >> o.aux;
  return extended << (o.offset & 7);
}

/// LSLV, LSRV, ASRV, RORV.
template <int kWidth, Shift kShift, class Cpu>
MYR_FN Outcome shift_variable(Cpu& cpu, const Operands& o) {
  u32 amount = (u32)cpu.r(o.rm) & (kWidth - 1);
  write<kWidth>(cpu, o.rd, shift_value<kWidth>(read<kWidth>(cpu, o.rn), kShift, amount));
  return Outcome::next;
}

}  // namespace myriarm
