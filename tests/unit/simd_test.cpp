// SPDX-License-Identifier: Apache-2.0
// AdvSIMD integer operations, compared with the architecture manual's definitions in 128-bit arithmetic: all pairs of
// bytes, and random elements of the other sizes. Functions that compute 64 bits at once are compared in the same way.
#include <gtest/gtest.h>

#include "core/simd/shift_immediate.h"
#include "core/simd/three_different.h"
#include "core/simd/two_misc.h"
#include "generate/generate.h"

namespace myriarm {
namespace {

using Wide = __int128;

Wide power(u32 exponent) { return Wide{1} << exponent; }

/// A result by the manual's definition: a number of any size, and how it becomes an element.
struct Model {
  enum { wrap, to_signed, to_unsigned } kind;
  Wide value;
};
Model wrap(Wide value) { return {Model::wrap, value}; }
Model saturate(bool is_signed, Wide value) { return {is_signed ? Model::to_signed : Model::to_unsigned, value}; }
Model mask(bool holds) { return wrap(holds ? -1 : 0); }

u64 element_of_model(Model model, u32 bits, bool& saturated) {
  Wide low = model.kind == Model::to_signed ? -power(bits - 1) : 0;
  Wide high = model.kind == Model::to_signed ? power(bits - 1) - 1 : power(bits) - 1;
  if (model.kind != Model::wrap && (model.value < low || model.value > high)) {
    saturated = true;
    model.value = model.value < low ? low : high;
  }
  return static_cast<u64>(model.value) & ones(bits);
}

Wide number(bool is_signed, u64 value) { return is_signed ? Wide{static_cast<i64>(value)} : Wide{value}; }
Wide absolute(Wide value) { return value < 0 ? -value : value; }
/// A left shift, or a right shift if the amount is negative. For left shifts by 64 or more it returns some number whose
/// element bits are zero and which saturates; a right shift by more than 100 is the same as by 100.
Wide shift(Wide value, i32 amount, bool round) {
  if (amount >= 0)
    return amount >= 64 ? (value == 0  ? Wide{0}
                           : value < 0 ? -power(126)
                                       : power(126))
                        : value * power(static_cast<u32>(amount));
  u32 right = amount < -100 ? 100 : static_cast<u32>(-amount);
  return (value + (round ? power(right - 1) : 0)) >> right;
}

/// Checks Op on elements that fill 64 bits: element by element and, if Op can do that, 64 bits at once.
template <class Op, class Define>
bool agrees(u32 size, u64 n, u64 m, u64 d, Define define) {
  u32 bits = element_bits(size);
  u64 expected = 0;
  bool saturated = false;
  for (u32 at = 0; at < 64; at += bits) {
    Wide a = number(Op::kSigned, element_at<Op::kSigned>(n, at, bits));
    Wide b = number(Op::kSigned, element_at<Op::kSigned>(m, at, bits));
    Wide c = number(Op::kSigned, element_at<Op::kSigned>(d, at, bits));
    bool one = false;
    u64 value = element_of_model(define(bits, a, b, c), bits, one);
    expected |= value << at;
    saturated |= one;
    if constexpr (requires(Element & e) { Op::apply(e, n, m, d); }) {
      Element element = element_of(size);
      u64 result = Op::apply(element, element_at<Op::kSigned>(n, at, bits), element_at<Op::kSigned>(m, at, bits),
                             element_at<Op::kSigned>(d, at, bits));
      if ((result & ones(bits)) != value || element.saturated != one) return false;
    }
  }
  Element element = element_of(size);
  return map_elements<Op>(element, n, m, d) == expected && element.saturated == saturated;
}

u64 random_half(Random& random) {
  u32 bits = 8u << random.below(4);
  u64 half = 0;
  for (u32 at = 0; at < 64; at += bits) half |= random.edge(bits) << at;
  return half;
}

enum Sizes { kAll, kBelow64, kHalvesWords, kBytes };

/// `second` makes the elements of Vm, for operations that do not take any number.
template <class Op, class Define, class Second>
void check(const char* name, Sizes sizes, Define define, Second second) {
  SCOPED_TRACE(name);
  Random random(1);
  u32 wrong = 0;
  if (sizes != kHalvesWords) {
    for (u64 a = 0; a < 256 && wrong == 0; a++) {
      for (u64 b = 0; b < 256; b++) {
        // The neighbours differ, so that the test sees bits that cross from one element into the next.
        u64 n = a * 0x0100010001000100u | (random.next() & 0x00FF00FF00FF00FFu);
        u64 m = second(0, b * 0x0100010001000100u | (random.next() & 0x00FF00FF00FF00FFu));
        u64 d = random_half(random);
        if (!agrees<Op>(0, n, m, d, define) && wrong++ == 0) {
          ADD_FAILURE() << std::hex << "bytes: n " << n << " m " << m << " d " << d;
        }
      }
    }
  }
  for (u32 size = 0; size < 4; size++) {
    if (sizes == kBytes || (sizes != kAll && size == 3) || (sizes == kHalvesWords && size == 0)) continue;
    for (u32 i = 0; i < 20000 && wrong == 0; i++) {
      u64 n = random_half(random), m = second(size, random_half(random)), d = random_half(random);
      if (!agrees<Op>(size, n, m, d, define) && wrong++ == 0) {
        ADD_FAILURE() << std::hex << "size " << size << ": n " << n << " m " << m << " d " << d;
      }
    }
  }
}
template <class Op, class Define>
void check(const char* name, Sizes sizes, Define define) {
  check<Op>(name, sizes, define, [](u32, u64 m) { return m; });
}
/// Amounts from `first` to `first` + width - 1 of a shift by immediate.
template <class Op, class Define>
void check_immediate(const char* name, u64 first, Define define) {
  check<Op>(name, kAll, define,
            [first](u32 size, u64 m) { return replicate_element((m >> 8) % element_bits(size) + first, size); });
}

TEST(Simd, Arithmetic) {
  check<simd::Add>("ADD", kAll, [](u32, Wide a, Wide b, Wide) { return wrap(a + b); });
  check<simd::Sub>("SUB", kAll, [](u32, Wide a, Wide b, Wide) { return wrap(a - b); });
  check<simd::Mul>("MUL", kBelow64, [](u32, Wide a, Wide b, Wide) { return wrap(a * b); });
  check<simd::MulAdd>("MLA", kBelow64, [](u32, Wide a, Wide b, Wide d) { return wrap(d + a * b); });
  check<simd::MulSub>("MLS", kBelow64, [](u32, Wide a, Wide b, Wide d) { return wrap(d - a * b); });
  check<simd::Negate>("NEG", kAll, [](u32, Wide a, Wide, Wide) { return wrap(-a); });
  check<simd::Absolute>("ABS", kAll, [](u32, Wide a, Wide, Wide) { return wrap(absolute(a)); });
  check<simd::PolynomialMul>("PMUL", kBytes, [](u32, Wide a, Wide b, Wide) {
    Wide product = 0;
    for (u32 i = 0; i < 8; i++) product ^= (b >> i & 1) * (a << i);
    return wrap(product);
  });
}

TEST(Simd, Comparisons) {
  check<simd::CompareEqual>("CMEQ", kAll, [](u32, Wide a, Wide b, Wide) { return mask(a == b); });
  check<simd::CompareTest>("CMTST", kAll, [](u32, Wide a, Wide b, Wide) { return mask((a & b) != 0); });
  check<simd::CompareLess>("CMLT", kAll, [](u32, Wide a, Wide b, Wide) { return mask(a < b); });
  check<simd::CompareLessEqual>("CMLE", kAll, [](u32, Wide a, Wide b, Wide) { return mask(a <= b); });
}

/// Operations whose signed and unsigned forms differ only in how they interpret the elements.
template <bool kSigned>
void check_both() {
  SCOPED_TRACE(kSigned ? "signed" : "unsigned");
  using namespace simd;
  check<CompareGreater<kSigned>>("CMGT", kAll, [](u32, Wide a, Wide b, Wide) { return mask(a > b); });
  check<CompareGreaterEqual<kSigned>>("CMGE", kAll, [](u32, Wide a, Wide b, Wide) { return mask(a >= b); });
  check<Max<kSigned>>("MAX", kBelow64, [](u32, Wide a, Wide b, Wide) { return wrap(a > b ? a : b); });
  check<Min<kSigned>>("MIN", kBelow64, [](u32, Wide a, Wide b, Wide) { return wrap(a < b ? a : b); });
  check<AbsoluteDifference<kSigned>>("ABD", kBelow64, [](u32, Wide a, Wide b, Wide) { return wrap(absolute(a - b)); });
  check<AbsoluteDifferenceAdd<kSigned>>("ABA", kBelow64,
                                        [](u32, Wide a, Wide b, Wide d) { return wrap(d + absolute(a - b)); });
  check<HalvingAdd<kSigned, false>>("HADD", kBelow64, [](u32, Wide a, Wide b, Wide) { return wrap((a + b) >> 1); });
  check<HalvingAdd<kSigned, true>>("RHADD", kBelow64, [](u32, Wide a, Wide b, Wide) { return wrap((a + b + 1) >> 1); });
  check<HalvingSub<kSigned>>("HSUB", kBelow64, [](u32, Wide a, Wide b, Wide) { return wrap((a - b) >> 1); });
  check<AddSaturated<kSigned>>("QADD", kAll, [](u32, Wide a, Wide b, Wide) { return saturate(kSigned, a + b); });
  check<SubSaturated<kSigned>>("QSUB", kAll, [](u32, Wide a, Wide b, Wide) { return saturate(kSigned, a - b); });

  auto amount = [](Wide b) { return static_cast<i32>(static_cast<i8>(static_cast<u8>(b))); };
  check<ShiftVariable<kSigned, false>>("SHL", kAll,
                                       [&](u32, Wide a, Wide b, Wide) { return wrap(shift(a, amount(b), false)); });
  check<ShiftVariable<kSigned, true>>("RSHL", kAll,
                                      [&](u32, Wide a, Wide b, Wide) { return wrap(shift(a, amount(b), true)); });
  check<ShiftVariableSaturated<kSigned, false>>(
      "QSHL", kAll, [&](u32, Wide a, Wide b, Wide) { return saturate(kSigned, shift(a, amount(b), false)); });
  check<ShiftVariableSaturated<kSigned, true>>(
      "QRSHL", kAll, [&](u32, Wide a, Wide b, Wide) { return saturate(kSigned, shift(a, amount(b), true)); });

  auto right = [](Wide b) { return -static_cast<i32>(b); };
  check_immediate<ShiftRight<kSigned, false>>(
      "SHR", 1, [&](u32, Wide a, Wide b, Wide) { return wrap(shift(a, right(b), false)); });
  check_immediate<ShiftRight<kSigned, true>>("RSHR", 1,
                                             [&](u32, Wide a, Wide b, Wide) { return wrap(shift(a, right(b), true)); });
  check_immediate<ShiftRightAdd<kSigned, false>>(
      "SRA", 1, [&](u32, Wide a, Wide b, Wide d) { return wrap(d + shift(a, right(b), false)); });
  check_immediate<ShiftRightAdd<kSigned, true>>(
      "RSRA", 1, [&](u32, Wide a, Wide b, Wide d) { return wrap(d + shift(a, right(b), true)); });
  check_immediate<ShiftLeftSaturated<kSigned>>(
      "QSHL #", 0, [](u32, Wide a, Wide b, Wide) { return saturate(kSigned, shift(a, static_cast<i32>(b), false)); });
}
TEST(Simd, Signed) { check_both<true>(); }
TEST(Simd, Unsigned) { check_both<false>(); }

TEST(Simd, ShiftsThatInsert) {
  check_immediate<simd::ShiftLeft>("SHL #", 0,
                                   [](u32, Wide a, Wide b, Wide) { return wrap(a * power(static_cast<u32>(b))); });
  check_immediate<simd::ShiftLeftInsert>("SLI", 0, [](u32, Wide a, Wide b, Wide d) {
    return wrap(a * power(static_cast<u32>(b)) + d % power(static_cast<u32>(b)));
  });
  check_immediate<simd::ShiftRightInsert>("SRI", 1, [](u32 bits, Wide a, Wide b, Wide d) {
    Wide kept = power(bits - static_cast<u32>(b));
    return wrap((a >> static_cast<u32>(b)) + d / kept * kept);
  });
  check_immediate<simd::ShiftLeftSaturatedUnsigned>(
      "SQSHLU", 0, [](u32, Wide a, Wide b, Wide) { return saturate(false, shift(a, static_cast<i32>(b), false)); });
}

TEST(Simd, Saturating) {
  check<simd::NegateSaturated>("SQNEG", kAll, [](u32, Wide a, Wide, Wide) { return saturate(true, -a); });
  check<simd::AbsoluteSaturated>("SQABS", kAll, [](u32, Wide a, Wide, Wide) { return saturate(true, absolute(a)); });
  check<simd::AddUnsignedToSigned>("SUQADD", kAll, [](u32 bits, Wide a, Wide, Wide d) {
    return saturate(true, a + (d >= power(bits - 1) ? d - power(bits) : d));
  });
  check<simd::AddSignedToUnsigned>("USQADD", kAll, [](u32 bits, Wide a, Wide, Wide d) {
    return saturate(false, d + (a >= power(bits - 1) ? a - power(bits) : a));
  });
  check<simd::DoublingMulHigh<false>>(
      "SQDMULH", kHalvesWords, [](u32 bits, Wide a, Wide b, Wide) { return saturate(true, (2 * a * b) >> bits); });
  check<simd::DoublingMulHigh<true>>("SQRDMULH", kHalvesWords, [](u32 bits, Wide a, Wide b, Wide) {
    return saturate(true, (2 * a * b + power(bits - 1)) >> bits);
  });
  check<simd::DoublingMulAddHigh<false>>("SQRDMLAH", kHalvesWords, [](u32 bits, Wide a, Wide b, Wide d) {
    return saturate(true, (d * power(bits) + 2 * a * b + power(bits - 1)) >> bits);
  });
  check<simd::DoublingMulAddHigh<true>>("SQRDMLSH", kHalvesWords, [](u32 bits, Wide a, Wide b, Wide d) {
    return saturate(true, (d * power(bits) - 2 * a * b + power(bits - 1)) >> bits);
  });
}

TEST(Simd, Bits) {
  check<simd::CountLeadingZeros>("CLZ", kBelow64, [](u32 bits, Wide a, Wide, Wide) {
    u32 count = 0;
    while (count < bits && a < power(bits - 1 - count)) count++;
    return wrap(count);
  });
  check<simd::CountLeadingSigns>("CLS", kBelow64, [](u32 bits, Wide a, Wide, Wide) {
    u32 count = 0;
    while (count < bits - 1 && (a >> (bits - 2 - count) & 1) == (a < 0)) count++;
    return wrap(count);
  });
  check<simd::CountOnes>("CNT", kBytes, [](u32, Wide a, Wide, Wide) {
    u32 count = 0;
    for (u32 i = 0; i < 8; i++) count += static_cast<u32>(a >> i & 1);
    return wrap(count);
  });
  check<simd::ReverseBits>("RBIT", kBytes, [](u32, Wide a, Wide, Wide) {
    Wide reversed = 0;
    for (u32 i = 0; i < 8; i++) reversed |= (a >> i & 1) << (7 - i);
    return wrap(reversed);
  });
}

// All inputs for which the estimates can differ, compared with the manual's loops.
TEST(Simd, Estimates) {
  for (u64 top = 0; top < 512; top++) {
    Element element = element_of(2);
    u64 operand = top << 23 | 0x12345;
    u64 reciprocal = 0xFFFFFFFFu, root = 0xFFFFFFFFu;
    if (top >= 256) reciprocal = (((1u << 19) / (top * 2 + 1) + 1) / 2 & 0x1FF) << 23;
    if (top >= 128) {
      u64 a = top < 256 ? top * 2 + 1 : ((top >> 1 << 1) + 1) * 2, b = 512;
      while (a * (b + 1) * (b + 1) < u64{1} << 28) b++;
      root = ((b + 1) / 2 & 0x1FF) << 23;
    }
    EXPECT_EQ(simd::ReciprocalEstimate::apply(element, operand, 0, 0), reciprocal) << top;
    EXPECT_EQ(simd::ReciprocalSqrtEstimate::apply(element, operand, 0, 0), root) << top;
  }
}

template <Narrowing kNarrowing, bool kRound>
void check_narrowing(bool from_signed, auto become) {
  Random random(2);
  for (u32 i = 0; i < 60000; i++) {
    u32 size = i % 3, bits = element_bits(size), amount = static_cast<u32>(random.below(bits)) + 1;
    u64 value = random.edge(2 * bits);
    Wide wide = number(from_signed, from_signed ? sign_extend(value, 2 * bits) : value);
    bool saturated = false;
    u64 expected = element_of_model(become(shift(wide, -static_cast<i32>(amount), kRound)), bits, saturated);
    Element element = element_of(size);
    ASSERT_EQ((narrow_element<kNarrowing, kRound>(element, value, amount)), expected) << value << " by " << amount;
    ASSERT_EQ(element.saturated, saturated) << value << " by " << amount;
  }
}
TEST(Simd, Narrowing) {
  check_narrowing<Narrowing::truncate, false>(false, wrap);
  check_narrowing<Narrowing::truncate, true>(false, wrap);
  auto to_signed = [](Wide value) { return saturate(true, value); };
  auto to_unsigned = [](Wide value) { return saturate(false, value); };
  check_narrowing<Narrowing::signed_to_signed, false>(true, to_signed);
  check_narrowing<Narrowing::signed_to_signed, true>(true, to_signed);
  check_narrowing<Narrowing::signed_to_unsigned, false>(true, to_unsigned);
  check_narrowing<Narrowing::signed_to_unsigned, true>(true, to_unsigned);
  check_narrowing<Narrowing::unsigned_to_unsigned, false>(false, to_unsigned);
  check_narrowing<Narrowing::unsigned_to_unsigned, true>(false, to_unsigned);
}

}  // namespace
}  // namespace myriarm
