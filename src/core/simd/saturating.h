// SPDX-License-Identifier: Apache-2.0
// AdvSIMD: saturation and shifts of single elements, for all families. An element "at the top" has its sign in bit 63
// and zeros below its lowest bit, so that overflow of any element size is overflow of 64 bits.
#pragma once

#include "core/simd/vector.h"

namespace myriarm {

constexpr u64 kSignedMax64 = ~(u64)0 >> 1;

/// SignedSatQ() of the manual, to element.bits below 64.
MYR_FN u64 saturate_signed(Element& element, u64 value) {
  i64 max = (i64)ones(element.bits - 1);
  i64 i = (i64)value;
  if (i <= max && i >= -max - 1) return value;
  element.saturated = true;
  return (u64)(i < 0 ? -max - 1 : max);
}
/// UnsignedSatQ() of the manual, to element.bits below 64, for a signed or an unsigned number.
template <bool kSigned>
MYR_FN u64 saturate_unsigned(Element& element, u64 value) {
  u64 max = ones(element.bits);
  if (value <= max) return value;
  element.saturated = true;
  return kSigned && (i64)value < 0 ? 0 : max;
}

/// Shifts right by 1 or more. With kRound the last bit shifted out is added, so no sum needs 65 bits.
template <bool kSigned, bool kRound>
MYR_FN u64 shift_right(u64 value, u32 amount) {
  u32 before = amount - 1;
  if (kSigned) {
    i64 last = (i64)value >> (before < 63 ? before : 63);
    return (u64)(last >> 1) + (kRound ? (u64)last & 1 : 0);
  }
  u64 last = before < 64 ? value >> before : 0;
  return (last >> 1) + (kRound ? last & 1 : 0);
}
/// Shifts left by 0 or more.
MYR_FN u64 shift_left(u64 value, u32 amount) { return amount < 64 ? value << amount : 0; }

/// Shift left by 0 to any number of bits, saturated to an element as signed as the value.
template <bool kSigned>
MYR_FN u64 shift_left_saturated(Element& element, u64 value, u32 amount) {
  u32 above = 64 - element.bits;
  u64 top = value << above;
  if (top == 0) return 0;
  u64 shifted = shift_left(top, amount);
  u64 back = amount >= 64 ? 0 : kSigned ? (u64)((i64)shifted >> amount) : shifted >> amount;
  if (back == top) return shifted >> above;
  element.saturated = true;
  if (!kSigned) return ones(element.bits);
  return (i64)top < 0 ? (u64)1 << (element.bits - 1) : ones(element.bits - 1);
}

/// The saturated sum or difference of two elements.
template <bool kSigned, bool kSubtract>
MYR_FN u64 add_saturated(Element& element, u64 a, u64 b) {
  u32 above = 64 - element.bits;
  u64 x = a << above, y = b << above;
  u64 result = kSubtract ? x - y : x + y;
  if (kSigned) {
    u64 overflow = kSubtract ? (x ^ y) & (x ^ result) : (x ^ result) & (y ^ result);
    if ((i64)overflow < 0) {
      element.saturated = true;
      result = kSignedMax64 + (x >> 63);
    }
  } else if (kSubtract ? x < y : result < x) {
    element.saturated = true;
    result = kSubtract ? 0 : ~(u64)0;
  }
  return result >> above;
}

}  // namespace myriarm
