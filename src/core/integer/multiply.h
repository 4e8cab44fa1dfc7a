// SPDX-License-Identifier: Apache-2.0
// Data processing: multiplication and division.
#pragma once

#include "core/cpu.h"
#include "core/integer/add_sub.h"

namespace myriarm {

enum class Sign : u8 { signed_, unsigned_ };

/// MADD, MSUB. ra: the addend, or the number from which the product is subtracted.
template <int kWidth, AddSub kOp, class Cpu>
MYR_FN Outcome multiply_add(Cpu& cpu, const Operands& o) {
  u64 product = read<kWidth>(cpu, o.rn) * read<kWidth>(cpu, o.rm);
  u64 addend = cpu.r(o.ra);
  write<kWidth>(cpu, o.rd, kOp == AddSub::add ? addend + product : addend - product);
  return Outcome::next;
}

/// SMADDL, UMADDL, SMSUBL, UMSUBL: 32 bits times 32, with a 64-bit addend.
template <Sign kSign, AddSub kOp, class Cpu>
MYR_FN Outcome multiply_add_long(Cpu& cpu, const Operands& o) {
  u32 x = (u32)cpu.r(o.rn), y = (u32)cpu.r(o.rm);
  u64 product = kSign == Sign::signed_ ? (u64)((i64)(i32)x * (i32)y) : (u64)x * y;
  u64 addend = cpu.r(o.ra);
  cpu.set_r(o.rd, kOp == AddSub::add ? addend + product : addend - product);
  return Outcome::next;
}

/// SMULH, UMULH.
template <Sign kSign, class Cpu>
MYR_FN Outcome multiply_high(Cpu& cpu, const Operands& o) {
  u64 x = cpu.r(o.rn), y = cpu.r(o.rm);
  cpu.set_r(o.rd, kSign == Sign::signed_ ? (u64)multiply_high_signed((i64)x, (i64)y) : multiply_high_unsigned(x, y));
  return Outcome::next;
}

/// UDIV, SDIV: rounds toward zero. Division by zero gives 0; the only overflow, minimum / -1, gives the minimum.
template <int kWidth, Sign kSign, class Cpu>
MYR_FN Outcome divide(Cpu& cpu, const Operands& o) {
  u64 dividend = read<kWidth>(cpu, o.rn), divisor = read<kWidth>(cpu, o.rm);
  u64 quotient;
  if (divisor == 0) {
    quotient = 0;
  } else if (kSign == Sign::unsigned_) {
    quotient = kWidth == 64 ? dividend / divisor : (u64)((u32)dividend / (u32)divisor);
  } else if (kWidth == 64) {
    quotient = divisor == ~(u64)0 ? 0 - dividend : (u64)((i64)dividend / (i64)divisor);
  } else {
    quotient = (u32)divisor == ~(u32)0 ? 0 - dividend : (u64)((i32)(u32)dividend / (i32)(u32)divisor);
  }
  write<kWidth>(cpu, o.rd, quotient);
  return Outcome::next;
}

}  // namespace myriarm
