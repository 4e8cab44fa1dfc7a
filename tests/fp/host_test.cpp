// SPDX-License-Identifier: Apache-2.0
// Compares soft-float with the arithmetic of the machine that runs the test, in all four rounding modes. Of NaNs it
// compares only that both are NaNs, and it does not compare underflow, because machines differ in both.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>

#include "core/fp/arithmetic.h"
#include "core/fp/convert.h"
#include "core/fp/divide.h"
#include "core/fp/fused.h"
#include "fp/cases.h"

namespace myriarm {
namespace {

template <int N>
struct Host;
template <>
struct Host<32> {
  using Number = float;
  using Bits = u32;
};
template <>
struct Host<64> {
  using Number = double;
  using Bits = u64;
};

enum class Operation { add, sub, mul, div, sqrt, fma, other_width, from_integer, count };

// Operands are volatile, so that the compiler does not compute before the rounding mode is set.
template <int N>
u64 on_host(Operation op, const FpCase& fp_case) {
  using Number = typename Host<N>::Number;
  using Bits = typename Host<N>::Bits;
  volatile Number a = bit_cast<Number>(static_cast<Bits>(fp_case.a));
  volatile Number b = bit_cast<Number>(static_cast<Bits>(fp_case.b));
  volatile Number c = bit_cast<Number>(static_cast<Bits>(fp_case.c));
  volatile i64 x = static_cast<i64>(fp_case.x);
  volatile Number result = 0;
  switch (op) {
    case Operation::add: result = a + b; break;
    case Operation::sub: result = a - b; break;
    case Operation::mul: result = a * b; break;
    case Operation::div: result = a / b; break;
    case Operation::sqrt: result = std::sqrt(a); break;
    case Operation::fma: result = std::fma(a, b, c); break;
    case Operation::other_width: {
      volatile typename Host<96 - N>::Number other = static_cast<typename Host<96 - N>::Number>(a);
      return bit_cast<typename Host<96 - N>::Bits>(static_cast<typename Host<96 - N>::Number>(other));
    }
    default: result = static_cast<Number>(x); break;
  }
  return bit_cast<Bits>(static_cast<Number>(result));
}

template <int N>
u64 in_software(Operation op, const FpCase& fp_case, FpContext& ctx) {
  switch (op) {
    case Operation::add: return FPAdd<N>(fp_case.a, fp_case.b, ctx);
    case Operation::sub: return FPSub<N>(fp_case.a, fp_case.b, ctx);
    case Operation::mul: return FPMul<N>(fp_case.a, fp_case.b, ctx);
    case Operation::div: return FPDiv<N>(fp_case.a, fp_case.b, ctx);
    case Operation::sqrt: return FPSqrt<N>(fp_case.a, ctx);
    case Operation::fma: return FPMulAdd<N>(fp_case.c, fp_case.a, fp_case.b, ctx);
    case Operation::other_width: return FPConvert<N, 96 - N>(fp_case.a, FPRoundingMode(ctx), ctx);
    default: return FixedToFP<64, N>(fp_case.x, 0, false, FPRoundingMode(ctx), ctx);
  }
}

u32 host_exceptions() {
  int raised = std::fetestexcept(FE_ALL_EXCEPT);
  return (raised & FE_INVALID ? FPExc_InvalidOp : 0u) | (raised & FE_DIVBYZERO ? FPExc_DivideByZero : 0u) |
         (raised & FE_OVERFLOW ? FPExc_Overflow : 0u) | (raised & FE_INEXACT ? FPExc_Inexact : 0u);
}

template <int N>
bool is_nan_number(u64 bits) {
  return (bits & (FpFormat<N>::kSign - 1)) > FPInfinity<N>(false);
}

template <int N>
void compare_with_host() {
  constexpr int kModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  FpCases cases(N, 2);
  for (int i = 0; i < 40000; i++) {
    FpCase fp_case = cases.next();
    fp_case.fpcr &= 3u << 22;
    for (int number = 0; number < static_cast<int>(Operation::count); number++) {
      Operation op = static_cast<Operation>(number);
      FpContext ctx = {fp_case.fpcr, 0};
      u64 soft = in_software<N>(op, fp_case, ctx);
      std::fesetround(kModes[fp_case.fpcr >> 22]);
      std::feclearexcept(FE_ALL_EXCEPT);
      u64 hard = on_host<N>(op, fp_case);
      u32 exceptions = host_exceptions();
      std::fesetround(FE_TONEAREST);
      bool other = op == Operation::other_width;
      bool nan = other ? is_nan_number<96 - N>(hard) : is_nan_number<N>(hard);
      // Machines differ in whether zero times infinity plus a NaN is invalid.
      bool open = op == Operation::fma && is_nan_number<N>(fp_case.c);
      if (nan) {
        EXPECT_TRUE(other ? is_nan_number<96 - N>(soft) : is_nan_number<N>(soft));
      } else {
        EXPECT_EQ(soft, hard);
      }
      if (!open) {
        EXPECT_EQ(ctx.exceptions & ~static_cast<u32>(FPExc_Underflow), exceptions);
      }
      if (testing::Test::HasFailure()) {
        FAIL() << "operation " << number << " of " << N << " bits: " << std::hex << fp_case.a << " " << fp_case.b << " "
               << fp_case.c << " " << fp_case.x << ", fpcr " << fp_case.fpcr;
      }
    }
  }
}

TEST(FpHost, Single) { compare_with_host<32>(); }
TEST(FpHost, Double) { compare_with_host<64>(); }

}  // namespace
}  // namespace myriarm
