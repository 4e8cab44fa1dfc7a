// SPDX-License-Identifier: Apache-2.0
// AdvSIMD two-register miscellaneous: an operation on each element of one register, reversal of elements, sums of
// adjacent elements into wider ones; the same on scalars. A comparison with zero is one with a register of zeros.
#pragma once

#include "core/simd/three_same.h"

namespace myriarm {

template <class Op, class Cpu>
MYR_FN Outcome vector_two(Cpu& cpu, const Operands& o) {
  Element element = element_of(arrangement_size(o));
  u32 halves = arrangement_halves(o);
  for (u32 half = 0; half < halves; half++) {
    cpu.set_v(o.rd, half, map_elements<Op>(element, cpu.v(o.rn, half), 0, cpu.v(o.rd, half)));
  }
  if (halves == 1) cpu.set_v(o.rd, 1, 0);
  return finish(cpu, element);
}
template <class Op, class Cpu>
MYR_FN Outcome scalar_two(Cpu& cpu, const Operands& o) {
  return scalar_operation<Op>(cpu, o, o.aux, 0);
}

/// NOT.
template <class Cpu>
MYR_FN Outcome vector_not(Cpu& cpu, const Operands& o) {
  bool q = arrangement_q(o);
  cpu.set_v(o.rd, 0, ~cpu.v(o.rn, 0));
  cpu.set_v(o.rd, 1, q ? ~cpu.v(o.rn, 1) : 0);
  return Outcome::next;
}

/// Reverses the elements of 8 << size bits within each kContainer bits.
template <int kContainer>
MYR_FN u64 reverse_elements(u64 value, u32 size) {
  if (size == 0) value = ((value >> 8) & 0x00FF00FF00FF00FFu) | ((value & 0x00FF00FF00FF00FFu) << 8);
  if (kContainer >= 32 && size <= 1) {
    value = ((value >> 16) & 0x0000FFFF0000FFFFu) | ((value & 0x0000FFFF0000FFFFu) << 16);
  }
  if (kContainer == 64) value = value >> 32 | value << 32;
  return value;
}
/// REV16, REV32, REV64.
template <int kContainer, class Cpu>
MYR_FN Outcome vector_reverse(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o);
  bool q = arrangement_q(o);
  cpu.set_v(o.rd, 0, reverse_elements<kContainer>(cpu.v(o.rn, 0), size));
  cpu.set_v(o.rd, 1, q ? reverse_elements<kContainer>(cpu.v(o.rn, 1), size) : 0);
  return Outcome::next;
}

/// SADDLP, UADDLP, SADALP, UADALP.
template <bool kSigned, bool kAccumulate, class Cpu>
MYR_FN Outcome vector_add_long_pairwise(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o), halves = arrangement_halves(o);
  Element wide = element_of(size + 1);
  for (u32 half = 0; half < halves; half++) {
    u64 n = cpu.v(o.rn, half);
    u64 sum = half_add(wide, widen_elements<kSigned>(wide, even_elements(n, size)),
                       widen_elements<kSigned>(wide, odd_elements(n, size)));
    cpu.set_v(o.rd, half, kAccumulate ? half_add(wide, sum, cpu.v(o.rd, half)) : sum);
  }
  if (halves == 1) cpu.set_v(o.rd, 1, 0);
  return Outcome::next;
}

}  // namespace myriarm
