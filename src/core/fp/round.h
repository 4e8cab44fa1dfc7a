// SPDX-License-Identifier: Apache-2.0
// Rounds a value to the bits of a number. Of the bits that do not fit into 64, rounding needs only to know whether any
// is set; the lowest bit that is kept says so (it is "sticky").
#pragma once

#include "core/fp/unpack.h"

namespace myriarm {

/// value >> count; bits that are shifted out are ORed into the lowest bit.
MYR_FN u64 shift_right_sticky(u64 value, u32 count) {
  if (count == 0) return value;
  if (count > 63) return value != 0;
  return value >> count | (value << (64 - count) != 0);
}

/// Whether a magnitude is rounded away from zero. odd: its lowest bit; error: the part below that bit, in units of
/// 2^-64 of it.
MYR_FN bool rounds_up(FPRounding rounding, bool sign, bool odd, u64 error) {
  constexpr u64 kHalf = (u64)1 << 63;
  switch (rounding) {
    case FPRounding::tie_even: return error > kHalf || (error == kHalf && odd);
    case FPRounding::pos_inf: return error != 0 && !sign;
    case FPRounding::neg_inf: return error != 0 && sign;
    case FPRounding::tie_away: return error >= kHalf;
    case FPRounding::odd: return error != 0 && !odd;
    default: return false;
  }
}

/// Whether a magnitude that is too large becomes infinity; else it becomes the largest number.
MYR_FN bool overflows_to_infinity(FPRounding rounding, bool sign) {
  switch (rounding) {
    case FPRounding::tie_even:
    case FPRounding::tie_away: return true;
    case FPRounding::pos_inf: return !sign;
    case FPRounding::neg_inf: return sign;
    default: return false;
  }
}

/// FPRoundBase() of a value that is not zero: fraction * 2^(exponent - 63), bit 63 of the fraction set.
template <int N>
MYR_FN u64 FPRoundBase(bool sign, i32 exponent, u64 fraction, FpContext& ctx, FPRounding rounding, bool flush,
                       bool alternative) {
  using Format = FpFormat<N>;
  constexpr u32 kDropped = 63 - Format::kFractionBits;
  i32 biased = exponent - Format::kMinimumExponent + 1;
  if (biased < 1) {
    if (flush) {
      FPProcessException(ctx, FPExc_Underflow);
      return FPZero<N>(sign);
    }
    fraction = shift_right_sticky(fraction, (u32)(1 - biased));
    biased = 0;
  }
  u64 result = fraction >> kDropped, error = fraction << (64 - kDropped);
  // Tininess is detected before rounding.
  if (biased == 0 && error != 0) FPProcessException(ctx, FPExc_Underflow);
  bool up = rounds_up(rounding, sign, (result & 1) != 0, error);
  // The leading bit of a normal number adds one to the exponent field, and so does a carry out of the fraction.
  if (biased != 0) result += (u64)(biased - 1) << Format::kFractionBits;
  result += up;
  u64 limit = alternative ? (u64)Format::kExponentMask + 1 : (u64)Format::kExponentMask;
  if (result >> Format::kFractionBits >= limit) {
    if (alternative) {
      FPProcessException(ctx, FPExc_InvalidOp);
      return FPZero<N>(sign) | (Format::kSign - 1);
    }
    FPProcessException(ctx, FPExc_Overflow | FPExc_Inexact);
    return overflows_to_infinity(rounding, sign) ? FPInfinity<N>(sign) : FPMaxNormal<N>(sign);
  }
  if (error != 0) FPProcessException(ctx, FPExc_Inexact);
  return FPZero<N>(sign) | result;
}

/// Rounds a result of arithmetic. fraction is not 0 and may have leading zeros.
template <int N>
MYR_FN u64 FPRound(bool sign, i32 exponent, u64 fraction, FpContext& ctx, FPRounding rounding) {
  u32 shift = count_leading_zeros64(fraction);
  return FPRoundBase<N>(sign, exponent - (i32)shift, fraction << shift, ctx, rounding,
                        (ctx.fpcr & (N == 16 ? kFpcrFZ16 : kFpcrFZ)) != 0, false);
}

/// Rounds a result of a conversion between formats, where AHP applies and FZ16 does not.
template <int N>
MYR_FN u64 FPRoundCV(bool sign, i32 exponent, u64 fraction, FpContext& ctx, FPRounding rounding) {
  return FPRoundBase<N>(sign, exponent, fraction, ctx, rounding, N != 16 && (ctx.fpcr & kFpcrFZ) != 0,
                        N == 16 && (ctx.fpcr & kFpcrAHP) != 0);
}

/// The zero that is the exact sum of two values other than zeros of the same sign.
template <int N>
MYR_FN u64 zero_sum(FPRounding rounding) {
  return FPZero<N>(rounding == FPRounding::neg_inf);
}

}  // namespace myriarm
