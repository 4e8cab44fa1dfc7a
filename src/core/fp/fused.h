// SPDX-License-Identifier: Apache-2.0
// Multiply-add with a single rounding.
#pragma once

#include "core/fp/arithmetic.h"
#include "core/fp/convert_nan.h"

namespace myriarm {

/// A number with a 128-bit fraction: high:low * 2^(exponent - 127). Bit 127 is set unless the number is zero.
struct WideNumber {
  bool sign;
  i32 exponent;
  u64 high, low;
};

MYR_FN WideNumber widen(const FpNumber& a) { return {a.sign, a.exponent, a.fraction, 0}; }

MYR_FN WideNumber multiply_exactly(const FpNumber& a, const FpNumber& b) {
  WideNumber p = {a.sign != b.sign, a.exponent + b.exponent + 1, multiply_high_unsigned(a.fraction, b.fraction),
                  a.fraction * b.fraction};
  if (p.high >> 63 == 0) {
    p.exponent--;
    p.high = p.high << 1 | p.low >> 63;
    p.low <<= 1;
  }
  return p;
}

/// Shifts right; bits that are shifted out are ORed into the lowest bit.
MYR_FN void shift_right_sticky(WideNumber& a, u32 count) {
  if (count > 63) {
    a.low = a.high | (a.low != 0);
    a.high = 0;
    a.low = shift_right_sticky(a.low, count - 64);
  } else if (count != 0) {
    u64 lost = a.low << (64 - count);
    a.low = a.high << (64 - count) | a.low >> count | (lost != 0);
    a.high >>= count;
  }
}

/// a + b rounded to N bits; with halve, (a + b) / 2.
template <int N>
MYR_FN u64 add_wide(WideNumber a, WideNumber b, bool halve, FpContext& ctx) {
  FPRounding rounding = FPRoundingMode(ctx);
  if (b.exponent > a.exponent ||
      (b.exponent == a.exponent && (b.high > a.high || (b.high == a.high && b.low > a.low)))) {
    WideNumber other = a;
    a = b;
    b = other;
  }
  // The lowest 22 bits of both are zero, so shifting by one for the carry loses nothing.
  shift_right_sticky(b, (u32)(a.exponent - b.exponent) + 1);
  shift_right_sticky(a, 1);
  u64 low, high;
  if (a.sign == b.sign) {
    low = a.low + b.low;
    high = a.high + b.high + (low < a.low);
  } else {
    low = a.low - b.low;
    high = a.high - b.high - (a.low < b.low);
  }
  if ((high | low) == 0) return zero_sum<N>(rounding);
  i32 exponent = a.exponent + 1 - (i32)halve;
  if (high == 0) {
    exponent -= 64;
    high = low;
    low = 0;
  }
  u32 shift = count_leading_zeros64(high);
  if (shift != 0) {
    high = high << shift | low >> (64 - shift);
    low <<= shift;
  }
  return FPRound<N>(a.sign, exponent - (i32)shift, high | (low != 0), ctx, rounding);
}

/// If an operand is a NaN, sets the result and returns true. The first signalling NaN wins, else the first quiet one.
/// The first operand and the result have N bits, the others M.
template <int N, int M>
MYR_FN bool FPProcessNaNs3(FPType type1, FPType type2, FPType type3, u64 op1, u64 op2, u64 op3, FpContext& ctx,
                           u64& result) {
  if (MYR_LIKELY(!is_nan(type1) && !is_nan(type2) && !is_nan(type3))) return false;
  FPType wanted = FPType::quiet_nan;
  if (type1 == FPType::signalling_nan || type2 == FPType::signalling_nan || type3 == FPType::signalling_nan) {
    wanted = FPType::signalling_nan;
  }
  if (type1 == wanted) {
    result = FPProcessNaN<N>(wanted, op1, ctx);
  } else {
    result = FPProcessNaN<N>(wanted, FPConvertNaN<M, N>(type2 == wanted ? op2 : op3), ctx);
  }
  return true;
}

/// addend + op1 * op2. M is the width of op1 and op2; if it is less than N, this is FPMulAddH().
template <int N, int M = N>
MYR_OUTLINE u64 FPMulAdd(u64 addend, u64 op1, u64 op2, FpContext& ctx) {
  FpNumber a = FPUnpack<N>(addend, ctx), x = FPUnpack<M>(op1, ctx), y = FPUnpack<M>(op2, ctx);
  bool infinite1 = x.type == FPType::infinity, infinite2 = y.type == FPType::infinity;
  bool zero1 = x.type == FPType::zero, zero2 = y.type == FPType::zero;
  bool invalid_product = (infinite1 && zero2) || (zero1 && infinite2);
  u64 result;
  if (FPProcessNaNs3<N, M>(a.type, x.type, y.type, addend, op1, op2, ctx, result)) {
    if (a.type == FPType::quiet_nan && invalid_product) {
      FPProcessException(ctx, FPExc_InvalidOp);
      return FPDefaultNaN<N>();
    }
    return result;
  }
  bool sign = x.sign != y.sign;
  bool infinite_sum = a.type == FPType::infinity, infinite_product = infinite1 || infinite2;
  if (invalid_product || (infinite_sum && infinite_product && a.sign != sign)) {
    FPProcessException(ctx, FPExc_InvalidOp);
    return FPDefaultNaN<N>();
  }
  if (infinite_sum) return FPInfinity<N>(a.sign);
  if (infinite_product) return FPInfinity<N>(sign);
  if (a.type == FPType::zero && (zero1 || zero2) && a.sign == sign) return FPZero<N>(sign);
  return add_wide<N>(widen(a), multiply_exactly(x, y), false, ctx);
}

/// FMLAL and similar: half-precision factors, a single-precision sum.
MYR_FN u64 FPMulAddH(u64 addend, u64 op1, u64 op2, FpContext& ctx) { return FPMulAdd<32, 16>(addend, op1, op2, ctx); }

/// A step of Newton's iteration: 2 - op1 * op2, or with kSqrt (3 - op1 * op2) / 2.
template <int N, bool kSqrt>
MYR_OUTLINE u64 step_fused(u64 op1, u64 op2, FpContext& ctx) {
  op1 = FPNeg<N>(op1);
  FpNumber x = FPUnpack<N>(op1, ctx), y = FPUnpack<N>(op2, ctx);
  u64 result;
  if (FPProcessNaNs<N>(x.type, y.type, op1, op2, ctx, result)) return result;
  if (x.type == FPType::infinity || y.type == FPType::infinity) {
    if (x.type != FPType::zero && y.type != FPType::zero) return FPInfinity<N>(x.sign != y.sign);
    // 2, or 1.5
    return kSqrt ? FPPowerOfTwo<N>(false, 0) | FpFormat<N>::kQuiet : FPPowerOfTwo<N>(false, 1);
  }
  WideNumber constant = {false, 1, (u64)(kSqrt ? 3 : 2) << 62, 0};
  return add_wide<N>(constant, multiply_exactly(x, y), kSqrt, ctx);
}
template <int N>
MYR_FN u64 FPRecipStepFused(u64 op1, u64 op2, FpContext& ctx) {
  return step_fused<N, false>(op1, op2, ctx);
}
template <int N>
MYR_FN u64 FPRSqrtStepFused(u64 op1, u64 op2, FpContext& ctx) {
  return step_fused<N, true>(op1, op2, ctx);
}

}  // namespace myriarm
