// SPDX-License-Identifier: Apache-2.0
// AdvSIMD across lanes and pairwise: operations between elements of one register.
#pragma once

#include "core/simd/operations.h"

namespace myriarm {

/// ADDV, SMAXV and their like: Op between all elements.
template <class Op, class Cpu>
MYR_FN Outcome across_lanes(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o), halves = arrangement_halves(o);
  Element element = {element_bits(size), false};
  u64 result = extend<Op::kSigned>(cpu.v(o.rn, 0), element.bits);
  u32 at = element.bits;  // the first element is the result so far
  for (u32 half = 0; half < halves; half++) {
    u64 n = cpu.v(o.rn, half);
    for (; at < 64; at += element.bits) {
      result = Op::apply(element, result, element_at<Op::kSigned>(n, at, element.bits), 0);
    }
    at = 0;
  }
  write_scalar(cpu, o.rd, result, size);
  return Outcome::next;
}

/// SADDLV, UADDLV: the sum has twice the width.
template <bool kSigned, class Cpu>
MYR_FN Outcome add_long_across(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o), bits = element_bits(size), halves = arrangement_halves(o);
  u64 sum = 0;
  for (u32 half = 0; half < halves; half++) {
    u64 n = cpu.v(o.rn, half);
    for (u32 at = 0; at < 64; at += bits) sum += element_at<kSigned>(n, at, bits);
  }
  write_scalar(cpu, o.rd, sum, size + 1);
  return Outcome::next;
}

/// Op between the two elements of each pair of a half, below 64 bits each; 32 bits of results.
template <class Op>
MYR_FN u64 reduce_pairs(Element& element, u64 half) {
  u32 bits = element.bits;
  u64 mask = ones(bits), result = 0;
  for (u32 at = 0; at < 64; at += 2 * bits) {
    u64 value =
        Op::apply(element, element_at<Op::kSigned>(half, at, bits), element_at<Op::kSigned>(half, at + bits, bits), 0);
    result |= (value & mask) << (at / 2);
  }
  return result;
}
/// ADDP, SMAXP and their like: pairs of Vn, then pairs of Vm.
template <class Op, class Cpu>
MYR_FN Outcome vector_pairwise(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o);
  Element element = {element_bits(size), false};
  u64 n0 = cpu.v(o.rn, 0), m0 = cpu.v(o.rm, 0);
  u64 low, high = 0;
  if (!arrangement_q(o)) {
    low = reduce_pairs<Op>(element, n0) | reduce_pairs<Op>(element, m0) << 32;
  } else {
    u64 n1 = cpu.v(o.rn, 1), m1 = cpu.v(o.rm, 1);
    if (size == 3) {
      low = Op::apply(element, n0, n1, 0);
      high = Op::apply(element, m0, m1, 0);
    } else {
      low = reduce_pairs<Op>(element, n0) | reduce_pairs<Op>(element, n1) << 32;
      high = reduce_pairs<Op>(element, m0) | reduce_pairs<Op>(element, m1) << 32;
    }
  }
  cpu.set_v(o.rd, 0, low);
  cpu.set_v(o.rd, 1, high);
  return Outcome::next;
}

/// ADDP of a scalar: the sum of the two doublewords.
template <class Cpu>
MYR_FN Outcome scalar_add_pair(Cpu& cpu, const Operands& o) {
  write_scalar(cpu, o.rd, cpu.v(o.rn, 0) + cpu.v(o.rn, 1), 3);
  return Outcome::next;
}

}  // namespace myriarm
