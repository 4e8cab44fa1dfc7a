// SPDX-License-Identifier: Apache-2.0
// AdvSIMD floating point, three same and similar: an operation on each element of two registers, or of one register and
// an indexed element; the same on scalars; products of half-precision numbers added to single-precision ones.
#pragma once

#include "core/simd/fp_operations.h"

namespace myriarm {

template <class Op, class Cpu>
MYR_FN Outcome fp_vector_three(Cpu& cpu, const Operands& o) {
  return fp_vector_operation<Op>(cpu, o, cpu.v(o.rm, 0), cpu.v(o.rm, 1));
}
template <class Op, class Cpu>
MYR_FN Outcome fp_scalar_three(Cpu& cpu, const Operands& o) {
  return fp_scalar_operation<Op>(cpu, o, cpu.v(o.rm, 0));
}

/// Op on each element of Vn with one element of Vm. offset: its index.
template <class Op, class Cpu>
MYR_FN Outcome fp_vector_by_element(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o);
  u64 m = replicate_element(read_element(cpu, o.rm, (u32)o.offset, size), size);
  return fp_vector_operation<Op>(cpu, o, m, m);
}
template <class Op, class Cpu>
MYR_FN Outcome fp_scalar_by_element(Cpu& cpu, const Operands& o) {
  return fp_scalar_operation<Op>(cpu, o, read_element(cpu, o.rm, (u32)o.offset, fp_scalar_size(o)));
}

/// Adds the products of the lower two halfwords of n and m to the two words of d.
template <bool kSubtract>
MYR_OUTLINE u64 fp_multiply_long(u64 n, u64 m, u64 d, FpContext& ctx) {
  u64 result = 0;
  for (u32 i = 0; i < 2; i++) {
    u64 a = n >> (i * 16) & 0xFFFF, b = m >> (i * 16) & 0xFFFF;
    result |= FPMulAddH(d >> (i * 32) & 0xFFFFFFFFu, kSubtract ? FPNeg<16>(a) : a, b, ctx) << (i * 32);
  }
  return result;
}
/// n and m have as many halfwords as Vd has words.
template <bool kSubtract, class Cpu>
MYR_FN Outcome fp_multiply_long_operation(Cpu& cpu, const Operands& o, u64 n, u64 m) {
  auto ctx = fp_context(cpu);
  u64 low = fp_multiply_long<kSubtract>(n, m, cpu.v(o.rd, 0), ctx), high = 0;
  if (arrangement_q(o)) high = fp_multiply_long<kSubtract>(n >> 32, m >> 32, cpu.v(o.rd, 1), ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  cpu.set_v(o.rd, 0, low);
  cpu.set_v(o.rd, 1, high);
  return Outcome::next;
}
/// The lower or upper half of a register, which has 64 bits if Vd has.
template <bool kUpper, class Cpu>
MYR_FN u64 fp_half_of_vector(Cpu& cpu, const Operands& o, u32 n) {
  if (arrangement_q(o)) return cpu.v(n, kUpper);
  return kUpper ? cpu.v(n, 0) >> 32 : cpu.v(n, 0);
}
/// FMLAL, FMLSL, and with kUpper FMLAL2, FMLSL2.
template <bool kSubtract, bool kUpper, class Cpu>
MYR_FN Outcome fp_vector_multiply_long(Cpu& cpu, const Operands& o) {
  return fp_multiply_long_operation<kSubtract>(cpu, o, fp_half_of_vector<kUpper>(cpu, o, o.rn),
                                               fp_half_of_vector<kUpper>(cpu, o, o.rm));
}
/// The same by element. offset: the index of a halfword of Vm.
template <bool kSubtract, bool kUpper, class Cpu>
MYR_FN Outcome fp_vector_multiply_long_by_element(Cpu& cpu, const Operands& o) {
  return fp_multiply_long_operation<kSubtract>(cpu, o, fp_half_of_vector<kUpper>(cpu, o, o.rn),
                                               replicate_element(read_element(cpu, o.rm, (u32)o.offset, 1), 1));
}

}  // namespace myriarm
