// SPDX-License-Identifier: Apache-2.0
// Unpacks the bits of a number into its value, and handles infinities and NaNs.
#pragma once

#include "core/fp/context.h"

namespace myriarm {

/// Widths of the fields of an N-bit number, and the exponent of the smallest normal one.
template <int N>
struct FpFormat {
  static_assert(N == 16 || N == 32 || N == 64, "half, single or double precision");
  static constexpr int kExponentBits = N == 16 ? 5 : N == 32 ? 8 : 11;
  static constexpr int kFractionBits = N - 1 - kExponentBits;
  static constexpr i32 kMinimumExponent = 2 - (1 << (kExponentBits - 1));
  static constexpr u32 kExponentMask = (1u << kExponentBits) - 1;
  static constexpr u64 kFractionMask = ((u64)1 << kFractionBits) - 1;
  static constexpr u64 kSign = (u64)1 << (N - 1);
  static constexpr u64 kMask = kSign | (kSign - 1);
  static constexpr u64 kQuiet = (u64)1 << (kFractionBits - 1);
};

enum class FPType : u8 { zero, denormal, nonzero, infinity, quiet_nan, signalling_nan };

MYR_FN bool is_nan(FPType type) { return type >= FPType::quiet_nan; }

/// An unpacked number. Its value is fraction * 2^(exponent - 63). Bit 63 of the fraction is set unless the number is
/// zero; the exponent of zero is below all others. For NaNs and infinities there is no value.
struct FpNumber {
  FPType type;
  bool sign;
  i32 exponent;
  u64 fraction;
};
constexpr i32 kZeroExponent = -100000;

template <int N>
MYR_FN u64 FPZero(bool sign) {
  return sign ? FpFormat<N>::kSign : 0;
}
template <int N>
MYR_FN u64 FPInfinity(bool sign) {
  return FPZero<N>(sign) | (u64)FpFormat<N>::kExponentMask << FpFormat<N>::kFractionBits;
}
template <int N>
MYR_FN u64 FPMaxNormal(bool sign) {
  return FPInfinity<N>(sign) - 1;
}
template <int N>
MYR_FN u64 FPDefaultNaN() {
  return FPInfinity<N>(false) | FpFormat<N>::kQuiet;
}
/// The bits of 2^exponent, which must be a normal number.
template <int N>
MYR_FN u64 FPPowerOfTwo(bool sign, i32 exponent) {
  return FPZero<N>(sign) | (u64)(exponent + 1 - FpFormat<N>::kMinimumExponent) << FpFormat<N>::kFractionBits;
}

/// FPUnpackBase(). flush: denormals count as zero; alternative: the format without infinities and NaNs.
template <int N>
MYR_FN FpNumber FPUnpackBase(u64 value, FpContext& ctx, bool flush, bool alternative) {
  using Format = FpFormat<N>;
  FpNumber number;
  number.sign = (value & Format::kSign) != 0;
  number.exponent = kZeroExponent;
  u32 exponent = (u32)(value >> Format::kFractionBits) & Format::kExponentMask;
  u64 fraction = value & Format::kFractionMask;
  number.fraction = fraction << (63 - Format::kFractionBits);
  if (exponent == 0) {
    if (fraction == 0 || flush) {
      // Half precision does not raise this exception.
      if (N != 16 && fraction != 0) FPProcessException(ctx, FPExc_InputDenorm);
      number.type = FPType::zero;
      number.fraction = 0;
    } else {
      u32 shift = count_leading_zeros64(number.fraction);
      number.type = FPType::denormal;
      number.exponent = Format::kMinimumExponent - (i32)shift;
      number.fraction <<= shift;
    }
  } else if (exponent == Format::kExponentMask && !alternative) {
    number.type = fraction == 0                 ? FPType::infinity
                  : (fraction & Format::kQuiet) ? FPType::quiet_nan
                                                : FPType::signalling_nan;
  } else {
    number.type = FPType::nonzero;
    number.exponent = (i32)exponent - 1 + Format::kMinimumExponent;
    number.fraction |= (u64)1 << 63;
  }
  return number;
}

/// Unpacks an operand of arithmetic. FZ16 applies to half precision, FZ to the other formats.
template <int N>
MYR_FN FpNumber FPUnpack(u64 value, FpContext& ctx) {
  return FPUnpackBase<N>(value, ctx, (ctx.fpcr & (N == 16 ? kFpcrFZ16 : kFpcrFZ)) != 0, false);
}

/// Unpacks an operand of a conversion between formats, where AHP applies and FZ16 does not.
template <int N>
MYR_FN FpNumber FPUnpackCV(u64 value, FpContext& ctx) {
  return FPUnpackBase<N>(value, ctx, N != 16 && (ctx.fpcr & kFpcrFZ) != 0, N == 16 && (ctx.fpcr & kFpcrAHP) != 0);
}

/// The result for a NaN operand.
template <int N>
MYR_FN u64 FPProcessNaN(FPType type, u64 value, FpContext& ctx) {
  if (type == FPType::signalling_nan) FPProcessException(ctx, FPExc_InvalidOp);
  return (ctx.fpcr & kFpcrDN) ? FPDefaultNaN<N>() : value | FpFormat<N>::kQuiet;
}

/// If an operand is a NaN, sets the result and returns true. The first signalling NaN wins, else the first quiet one.
template <int N>
MYR_FN bool FPProcessNaNs(FPType type1, FPType type2, u64 op1, u64 op2, FpContext& ctx, u64& result) {
  if (MYR_LIKELY(!is_nan(type1) && !is_nan(type2))) return false;
  bool first = type1 == FPType::signalling_nan || (type2 != FPType::signalling_nan && type1 == FPType::quiet_nan);
  result = first ? FPProcessNaN<N>(type1, op1, ctx) : FPProcessNaN<N>(type2, op2, ctx);
  return true;
}

}  // namespace myriarm
