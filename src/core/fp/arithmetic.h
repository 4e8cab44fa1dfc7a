// SPDX-License-Identifier: Apache-2.0
// Sign operations, addition, multiplication, maximum and minimum.
#pragma once

#include "core/fp/round.h"

namespace myriarm {

template <int N>
MYR_FN u64 FPNeg(u64 op) {
  return op ^ FpFormat<N>::kSign;
}
template <int N>
MYR_FN u64 FPAbs(u64 op) {
  return op & ~FpFormat<N>::kSign;
}

/// op1 + op2, or op1 - op2. The sign of a NaN operand is not changed.
template <int N, bool kSubtract>
MYR_OUTLINE u64 add_or_subtract(u64 op1, u64 op2, FpContext& ctx) {
  FPRounding rounding = FPRoundingMode(ctx);
  FpNumber a = FPUnpack<N>(op1, ctx), b = FPUnpack<N>(op2, ctx);
  u64 result;
  if (FPProcessNaNs<N>(a.type, b.type, op1, op2, ctx, result)) return result;
  if (kSubtract) b.sign = !b.sign;
  bool infinite1 = a.type == FPType::infinity, infinite2 = b.type == FPType::infinity;
  if (infinite1 || infinite2) {
    if (infinite1 && infinite2 && a.sign != b.sign) {
      FPProcessException(ctx, FPExc_InvalidOp);
      return FPDefaultNaN<N>();
    }
    return FPInfinity<N>(infinite1 ? a.sign : b.sign);
  }
  if (a.fraction == 0 && b.fraction == 0 && a.sign == b.sign) return FPZero<N>(a.sign);
  if (b.exponent > a.exponent || (b.exponent == a.exponent && b.fraction > a.fraction)) {
    FpNumber other = a;
    a = b;
    b = other;
  }
  // One bit is left free for the carry. The larger fraction has at least ten zero bits below its 53 bits. If the
  // smaller one is shifted by more than that, the difference has at most one leading zero, and the sticky bit stays
  // below the bits that are kept.
  u64 larger = a.fraction >> 1, smaller = shift_right_sticky(b.fraction >> 1, (u32)(a.exponent - b.exponent));
  u64 sum = a.sign == b.sign ? larger + smaller : larger - smaller;
  if (sum == 0) return zero_sum<N>(rounding);
  return FPRound<N>(a.sign, a.exponent + 1, sum, ctx, rounding);
}
template <int N>
MYR_FN u64 FPAdd(u64 op1, u64 op2, FpContext& ctx) {
  return add_or_subtract<N, false>(op1, op2, ctx);
}
template <int N>
MYR_FN u64 FPSub(u64 op1, u64 op2, FpContext& ctx) {
  return add_or_subtract<N, true>(op1, op2, ctx);
}

/// FPMul(), and with kExtended FPMulX(), where zero times infinity is 2.
template <int N, bool kExtended>
MYR_OUTLINE u64 multiply_numbers(u64 op1, u64 op2, FpContext& ctx) {
  FpNumber a = FPUnpack<N>(op1, ctx), b = FPUnpack<N>(op2, ctx);
  u64 result;
  if (FPProcessNaNs<N>(a.type, b.type, op1, op2, ctx, result)) return result;
  bool sign = a.sign != b.sign;
  bool infinite = a.type == FPType::infinity || b.type == FPType::infinity;
  if (a.type == FPType::zero || b.type == FPType::zero) {
    if (!infinite) return FPZero<N>(sign);
    if (kExtended) return FPPowerOfTwo<N>(sign, 1);
    FPProcessException(ctx, FPExc_InvalidOp);
    return FPDefaultNaN<N>();
  }
  if (infinite) return FPInfinity<N>(sign);
  u64 low = a.fraction * b.fraction;
  u64 product = multiply_high_unsigned(a.fraction, b.fraction) | (low != 0);
  return FPRound<N>(sign, a.exponent + b.exponent + 1, product, ctx, FPRoundingMode(ctx));
}
template <int N>
MYR_FN u64 FPMul(u64 op1, u64 op2, FpContext& ctx) {
  return multiply_numbers<N, false>(op1, op2, ctx);
}
template <int N>
MYR_FN u64 FPMulX(u64 op1, u64 op2, FpContext& ctx) {
  return multiply_numbers<N, true>(op1, op2, ctx);
}

/// -1, 0 or 1 if a is less than, equal to or greater than b. Neither is a NaN.
MYR_FN int compare_numbers(const FpNumber& a, const FpNumber& b) {
  bool zero1 = a.type == FPType::zero, zero2 = b.type == FPType::zero;
  if (zero1 && zero2) return 0;
  // If one is zero, the sign of the other decides.
  if (zero1) return b.sign ? 1 : -1;
  if (zero2 || a.sign != b.sign) return a.sign ? -1 : 1;
  bool infinite1 = a.type == FPType::infinity, infinite2 = b.type == FPType::infinity;
  int magnitude;
  if (infinite1 || infinite2) {
    magnitude = (int)infinite1 - (int)infinite2;
  } else if (a.exponent != b.exponent) {
    magnitude = a.exponent < b.exponent ? -1 : 1;
  } else {
    magnitude = a.fraction == b.fraction ? 0 : a.fraction < b.fraction ? -1 : 1;
  }
  return a.sign ? -magnitude : magnitude;
}

/// FPMax(), FPMin(); with kNumber FPMaxNum(), FPMinNum(), which return the number if the other operand is a quiet NaN.
template <int N, bool kMin, bool kNumber>
MYR_OUTLINE u64 larger_or_smaller(u64 op1, u64 op2, FpContext& ctx) {
  FpNumber a = FPUnpack<N>(op1, ctx), b = FPUnpack<N>(op2, ctx);
  if (kNumber && a.type == FPType::quiet_nan && b.type != FPType::quiet_nan) {
    a.type = FPType::infinity;
    a.sign = !kMin;
    op1 = FPInfinity<N>(a.sign);
  } else if (kNumber && b.type == FPType::quiet_nan && a.type != FPType::quiet_nan) {
    b.type = FPType::infinity;
    b.sign = !kMin;
    op2 = FPInfinity<N>(b.sign);
  }
  u64 result;
  if (FPProcessNaNs<N>(a.type, b.type, op1, op2, ctx, result)) return result;
  int order = compare_numbers(a, b);
  bool first = kMin ? order < 0 : order > 0;
  FPType type = first ? a.type : b.type;
  if (type == FPType::zero) return FPZero<N>(kMin ? a.sign || b.sign : a.sign && b.sign);
  return first ? op1 : op2;
}
template <int N, class Ctx>
MYR_FN u64 FPMax(u64 op1, u64 op2, Ctx& ctx) {
  return larger_or_smaller<N, false, false>(op1, op2, ctx);
}
template <int N, class Ctx>
MYR_FN u64 FPMin(u64 op1, u64 op2, Ctx& ctx) {
  return larger_or_smaller<N, true, false>(op1, op2, ctx);
}
template <int N, class Ctx>
MYR_FN u64 FPMaxNum(u64 op1, u64 op2, Ctx& ctx) {
  return larger_or_smaller<N, false, true>(op1, op2, ctx);
}
template <int N, class Ctx>
MYR_FN u64 FPMinNum(u64 op1, u64 op2, Ctx& ctx) {
  return larger_or_smaller<N, true, true>(op1, op2, ctx);
}

}  // namespace myriarm
