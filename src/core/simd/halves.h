// SPDX-License-Identifier: Apache-2.0
// AdvSIMD: operations on all elements of a 64-bit half at once, with 64-bit arithmetic. The highest bit of each element
// is handled separately, so that carries do not cross into the next element. A truth value is in the highest bit of its
// element.
#pragma once

#include "core/simd/vector.h"

namespace myriarm {

MYR_FN u64 half_add(const Element& e, u64 a, u64 b) { return ((a & ~e.tops) + (b & ~e.tops)) ^ ((a ^ b) & e.tops); }
MYR_FN u64 half_sub(const Element& e, u64 a, u64 b) { return ((a | e.tops) - (b & ~e.tops)) ^ ((a ^ ~b) & e.tops); }

/// The lowest bit of each element.
MYR_FN u64 half_lowest(const Element& e) { return e.tops << 1 | 1; }
/// Fills each element with its highest bit in `tops`.
MYR_FN u64 half_spread(const Element& e, u64 tops) { return (tops - (tops >> (e.bits - 1))) | tops; }
/// The highest bits of elements that are not zero.
MYR_FN u64 half_nonzero(const Element& e, u64 a) { return (((a & ~e.tops) + ~e.tops) | a) & e.tops; }
/// Ones where a >= b.
template <bool kSigned>
MYR_FN u64 half_greater_equal(const Element& e, u64 a, u64 b) {
  u64 difference = (a | e.tops) - (b & ~e.tops);
  u64 sure = kSigned ? ~a & b : a & ~b;
  return half_spread(e, (sure | (~(a ^ b) & difference)) & e.tops);
}
/// The elements of a where mask has ones, those of b elsewhere.
MYR_FN u64 half_select(u64 mask, u64 a, u64 b) { return b ^ ((a ^ b) & mask); }
/// Negates the elements where mask has ones.
MYR_FN u64 half_negate(const Element& e, u64 mask, u64 a) { return half_sub(e, a ^ mask, mask); }
template <bool kSigned>
MYR_FN u64 half_difference(const Element& e, u64 a, u64 b) {
  return half_negate(e, ~half_greater_equal<kSigned>(e, a, b), half_sub(e, a, b));
}

/// Half of a sum, without a carry bit: the bits that both have, plus half of the bits that one has.
template <bool kSigned, bool kRound>
MYR_FN u64 half_average(const Element& e, u64 a, u64 b) {
  u64 bias = kSigned ? e.tops : 0;
  a ^= bias;
  b ^= bias;
  u64 one_has = ((a ^ b) & ~half_lowest(e)) >> 1;
  return (kRound ? (a | b) - one_has : (a & b) + one_has) ^ bias;
}
template <bool kSigned>
MYR_FN u64 half_average_difference(const Element& e, u64 a, u64 b) {
  u64 bias = kSigned ? e.tops : 0;
  a ^= bias;
  b ^= bias;
  return half_sub(e, ((a ^ b) & ~half_lowest(e)) >> 1, ~a & b);
}

template <bool kSigned, bool kSubtract>
MYR_FN u64 half_add_saturated(Element& e, u64 a, u64 b) {
  u64 result = kSubtract ? half_sub(e, a, b) : half_add(e, a, b);
  u64 overflow = 0;
  if (kSigned) {
    overflow = (kSubtract ? a ^ b : ~(a ^ b)) & (a ^ result);
  } else {
    overflow = kSubtract ? (~a & b) | (~(a ^ b) & result) : (a & b) | ((a | b) & ~result);
  }
  overflow &= e.tops;
  if (overflow == 0) return result;
  e.saturated = true;
  u64 limit = kSigned ? ~e.tops ^ half_spread(e, a & e.tops) : kSubtract ? 0 : ~(u64)0;
  return half_select(half_spread(e, overflow), limit, result);
}

/// Elements shifted right by 1 to e.bits, and what is left of ones: the mask of bits that were not shifted in.
struct ShiftedHalf {
  u64 value, mask;
};
MYR_FN ShiftedHalf half_shift_right(const Element& e, u64 a, u32 amount) {
  u64 lowest = half_lowest(e);
  u64 mask = (lowest << (e.bits - amount)) - lowest;
  return {a >> (amount - 1) >> 1 & mask, mask};
}
/// Shifts elements left by 0 to e.bits - 1.
MYR_FN ShiftedHalf half_shift_left(const Element& e, u64 a, u32 amount) {
  u64 lowest = half_lowest(e);
  u64 mask = ~((lowest << amount) - lowest);
  return {a << amount & mask, mask};
}
template <bool kSigned, bool kRound>
MYR_FN u64 half_shift_right_as(const Element& e, u64 a, u32 amount) {
  ShiftedHalf shifted = half_shift_right(e, a, amount);
  if (kSigned) shifted.value |= half_spread(e, a & e.tops) & ~shifted.mask;
  if (!kRound) return shifted.value;
  return half_add(e, shifted.value, a >> (amount - 1) & half_lowest(e));
}

/// Packs elements 0, 2, ... of a half, which have less than 64 bits, into the lower 32 bits.
MYR_FN u64 even_elements(u64 half, u32 size) {
  if (size == 0) {
    half &= 0x00FF00FF00FF00FFu;
    half |= half >> 8;
  }
  if (size <= 1) {
    half &= 0x0000FFFF0000FFFFu;
    half |= half >> 16;
  }
  return half & 0xFFFFFFFFu;
}
MYR_FN u64 odd_elements(u64 half, u32 size) { return even_elements(half >> element_bits(size), size); }
/// Extends the elements in the lower 32 bits to twice their width, the width of `wide`.
template <bool kSigned>
MYR_FN u64 widen_elements(const Element& wide, u64 half) {
  half &= 0xFFFFFFFFu;
  if (wide.bits <= 32) half = (half | half << 16) & 0x0000FFFF0000FFFFu;
  if (wide.bits <= 16) half = (half | half << 8) & 0x00FF00FF00FF00FFu;
  if (!kSigned) return half;
  u64 sign = half_lowest(wide) << (wide.bits / 2 - 1);
  return half_sub(wide, half ^ sign, sign);
}

}  // namespace myriarm
