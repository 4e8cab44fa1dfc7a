// SPDX-License-Identifier: Apache-2.0
// AdvSIMD: the operations on elements. Each is a structure that the families in three_same.h and similar files take as
// an argument. apply(): a, b and d are the elements of Vn, Vm and Vd, extended to 64 bits as kSigned says; a family
// without Vm passes 0. Only the lowest element.bits of a result are used. half(): the same for all elements of a half
// at once, where that is faster.
#pragma once

#include "core/fp/estimate.h"
#include "core/simd/halves.h"
#include "core/simd/saturating.h"

namespace myriarm::simd {

template <bool kIsSigned>
struct Signedness {
  static constexpr bool kSigned = kIsSigned;
};
using Signed = Signedness<true>;
using Unsigned = Signedness<false>;

// Addition, multiplication.

struct Add : Unsigned {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return a + b; }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return half_add(e, a, b); }
};
struct Sub : Unsigned {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return a - b; }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return half_sub(e, a, b); }
};
struct Mul : Unsigned {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return a * b; }
};
struct MulAdd : Unsigned {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64 d) { return d + a * b; }
};
struct MulSub : Unsigned {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64 d) { return d - a * b; }
};
/// PMUL: a product of polynomials over {0, 1}.
struct PolynomialMul : Unsigned {
  MYR_FN static u64 apply(Element& element, u64 a, u64 b, u64) {
    u64 product = 0;
    for (u32 i = 0; i < element.bits; i++) product ^= (a << i) & (0 - ((b >> i) & 1));
    return product;
  }
};

// Comparison: the result is all ones or zero.

struct CompareEqual : Unsigned {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return 0 - (u64)(a == b); }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return ~half_spread(e, half_nonzero(e, a ^ b)); }
};
struct CompareTest : Unsigned {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return 0 - (u64)((a & b) != 0); }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return half_spread(e, half_nonzero(e, a & b)); }
};
template <bool kSigned>
struct CompareGreater : Signedness<kSigned> {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return 0 - (u64)(kSigned ? (i64)a > (i64)b : a > b); }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return ~half_greater_equal<kSigned>(e, b, a); }
};
template <bool kSigned>
struct CompareGreaterEqual : Signedness<kSigned> {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return 0 - (u64)(kSigned ? (i64)a >= (i64)b : a >= b); }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return half_greater_equal<kSigned>(e, a, b); }
};
/// With zero.
struct CompareLess : Signed {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return 0 - (u64)((i64)a < (i64)b); }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return ~half_greater_equal<true>(e, a, b); }
};
struct CompareLessEqual : Signed {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return 0 - (u64)((i64)a <= (i64)b); }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return half_greater_equal<true>(e, b, a); }
};

// Minimum, maximum, difference, halving: these have no 64-bit elements.

template <bool kSigned>
struct Max : Signedness<kSigned> {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return (i64)a > (i64)b ? a : b; }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) {
    return half_select(half_greater_equal<kSigned>(e, a, b), a, b);
  }
};
template <bool kSigned>
struct Min : Signedness<kSigned> {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return (i64)a < (i64)b ? a : b; }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) {
    return half_select(half_greater_equal<kSigned>(e, a, b), b, a);
  }
};
template <bool kSigned>
struct AbsoluteDifference : Signedness<kSigned> {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return (i64)a > (i64)b ? a - b : b - a; }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return half_difference<kSigned>(e, a, b); }
};
template <bool kSigned>
struct AbsoluteDifferenceAdd : Signedness<kSigned> {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64 d) { return d + ((i64)a > (i64)b ? a - b : b - a); }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64 d) { return half_add(e, d, half_difference<kSigned>(e, a, b)); }
};
template <bool kSigned, bool kRound>
struct HalvingAdd : Signedness<kSigned> {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return (u64)((i64)(a + b + (u64)kRound) >> 1); }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return half_average<kSigned, kRound>(e, a, b); }
};
template <bool kSigned>
struct HalvingSub : Signedness<kSigned> {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return (u64)((i64)(a - b) >> 1); }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return half_average_difference<kSigned>(e, a, b); }
};

// Saturating addition.

template <bool kSigned>
struct AddSaturated : Signedness<kSigned> {
  MYR_FN static u64 apply(Element& element, u64 a, u64 b, u64) { return add_saturated<kSigned, false>(element, a, b); }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return half_add_saturated<kSigned, false>(e, a, b); }
};
template <bool kSigned>
struct SubSaturated : Signedness<kSigned> {
  MYR_FN static u64 apply(Element& element, u64 a, u64 b, u64) { return add_saturated<kSigned, true>(element, a, b); }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return half_add_saturated<kSigned, true>(e, a, b); }
};
/// SUQADD: Vd is signed, Vn unsigned.
struct AddUnsignedToSigned : Unsigned {
  MYR_FN static u64 apply(Element& element, u64 a, u64, u64 d) {
    u32 above = 64 - element.bits;
    u64 biased = d << above ^ (u64)1 << 63, sum = biased + (a << above);
    if (sum < biased) {
      element.saturated = true;
      return ones(element.bits - 1);
    }
    return (sum ^ (u64)1 << 63) >> above;
  }
};
/// USQADD: Vd is unsigned, Vn signed.
struct AddSignedToUnsigned : Unsigned {
  MYR_FN static u64 apply(Element& element, u64 a, u64, u64 d) {
    u32 above = 64 - element.bits;
    u64 x = d << above, y = a << above, sum = x + y;
    bool negative = (i64)y < 0;
    if (negative ? sum > x : sum < x) {
      element.saturated = true;
      return negative ? 0 : ones(element.bits);
    }
    return sum >> above;
  }
};

// Multiplication that keeps the upper half of twice the product, for 16 and 32 bits. It computes with half the values,
// so that they fit into 64 bits.

template <bool kRound>
struct DoublingMulHigh : Signed {
  MYR_FN static u64 apply(Element& element, u64 a, u64 b, u64) {
    u64 round = kRound ? (u64)1 << (element.bits - 2) : 0;
    return saturate_signed(element, (u64)((i64)(a * b + round) >> (element.bits - 1)));
  }
};
/// SQRDMLAH, SQRDMLSH.
template <bool kSubtract>
struct DoublingMulAddHigh : Signed {
  MYR_FN static u64 apply(Element& element, u64 a, u64 b, u64 d) {
    u64 product = kSubtract ? 0 - a * b : a * b;
    u64 sum = (d << (element.bits - 1)) + product + ((u64)1 << (element.bits - 2));
    return saturate_signed(element, (u64)((i64)sum >> (element.bits - 1)));
  }
};

// Shifts by the signed lowest byte of b: to the left, or to the right if it is negative.

template <bool kSigned, bool kRound>
struct ShiftVariable : Signedness<kSigned> {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) {
    i32 amount = (i8)(u8)b;
    return amount < 0 ? shift_right<kSigned, kRound>(a, (u32)-amount) : shift_left(a, (u32)amount);
  }
};
template <bool kSigned, bool kRound>
struct ShiftVariableSaturated : Signedness<kSigned> {
  MYR_FN static u64 apply(Element& element, u64 a, u64 b, u64) {
    i32 amount = (i8)(u8)b;
    return amount < 0 ? shift_right<kSigned, kRound>(a, (u32)-amount)
                      : shift_left_saturated<kSigned>(element, a, (u32)amount);
  }
};

// Shifts by an immediate, which is in b.

template <bool kSigned, bool kRound>
struct ShiftRight : Signedness<kSigned> {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return shift_right<kSigned, kRound>(a, (u32)b); }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) {
    return half_shift_right_as<kSigned, kRound>(e, a, (u32)(b & 0xFF));
  }
};
template <bool kSigned, bool kRound>
struct ShiftRightAdd : Signedness<kSigned> {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64 d) { return d + shift_right<kSigned, kRound>(a, (u32)b); }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64 d) {
    return half_add(e, d, half_shift_right_as<kSigned, kRound>(e, a, (u32)(b & 0xFF)));
  }
};
/// SRI: the bits that are shifted in come from Vd.
struct ShiftRightInsert : Unsigned {
  MYR_FN static u64 apply(Element& element, u64 a, u64 b, u64 d) {
    u64 kept = ~shift_right<false, false>(ones(element.bits), (u32)b);
    return (d & kept) | shift_right<false, false>(a, (u32)b);
  }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64 d) {
    ShiftedHalf shifted = half_shift_right(e, a, (u32)(b & 0xFF));
    return shifted.value | (d & ~shifted.mask);
  }
};
struct ShiftLeft : Unsigned {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return a << b; }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return half_shift_left(e, a, (u32)(b & 0xFF)).value; }
};
/// SLI: the bits that are shifted in come from Vd.
struct ShiftLeftInsert : Unsigned {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64 d) { return (d & (((u64)1 << b) - 1)) | a << b; }
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64 d) {
    ShiftedHalf shifted = half_shift_left(e, a, (u32)(b & 0xFF));
    return shifted.value | (d & ~shifted.mask);
  }
};
template <bool kSigned>
struct ShiftLeftSaturated : Signedness<kSigned> {
  MYR_FN static u64 apply(Element& element, u64 a, u64 b, u64) {
    return shift_left_saturated<kSigned>(element, a, (u32)b);
  }
};
/// SQSHLU: from a signed to an unsigned number.
struct ShiftLeftSaturatedUnsigned : Signed {
  MYR_FN static u64 apply(Element& element, u64 a, u64 b, u64) {
    if ((i64)a >= 0) return shift_left_saturated<false>(element, a, (u32)b);
    element.saturated = true;
    return 0;
  }
};

// One operand.

struct Negate : Unsigned {
  MYR_FN static u64 apply(Element&, u64 a, u64, u64) { return 0 - a; }
  MYR_FN static u64 half(Element& e, u64 a, u64, u64) { return half_sub(e, 0, a); }
};
struct Absolute : Signed {
  MYR_FN static u64 apply(Element&, u64 a, u64, u64) { return (i64)a < 0 ? 0 - a : a; }
  MYR_FN static u64 half(Element& e, u64 a, u64, u64) { return half_negate(e, half_spread(e, a & e.tops), a); }
};
struct NegateSaturated : Signed {
  MYR_FN static u64 apply(Element& element, u64 a, u64, u64) { return add_saturated<true, true>(element, 0, a); }
  MYR_FN static u64 half(Element& e, u64 a, u64, u64) { return half_add_saturated<true, true>(e, 0, a); }
};
struct AbsoluteSaturated : Signed {
  MYR_FN static u64 apply(Element& element, u64 a, u64, u64) {
    return (i64)a < 0 ? add_saturated<true, true>(element, 0, a) : a;
  }
  MYR_FN static u64 half(Element& e, u64 a, u64, u64) {
    u64 negative = half_spread(e, a & e.tops);
    return half_select(negative, half_add_saturated<true, true>(e, 0, a & negative), a);
  }
};
struct CountLeadingZeros : Unsigned {
  MYR_FN static u64 apply(Element& element, u64 a, u64, u64) { return count_leading_zeros64(a) - (64 - element.bits); }
};
struct CountLeadingSigns : Signed {
  MYR_FN static u64 apply(Element& element, u64 a, u64, u64) {
    return count_leading_zeros64(a ^ (u64)((i64)a >> 1)) - (64 - element.bits) - 1;
  }
};
/// CNT.
struct CountOnes : Unsigned {
  MYR_FN static u64 half(Element&, u64 a, u64, u64) {
    a -= (a >> 1) & 0x5555555555555555u;
    a = (a & 0x3333333333333333u) + ((a >> 2) & 0x3333333333333333u);
    return (a + (a >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
  }
};
/// RBIT: the elements are bytes.
struct ReverseBits : Unsigned {
  MYR_FN static u64 half(Element&, u64 a, u64, u64) {
    a = ((a >> 1) & 0x5555555555555555u) | ((a & 0x5555555555555555u) << 1);
    a = ((a >> 2) & 0x3333333333333333u) | ((a & 0x3333333333333333u) << 2);
    return ((a >> 4) & 0x0F0F0F0F0F0F0F0Fu) | ((a & 0x0F0F0F0F0F0F0F0Fu) << 4);
  }
};

// Estimates for 32-bit fixed-point numbers.

/// UnsignedRecipEstimate() of the manual. If the number is not between 0.5 and 1, the result saturates.
struct ReciprocalEstimate : Unsigned {
  MYR_FN static u64 apply(Element&, u64 a, u64, u64) {
    if (a >> 31 == 0) return 0xFFFFFFFFu;
    return (u64)RecipEstimate((u32)(a >> 23)) << 23;
  }
};
/// UnsignedRSqrtEstimate() of the manual. If the number is not between 0.25 and 1, the result saturates.
struct ReciprocalSqrtEstimate : Unsigned {
  MYR_FN static u64 apply(Element&, u64 a, u64, u64) {
    if (a >> 30 == 0) return 0xFFFFFFFFu;
    return (u64)RecipSqrtEstimate((u32)(a >> 23)) << 23;
  }
};

}  // namespace myriarm::simd
