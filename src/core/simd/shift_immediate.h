// SPDX-License-Identifier: Apache-2.0
// AdvSIMD shift by immediate, and the moves XTN, SQXTN and SHLL, which narrow or widen and are shifts too. offset: the
// amount. If elements change their size, the arrangement is that of the narrower ones.
#pragma once

#include "core/simd/three_same.h"

namespace myriarm {

template <class Op, class Cpu>
MYR_FN Outcome vector_shift(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o), halves = arrangement_halves(o);
  Element element = element_of(size);
  u64 amount = replicate_element((u64)(u32)o.offset, size);  // at most 64: fits into any element
  for (u32 half = 0; half < halves; half++) {
    cpu.set_v(o.rd, half, map_elements<Op>(element, cpu.v(o.rn, half), amount, cpu.v(o.rd, half)));
  }
  if (halves == 1) cpu.set_v(o.rd, 1, 0);
  return finish(cpu, element);
}
template <class Op, class Cpu>
MYR_FN Outcome scalar_shift(Cpu& cpu, const Operands& o) {
  return scalar_operation<Op>(cpu, o, o.aux, (u64)(u32)o.offset);
}

/// How a wide element becomes a narrow one: its lower half, or saturated; the names say the signedness of both.
enum class Narrowing : u8 { truncate, signed_to_signed, unsigned_to_unsigned, signed_to_unsigned };

/// Shifts an element of 2 * element.bits at the lower end of `value` right by 0 (with kRound, 1) to element.bits and
/// narrows it.
template <Narrowing kNarrowing, bool kRound>
MYR_FN u64 narrow_element(Element& element, u64 value, u32 amount) {
  constexpr bool kSigned = kNarrowing == Narrowing::signed_to_signed || kNarrowing == Narrowing::signed_to_unsigned;
  u64 wide = extend<kSigned>(value, 2 * element.bits);
  if (kRound) {
    wide = shift_right<kSigned, true>(wide, amount);
  } else {
    wide = kSigned ? (u64)((i64)wide >> amount) : wide >> amount;
  }
  switch (kNarrowing) {
    case Narrowing::truncate: return wide & ones(element.bits);
    case Narrowing::signed_to_signed: return saturate_signed(element, wide) & ones(element.bits);
    case Narrowing::unsigned_to_unsigned: return saturate_unsigned<false>(element, wide);
    default: return saturate_unsigned<true>(element, wide);
  }
}
/// SHRN, SQSHRN and similar; with an amount of 0 XTN, SQXTN, UQXTN, SQXTUN.
template <Narrowing kNarrowing, bool kRound, class Cpu>
MYR_FN Outcome vector_shift_narrow(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o), amount = (u32)o.offset;
  Element element = element_of(size);
  u64 result = 0;
  if (kNarrowing == Narrowing::truncate && !kRound) {
    result = even_elements(cpu.v(o.rn, 0) >> amount, size) | even_elements(cpu.v(o.rn, 1) >> amount, size) << 32;
  } else {
    u32 wide = 2 * element.bits;
    for (u32 half = 0; half < 2; half++) {
      u64 n = cpu.v(o.rn, half);
      for (u32 at = 0; at < 64; at += wide) {
        result |= narrow_element<kNarrowing, kRound>(element, n >> at, amount) << (half * 32 + at / 2);
      }
    }
  }
  write_part(cpu, o.rd, arrangement_q(o), result);
  return finish(cpu, element);
}
template <Narrowing kNarrowing, bool kRound, class Cpu>
MYR_FN Outcome scalar_shift_narrow(Cpu& cpu, const Operands& o) {
  Element element = element_of(o.aux);
  write_scalar(cpu, o.rd, narrow_element<kNarrowing, kRound>(element, cpu.v(o.rn, 0), (u32)o.offset), o.aux);
  return finish(cpu, element);
}

/// Extends the elements of one half to twice the width and shifts them left.
template <bool kSigned, class Cpu>
MYR_FN Outcome shift_left_long(Cpu& cpu, const Operands& o, u32 amount) {
  Element wide = element_of(arrangement_size(o) + 1);
  u64 n = cpu.v(o.rn, arrangement_q(o));
  cpu.set_v(o.rd, 0, half_shift_left(wide, widen_elements<kSigned>(wide, n), amount).value);
  cpu.set_v(o.rd, 1, half_shift_left(wide, widen_elements<kSigned>(wide, n >> 32), amount).value);
  return Outcome::next;
}
/// SSHLL, USHLL.
template <bool kSigned, class Cpu>
MYR_FN Outcome vector_shift_long(Cpu& cpu, const Operands& o) {
  return shift_left_long<kSigned>(cpu, o, (u32)o.offset);
}
/// SHLL: shifts by the width of the elements.
template <class Cpu>
MYR_FN Outcome vector_shift_long_by_size(Cpu& cpu, const Operands& o) {
  return shift_left_long<false>(cpu, o, element_bits(arrangement_size(o)));
}

}  // namespace myriarm
