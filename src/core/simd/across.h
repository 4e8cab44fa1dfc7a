// SPDX-License-Identifier: Apache-2.0
// AdvSIMD across lanes and pairwise: operations between elements of one register.
#pragma once

#include "core/simd/operations.h"

namespace myriarm {

/// ADDV, SMAXV and similar: combines all elements with Op. The order does not matter: first the halves, then parts of
/// the result.
template <class Op, class Cpu>
MYR_FN Outcome across_lanes(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o);
  Element element = element_of(size);
  u64 result = cpu.v(o.rn, 0);
  if (arrangement_q(o)) result = Op::half(element, result, cpu.v(o.rn, 1), 0);
  for (u32 at = 32; at >= element.bits; at /= 2) result = Op::half(element, result, result >> at, 0);
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

/// ADDP, SMAXP and similar: Op on each pair of neighbours of Vn, then of Vm.
template <class Op, class Cpu>
MYR_FN Outcome vector_pairwise(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o);
  Element element = element_of(size);
  u64 n0 = cpu.v(o.rn, 0), n1 = cpu.v(o.rn, 1), m0 = cpu.v(o.rm, 0), m1 = cpu.v(o.rm, 1);
  bool q = arrangement_q(o);
  u64 low, high;
  if (size == 3) {
    low = Op::half(element, n0, n1, 0);
    high = Op::half(element, m0, m1, 0);
  } else {
    u64 second = q ? n1 : m0;
    low = Op::half(element, even_elements(n0, size) | even_elements(second, size) << 32,
                   odd_elements(n0, size) | odd_elements(second, size) << 32, 0);
    high = Op::half(element, even_elements(m0, size) | even_elements(m1, size) << 32,
                    odd_elements(m0, size) | odd_elements(m1, size) << 32, 0);
  }
  cpu.set_v(o.rd, 0, low);
  cpu.set_v(o.rd, 1, q ? high : 0);
  return Outcome::next;
}

/// ADDP (scalar): the sum of the two doublewords.
template <class Cpu>
MYR_FN Outcome scalar_add_pair(Cpu& cpu, const Operands& o) {
  write_scalar(cpu, o.rd, cpu.v(o.rn, 0) + cpu.v(o.rn, 1), 3);
  return Outcome::next;
}

}  // namespace myriarm
