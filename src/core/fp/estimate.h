// SPDX-License-Identifier: Apache-2.0
// Estimates of the reciprocal and of the reciprocal square root, with eight bits that the architecture defines.
#pragma once

#include "core/fp/round.h"

namespace myriarm {

/// a: a number from 0.5 to below 1 in units of 1/512: 256 to 511. Returns its reciprocal in units of 1/256: 256 to 511.
MYR_FN u32 RecipEstimate(u32 a) { return (((u32)1 << 19) / (a * 2 + 1) + 1) / 2; }

/// a: a number from 0.25 to below 1 in units of 1/512: 128 to 511. Returns 1 / sqrt(a) in units of 1/256.
MYR_FN u32 RecipSqrtEstimate(u32 a) {
  a = a < 256 ? a * 2 + 1 : ((a | 1) * 2);
  // The largest b of 9 bits and one more with a * b^2 < 2^28, one bit at a time.
  u32 b = 512;
  for (u32 bit = 256; bit != 0; bit >>= 1) {
    if (a * (b + bit) * (b + bit) < (u32)1 << 28) b += bit;
  }
  return (b + 1) / 2;
}

template <int N>
MYR_OUTLINE u64 FPRecipEstimate(u64 op, FpContext& ctx) {
  using Format = FpFormat<N>;
  FpNumber a = FPUnpack<N>(op, ctx);
  if (is_nan(a.type)) return FPProcessNaN<N>(a.type, op, ctx);
  if (a.type == FPType::infinity) return FPZero<N>(a.sign);
  if (a.type == FPType::zero) {
    FPProcessException(ctx, FPExc_DivideByZero);
    return FPInfinity<N>(a.sign);
  }
  if (a.exponent < Format::kMinimumExponent - 2) {
    FPProcessException(ctx, FPExc_Overflow | FPExc_Inexact);
    return overflows_to_infinity(FPRoundingMode(ctx), a.sign) ? FPInfinity<N>(a.sign) : FPMaxNormal<N>(a.sign);
  }
  bool flush = (ctx.fpcr & (N == 16 ? kFpcrFZ16 : kFpcrFZ)) != 0;
  if (flush && a.exponent >= -Format::kMinimumExponent) {
    FPProcessException(ctx, FPExc_Underflow);
    return FPZero<N>(a.sign);
  }
  u64 estimate = RecipEstimate((u32)(a.fraction >> 55));
  // The estimate's leading bit has the weight 2^(-1 - exponent).
  i32 biased = -a.exponent - Format::kMinimumExponent;
  u64 fraction = estimate << (Format::kFractionBits - 8);
  if (biased < 1) return FPZero<N>(a.sign) | fraction >> (1 - biased);
  return FPZero<N>(a.sign) | (((u64)(biased - 1) << Format::kFractionBits) + fraction);
}

template <int N>
MYR_OUTLINE u64 FPRSqrtEstimate(u64 op, FpContext& ctx) {
  using Format = FpFormat<N>;
  FpNumber a = FPUnpack<N>(op, ctx);
  if (is_nan(a.type)) return FPProcessNaN<N>(a.type, op, ctx);
  if (a.type == FPType::zero) {
    FPProcessException(ctx, FPExc_DivideByZero);
    return FPInfinity<N>(a.sign);
  }
  if (a.sign) {
    FPProcessException(ctx, FPExc_InvalidOp);
    return FPDefaultNaN<N>();
  }
  if (a.type == FPType::infinity) return FPZero<N>(false);
  // With an odd exponent the value is a power of 4 times a number from 0.5 to 1, with an even one from 0.25 to 0.5.
  bool odd = (a.exponent & 1) != 0;
  u64 estimate = RecipSqrtEstimate((u32)(a.fraction >> (odd ? 55 : 56)));
  i32 exponent = -(a.exponent + 2 - (i32)odd) / 2;
  return FPPowerOfTwo<N>(false, exponent) | (estimate & 255) << (Format::kFractionBits - 8);
}

/// A power of two whose product with op is near 1.
template <int N>
MYR_OUTLINE u64 FPRecpX(u64 op, FpContext& ctx) {
  using Format = FpFormat<N>;
  FpNumber a = FPUnpack<N>(op, ctx);
  if (is_nan(a.type)) return FPProcessNaN<N>(a.type, op, ctx);
  u32 exponent = (u32)(op >> Format::kFractionBits) & Format::kExponentMask;
  exponent = exponent == 0 ? Format::kExponentMask - 1 : ~exponent & Format::kExponentMask;
  return FPZero<N>(a.sign) | (u64)exponent << Format::kFractionBits;
}

}  // namespace myriarm
