// SPDX-License-Identifier: Apache-2.0
// Compares half precision exhaustively with definitions that are too slow for other use, and tests what the manual says
// in words about single instructions.
#include <gtest/gtest.h>

#include <cmath>

#include "core/fp/convert.h"
#include "core/fp/divide.h"
#include "core/fp/scalar.h"

namespace myriarm {
namespace {

constexpr u64 kHalves = 0x10000;

/// The value of a half-precision number that is not a NaN.
double half_value(u64 bits, bool alternative = false) {
  int exponent = static_cast<int>(bits >> 10 & 31);
  double fraction = static_cast<double>(bits & 1023);
  double value = exponent == 0                    ? std::ldexp(fraction, -24)
                 : exponent == 31 && !alternative ? HUGE_VAL
                                                  : std::ldexp(fraction + 1024, exponent - 25);
  return bits & 0x8000 ? -value : value;
}
bool is_half_nan(u64 bits) { return (bits & 0x7FFF) > 0x7C00; }
u64 bits_of(double value) { return bit_cast<u64>(value); }

TEST(FpHalf, WidensExactly) {
  for (u64 half = 0; half < kHalves; half++) {
    if (is_half_nan(half)) continue;
    FpContext ctx = {0, 0};
    EXPECT_EQ((FPConvert<16, 64>(half, FPRounding::tie_even, ctx)), bits_of(half_value(half)));
    EXPECT_EQ((FPConvert<16, 32>(half, FPRounding::tie_even, ctx)),
              bit_cast<u32>(static_cast<float>(half_value(half))));
    EXPECT_EQ(ctx.exceptions, 0u);
    if (testing::Test::HasFailure()) FAIL() << std::hex << half;
  }
}

TEST(FpHalf, AlternativeFormatHasNoInfinities) {
  for (u64 half = 0; half < kHalves; half++) {
    FpContext ctx = {kFpcrAHP, 0};
    u64 wide = FPConvert<16, 64>(half, FPRounding::tie_even, ctx);
    EXPECT_EQ(wide, bits_of(half_value(half, true)));
    EXPECT_EQ((FPConvert<64, 16>(wide, FPRounding::tie_even, ctx)), half);
    EXPECT_EQ(ctx.exceptions, 0u);
    if (testing::Test::HasFailure()) FAIL() << std::hex << half;
  }
}

// The value itself, the midpoint to the next value, and numbers slightly below and above the midpoint.
TEST(FpHalf, NarrowsToTheRightNeighbour) {
  for (u64 half = 0; half < 0x7C00; half++) {
    double low = half_value(half), high = half == 0x7BFF ? 65536.0 : half_value(half + 1), middle = (low + high) / 2;
    const double kValues[] = {low,    std::nextafter(low, high),    std::nextafter(middle, low),
                              middle, std::nextafter(middle, high), std::nextafter(high, low)};
    for (double value : kValues) {
      bool exact = value == low, overflow = half == 0x7BFF;
      bool nearer_high = value > middle || (value == middle && half % 2 != 0);
      for (u64 sign = 0; sign < 2; sign++) {
        for (FPRounding rounding :
             {FPRounding::tie_even, FPRounding::pos_inf, FPRounding::neg_inf, FPRounding::zero, FPRounding::odd}) {
          bool up = !exact && (rounding == FPRounding::tie_even  ? nearer_high
                               : rounding == FPRounding::pos_inf ? sign == 0
                               : rounding == FPRounding::neg_inf ? sign == 1
                               : rounding == FPRounding::odd     ? half % 2 == 0
                                                                 : false);
          FpContext ctx = {0, 0};
          u64 result = FPConvert<64, 16>(bits_of(sign ? -value : value), rounding, ctx);
          EXPECT_EQ(result, sign << 15 | (half + up));
          u32 expected = exact ? 0u : static_cast<u32>(FPExc_Inexact);
          if (!exact && value < std::ldexp(1, -14)) expected |= FPExc_Underflow;
          if (overflow && up) expected |= FPExc_Overflow;
          EXPECT_EQ(ctx.exceptions, expected);
          if (testing::Test::HasFailure()) FAIL() << std::hex << half << " " << bits_of(value);
        }
      }
    }
  }
}

// The double-precision root is so precise that rounding it again gives the correctly rounded result.
TEST(FpHalf, SquareRoots) {
  for (u64 half = 1; half < 0x7C00; half++) {
    for (u32 mode = 0; mode < 4; mode++) {
      FpContext ctx = {mode << 22, 0}, exact = ctx;
      double root = std::sqrt(half_value(half));
      u64 expected = FPConvert<64, 16>(bits_of(root), FPRoundingMode(ctx), exact);
      EXPECT_EQ(FPSqrt<16>(half, ctx), expected);
      EXPECT_EQ(ctx.exceptions, exact.exceptions);
      if (testing::Test::HasFailure()) FAIL() << std::hex << half << " mode " << mode;
    }
  }
}

TEST(FpHalf, RoundsToIntegers) {
  for (u64 half = 0; half < kHalves; half++) {
    if (is_half_nan(half)) continue;
    double value = half_value(half);
    const double kExpected[] = {std::nearbyint(value), std::ceil(value), std::floor(value), std::trunc(value),
                                std::round(value)};
    for (u32 mode = 0; mode < 5; mode++) {
      FPRounding rounding = static_cast<FPRounding>(mode);
      FpContext ctx = {0, 0}, wide = {0, 0};
      u64 result = FPRoundInt<16>(half, rounding, true, ctx);
      EXPECT_EQ((FPConvert<16, 64>(result, FPRounding::tie_even, wide)), bits_of(kExpected[mode]));
      EXPECT_EQ(ctx.exceptions, value == kExpected[mode] ? 0u : static_cast<u32>(FPExc_Inexact));
      if (std::fabs(value) < 65536) {
        FpContext fixed = {0, 0};
        EXPECT_EQ((FPToFixed<16, 64>(half, 0, false, rounding, fixed)),
                  static_cast<u64>(static_cast<i64>(kExpected[mode])));
        EXPECT_EQ(fixed.exceptions, ctx.exceptions);
      }
      if (testing::Test::HasFailure()) FAIL() << std::hex << half << " mode " << mode;
    }
  }
}

// Products 2^105 + 1 and 2^105 - 1. Near half a unit in the last place of an addend, the 1 alone decides the rounding.
TEST(FpFused, TheLastBitOfAProductDecides) {
  struct {
    double op1, op2;
    bool above;
  } const kFactors[] = {{0x1404B25A15C2BB, 0x19939800033273, true}, {0x157806FCA51601, 0x17D93736C115FF, false}};
  for (const auto& f : kFactors) {
    for (u64 last = 0; last < 2; last++) {
      u64 addend = bits_of(std::ldexp(1, 158)) + last;
      FpContext ctx = {0, 0};
      EXPECT_EQ(FPMulAdd<64>(addend, bits_of(f.op1), bits_of(f.op2), ctx), addend + f.above);
      EXPECT_EQ(FPMulAdd<64>(addend + 1, bits_of(-f.op1), bits_of(f.op2), ctx), addend + !f.above);
      EXPECT_EQ(ctx.exceptions, static_cast<u32>(FPExc_Inexact));
    }
  }
}

TEST(FpJavaScript, ModuloTwoToThe32) {
  struct {
    u64 op;
    u32 fpcr, result, exceptions;
    bool z;
  } const kCases[] = {
      {bits_of(0.0), 0, 0, 0, true},
      {bits_of(-0.0), 0, 0, 0, false},
      {bits_of(-2147483648.0), 0, 0x80000000, 0, true},
      {bits_of(2147483648.0), 0, 0x80000000, FPExc_InvalidOp, false},
      {bits_of(-1.5), 0, 0xFFFFFFFF, FPExc_Inexact, false},
      {bits_of(4294967298.75), 0, 2, FPExc_InvalidOp, false},
      {bits_of(std::ldexp(-3, 30)), 0, 0x40000000, FPExc_InvalidOp, false},
      {bits_of(std::ldexp(0x10000000000001, 31)), 0, 0x80000000, FPExc_InvalidOp, false},
      {bits_of(std::ldexp(1, 200)), 0, 0, FPExc_InvalidOp, false},
      {bits_of(HUGE_VAL), 0, 0, FPExc_InvalidOp, false},
      {0x7FF8000000000000, 0, 0, FPExc_InvalidOp, false},
      {1, 0, 0, FPExc_Inexact, false},
      // The operand is not zero, but flushed to zero.
      {1, kFpcrFZ, 0, FPExc_InputDenorm, false},
  };
  for (const auto& c : kCases) {
    FpContext ctx = {c.fpcr, 0};
    bool z = false;
    EXPECT_EQ(FPToFixedJS(c.op, ctx, z), c.result) << std::hex << c.op;
    EXPECT_EQ(ctx.exceptions, c.exceptions) << std::hex << c.op;
    EXPECT_EQ(z, c.z) << std::hex << c.op;
  }
}

}  // namespace
}  // namespace myriarm
