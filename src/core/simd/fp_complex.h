// SPDX-License-Identifier: Apache-2.0
// AdvSIMD floating point, complex numbers: pairs of elements, the real part first. FCADD and FCMLA rotate the pairs of
// Vm, FCMLA also copies one part of each pair of Vn to both places; then they add or multiply element by element. A
// pair of doublewords fills a register, with the real part in half 0.
#pragma once

#include "core/simd/fp_operations.h"
#include "core/simd/number.h"

namespace myriarm {

/// Swaps the parts of each number in a half of halfwords or words.
MYR_FN u64 swap_complex_parts(u64 half, u32 size) {
  if (size == 2) return half >> 32 | half << 32;
  return (half >> 16 & 0x0000FFFF0000FFFFu) | (half & 0x0000FFFF0000FFFFu) << 16;
}
/// Copies the real (0) or imaginary (1) part of each number to both places.
MYR_FN u64 repeat_complex_part(u64 half, u32 size, u32 part) {
  if (size == 2) return (half >> (part * 32) & 0xFFFFFFFFu) * 0x0000000100000001u;
  return (half >> (part * 16) & 0x0000FFFF0000FFFFu) * 0x10001u;
}
/// The sign bits that a rotation by `rotation` quarters flips: of real parts for 1 and 2, of imaginary ones for 2 and
/// 3.
MYR_FN u64 rotation_signs(u32 size, u32 rotation, u32 half) {
  bool real = rotation == 1 || rotation == 2, imaginary = rotation >= 2;
  if (size == 3) return (u64)(half == 0 ? real : imaginary) << 63;
  u64 reals = size == 2 ? 0x0000000080000000u : 0x0000800000008000u;
  return (real ? reals : 0) | (imaginary ? reals << element_bits(size) : 0);
}

/// Vm with its numbers rotated. offset: the rotation.
template <class Cpu>
MYR_FN u64 rotated_complex(Cpu& cpu, const Operands& o, u32 size, u32 half) {
  u32 rotation = (u32)o.offset, odd = rotation & 1;
  u64 m;
  if (size == 3) {
    m = cpu.v(o.rm, half ^ odd);
  } else {
    m = cpu.v(o.rm, half);
    if (odd) m = swap_complex_parts(m, size);
  }
  return m ^ rotation_signs(size, rotation, half);
}

/// FCADD.
template <class Cpu>
MYR_FN Outcome fp_complex_add(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o);
  return fp_vector_operation<fp::Add>(cpu, o, rotated_complex(cpu, o, size, 0), rotated_complex(cpu, o, size, 1));
}

/// m0, m1: the parts of Vm, rotated.
template <class Cpu>
MYR_FN Outcome fp_complex_multiply(Cpu& cpu, const Operands& o, u64 m0, u64 m1) {
  u32 size = arrangement_size(o), part = (u32)o.offset & 1;
  u64 n0 = cpu.v(o.rn, 0), n1 = cpu.v(o.rn, 1);
  if (size == 3) {
    n0 = n1 = part == 0 ? n0 : n1;
  } else {
    n0 = repeat_complex_part(n0, size, part);
    n1 = repeat_complex_part(n1, size, part);
  }
  auto ctx = fp_context(cpu);
  u64 low = fp_map_elements<fp::MulAdd>(size, n0, m0, cpu.v(o.rd, 0), ctx), high = 0;
  if (arrangement_q(o)) high = fp_map_elements<fp::MulAdd>(size, n1, m1, cpu.v(o.rd, 1), ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  cpu.set_v(o.rd, 0, low);
  cpu.set_v(o.rd, 1, high);
  return Outcome::next;
}
/// FCMLA.
template <class Cpu>
MYR_FN Outcome fp_complex_multiply_add(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o);
  return fp_complex_multiply(cpu, o, rotated_complex(cpu, o, size, 0), rotated_complex(cpu, o, size, 1));
}
/// FCMLA by element: halfwords or words. ra: the index of a number.
template <class Cpu>
MYR_FN Outcome fp_complex_multiply_add_by_element(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o);
  u64 m = replicate_element(read_element(cpu, o.rm, number_in(cpu, o.ra), size + 1), size + 1);
  if (o.offset & 1) m = swap_complex_parts(m, size);
  m ^= rotation_signs(size, (u32)o.offset, 0);
  return fp_complex_multiply(cpu, o, m, m);
}

}  // namespace myriarm
