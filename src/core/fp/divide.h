// SPDX-License-Identifier: Apache-2.0
// Division and square root.
#pragma once

#include "core/fp/round.h"

namespace myriarm {

/// Divides high:low by divisor. high is less than divisor, and bit 63 of divisor is set. Schoolbook division with
/// 32-bit digits: a digit that is estimated from the divisor's upper half is at most two too large.
MYR_FN u64 divide_wide(u64 high, u64 low, u64 divisor, u64& remainder) {
  u64 upper = divisor >> 32, lower = (u32)divisor;
  u64 quotient = 0;
  for (int i = 0; i < 2; i++) {
    u64 next = i == 0 ? low >> 32 : (u64)(u32)low;
    u64 digit = high / upper, rest = high % upper;
    while (digit >> 32 != 0 || digit * lower > (rest << 32 | next)) {
      digit--;
      rest += upper;
      if (rest >> 32 != 0) break;
    }
    high = (high << 32 | next) - digit * divisor;
    quotient = quotient << 32 | digit;
  }
  remainder = high;
  return quotient;
}

template <int N>
MYR_OUTLINE u64 FPDiv(u64 op1, u64 op2, FpContext& ctx) {
  FpNumber a = FPUnpack<N>(op1, ctx), b = FPUnpack<N>(op2, ctx);
  u64 result;
  if (FPProcessNaNs<N>(a.type, b.type, op1, op2, ctx, result)) return result;
  bool sign = a.sign != b.sign;
  bool infinite1 = a.type == FPType::infinity, infinite2 = b.type == FPType::infinity;
  bool zero1 = a.type == FPType::zero, zero2 = b.type == FPType::zero;
  if ((infinite1 && infinite2) || (zero1 && zero2)) {
    FPProcessException(ctx, FPExc_InvalidOp);
    return FPDefaultNaN<N>();
  }
  if (infinite1 || zero2) {
    if (!infinite1) FPProcessException(ctx, FPExc_DivideByZero);
    return FPInfinity<N>(sign);
  }
  if (zero1 || infinite2) return FPZero<N>(sign);
  u64 quotient, remainder;
  if constexpr (N == 64) {
    quotient = divide_wide(a.fraction >> 1, a.fraction << 63, b.fraction, remainder);
  } else {
    u64 dividend = a.fraction >> 40 << 39, divisor = b.fraction >> 40;
    quotient = dividend / divisor << 24;
    remainder = dividend % divisor;
  }
  return FPRound<N>(sign, a.exponent - b.exponent, quotient | (remainder != 0), ctx, FPRoundingMode(ctx));
}

template <int N>
MYR_OUTLINE u64 FPSqrt(u64 op, FpContext& ctx) {
  FpNumber a = FPUnpack<N>(op, ctx);
  if (is_nan(a.type)) return FPProcessNaN<N>(a.type, op, ctx);
  if (a.type == FPType::zero) return FPZero<N>(a.sign);
  if (a.sign) {
    FPProcessException(ctx, FPExc_InvalidOp);
    return FPDefaultNaN<N>();
  }
  if (a.type == FPType::infinity) return FPInfinity<N>(false);
  // Bit by bit. The radicand is at least 1 and less than 4, with two bits before the binary point.
  constexpr int kRootBits = FpFormat<N>::kFractionBits + 3;
  u64 radicand = (a.exponent & 1) ? a.fraction : a.fraction >> 1;
  u64 root = 0, rest = 0;
  for (int i = 0; i < kRootBits; i++) {
    rest = rest << 2 | radicand >> 62;
    radicand <<= 2;
    u64 trial = root << 2 | 1;
    root <<= 1;
    if (rest >= trial) {
      rest -= trial;
      root |= 1;
    }
  }
  return FPRound<N>(false, a.exponent >> 1, root << (64 - kRootBits) | (rest != 0), ctx, FPRoundingMode(ctx));
}

}  // namespace myriarm
