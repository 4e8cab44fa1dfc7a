// SPDX-License-Identifier: Apache-2.0
// Rounding to integers, and conversions between formats and to and from integers and fixed-point numbers.
#pragma once

#include "core/fp/convert_nan.h"
#include "core/fp/round.h"

namespace myriarm {

/// Rounds the magnitude fraction * 2^(exponent - 63), exponent at most 63, to an integer. error: the part that was
/// dropped, in units of 2^-64; never 0 if something was.
MYR_FN u64 round_to_integer(bool sign, i32 exponent, u64 fraction, FPRounding rounding, u64& error) {
  u64 integer;
  if (exponent < 0) {
    integer = 0;
    error = shift_right_sticky(fraction, (u32)(-1 - exponent));
  } else {
    integer = fraction >> (63 - exponent);
    error = exponent == 63 ? 0 : fraction << (exponent + 1);
  }
  return integer + rounds_up(rounding, sign, (integer & 1) != 0, error);
}

/// exact: raises Inexact if the value changes.
template <int N>
MYR_OUTLINE u64 FPRoundInt(u64 op, FPRounding rounding, bool exact, FpContext& ctx) {
  FpNumber a = FPUnpack<N>(op, ctx);
  if (is_nan(a.type)) return FPProcessNaN<N>(a.type, op, ctx);
  if (a.type == FPType::zero) return FPZero<N>(a.sign);
  if (a.type == FPType::infinity || a.exponent >= FpFormat<N>::kFractionBits) return op;
  u64 error;
  u64 integer = round_to_integer(a.sign, a.exponent, a.fraction, rounding, error);
  if (error != 0 && exact) FPProcessException(ctx, FPExc_Inexact);
  if (integer == 0) return FPZero<N>(a.sign);
  return FPRound<N>(a.sign, 63, integer, ctx, FPRounding::zero);
}

/// Converts op * 2^fbits to an integer of M bits, with saturation.
template <int N, int M>
MYR_OUTLINE u64 FPToFixed(u64 op, u32 fbits, bool is_unsigned, FPRounding rounding, FpContext& ctx) {
  constexpr u64 kMax = ~(u64)0 >> (64 - M);
  FpNumber a = FPUnpack<N>(op, ctx);
  if (is_nan(a.type)) {
    FPProcessException(ctx, FPExc_InvalidOp);
    return 0;
  }
  if (a.type == FPType::zero) return 0;
  u64 limit = is_unsigned ? (a.sign ? 0 : kMax) : (kMax >> 1) + a.sign;
  i32 exponent = a.exponent + (i32)fbits;
  u64 integer = limit, error = 0;
  bool overflow = a.type == FPType::infinity || exponent > 63;
  if (!overflow) {
    integer = round_to_integer(a.sign, exponent, a.fraction, rounding, error);
    overflow = integer > limit;
  }
  if (overflow) {
    integer = limit;
    FPProcessException(ctx, FPExc_InvalidOp);
  } else if (error != 0) {
    FPProcessException(ctx, FPExc_Inexact);
  }
  return (a.sign ? 0 - integer : integer) & kMax;
}

/// Converts an integer of M bits, divided by 2^fbits, to a number.
template <int M, int N>
MYR_OUTLINE u64 FixedToFP(u64 op, u32 fbits, bool is_unsigned, FPRounding rounding, FpContext& ctx) {
  u64 integer = M == 64 ? op : is_unsigned ? op & (~(u64)0 >> (64 - M)) : (u64)((i64)(op << (64 - M)) >> (64 - M));
  if (integer == 0) return FPZero<N>(false);
  bool sign = !is_unsigned && (i64)integer < 0;
  return FPRound<N>(sign, 63 - (i32)fbits, sign ? 0 - integer : integer, ctx, rounding);
}

/// Converts an N-bit number to M bits.
template <int N, int M>
MYR_OUTLINE u64 FPConvert(u64 op, FPRounding rounding, FpContext& ctx) {
  FpNumber a = FPUnpackCV<N>(op, ctx);
  bool alternative = M == 16 && (ctx.fpcr & kFpcrAHP) != 0;
  if (is_nan(a.type)) {
    if (alternative || a.type == FPType::signalling_nan) FPProcessException(ctx, FPExc_InvalidOp);
    if (alternative) return FPZero<M>(a.sign);
    return (ctx.fpcr & kFpcrDN) ? FPDefaultNaN<M>() : FPConvertNaN<N, M>(op);
  }
  if (a.type == FPType::infinity) {
    if (!alternative) return FPInfinity<M>(a.sign);
    FPProcessException(ctx, FPExc_InvalidOp);
    return FPZero<M>(a.sign) | (FpFormat<M>::kSign - 1);
  }
  if (a.type == FPType::zero) return FPZero<M>(a.sign);
  return FPRoundCV<M>(a.sign, a.exponent, a.fraction, ctx, rounding);
}

/// JavaScript's conversion to a 32-bit integer, modulo 2^32. z: whether op was exactly a 32-bit integer, and not -0.
MYR_OUTLINE u32 FPToFixedJS(u64 op, FpContext& ctx, bool& z) {
  FpNumber a = FPUnpack<64>(op, ctx);
  z = false;
  if (is_nan(a.type) || a.type == FPType::infinity) {
    FPProcessException(ctx, FPExc_InvalidOp);
    return 0;
  }
  if (a.type == FPType::zero) {
    z = op == 0;
    return 0;
  }
  u64 integer, error = 0;
  if (a.exponent > 63) {
    u32 shift = (u32)(a.exponent - 63);
    integer = shift > 63 ? 0 : a.fraction << shift;
  } else {
    integer = round_to_integer(a.sign, a.exponent, a.fraction, FPRounding::zero, error);
  }
  u64 limit = 0x7FFFFFFFu + (u64)a.sign;
  if (a.exponent > 31 || integer > limit) {
    FPProcessException(ctx, FPExc_InvalidOp);
  } else if (error != 0) {
    FPProcessException(ctx, FPExc_Inexact);
  } else {
    z = true;
  }
  return (u32)(a.sign ? 0 - integer : integer);
}

}  // namespace myriarm
