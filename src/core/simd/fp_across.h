// SPDX-License-Identifier: Apache-2.0
// AdvSIMD floating point across lanes and pairwise: operations between elements of one register. If several elements
// are NaNs, the result depends on the order of operations: first neighbours, then neighbours among the results.
#pragma once

#include "core/simd/fp_operations.h"
#include "core/simd/halves.h"

namespace myriarm {

/// Op on each pair of neighbours of n, then of m; for elements below 64 bits.
template <class Op, class Ctx>
MYR_FN u64 fp_map_pairs(u32 size, u64 n, u64 m, Ctx& ctx) {
  return fp_map_elements<Op>(size, even_elements(n, size) | even_elements(m, size) << 32,
                             odd_elements(n, size) | odd_elements(m, size) << 32, 0, ctx);
}

/// FADDP, FMAXP and similar.
template <class Op, class Cpu>
MYR_FN Outcome fp_vector_pairwise(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o);
  u64 n0 = cpu.v(o.rn, 0), n1 = cpu.v(o.rn, 1), m0 = cpu.v(o.rm, 0), m1 = cpu.v(o.rm, 1);
  auto ctx = fp_context(cpu);
  u64 low, high = 0;
  if (size == 3) {
    low = fp_map_elements<Op>(size, n0, n1, 0, ctx);
    high = fp_map_elements<Op>(size, m0, m1, 0, ctx);
  } else if (arrangement_q(o)) {
    low = fp_map_pairs<Op>(size, n0, n1, ctx);
    high = fp_map_pairs<Op>(size, m0, m1, ctx);
  } else {
    low = fp_map_pairs<Op>(size, n0, m0, ctx);
  }
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  cpu.set_v(o.rd, 0, low);
  cpu.set_v(o.rd, 1, high);
  return Outcome::next;
}
/// FADDP, FMAXP and similar (scalar): Op on the two elements of Vn.
template <class Op, class Cpu>
MYR_FN Outcome fp_scalar_pairwise(Cpu& cpu, const Operands& o) {
  u32 size = fp_scalar_size(o);
  auto ctx = fp_context(cpu);
  u64 result = fp_apply<Op>(size, read_element(cpu, o.rn, 0, size), read_element(cpu, o.rn, 1, size), 0, ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  write_scalar(cpu, o.rd, result, size);
  return Outcome::next;
}

/// FMAXV and similar, of four words, or of as many halfwords as aux says. Unused elements are zeros: Op on two of them
/// gives a zero and raises no exception.
template <class Op, bool kWords, class Cpu>
MYR_FN Outcome fp_across_lanes(Cpu& cpu, const Operands& o) {
  constexpr u32 kSize = kWords ? 2 : 1;
  auto ctx = fp_context(cpu);
  u64 result = cpu.v(o.rn, 0);
  if (kWords || arrangement_q(o)) result = fp_map_pairs<Op>(kSize, result, cpu.v(o.rn, 1), ctx);
  for (u32 elements = kWords ? 2 : 4; elements > 1; elements /= 2) result = fp_map_pairs<Op>(kSize, result, 0, ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  write_scalar(cpu, o.rd, result, kSize);
  return Outcome::next;
}

}  // namespace myriarm
