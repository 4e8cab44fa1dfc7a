// SPDX-License-Identifier: Apache-2.0
// AdvSIMD three same and similar: an operation on each element of two registers, or of one register and an indexed
// element, or a dot product of four bytes for each word; the same on scalars.
#pragma once

#include "core/simd/operations.h"

namespace myriarm {

/// Op on each element of two halves.
template <class Op>
MYR_FN u64 map_elements(Element& element, u64 n, u64 m, u64 d) {
  if constexpr (requires { Op::half(element, n, m, d); }) {
    return Op::half(element, n, m, d);
  } else {
    u32 bits = element.bits;
    u64 mask = ones(bits), result = 0;
    for (u32 at = 0; at < 64; at += bits) {
      u64 value = Op::apply(element, element_at<Op::kSigned>(n, at, bits), element_at<Op::kSigned>(m, at, bits),
                            element_at<Op::kSigned>(d, at, bits));
      result |= (value & mask) << at;
    }
    return result;
  }
}

template <class Op, class Cpu>
MYR_FN Outcome vector_three(Cpu& cpu, const Operands& o) {
  Element element = element_of(arrangement_size(o));
  u32 halves = arrangement_halves(o);
  for (u32 half = 0; half < halves; half++) {
    u64 result = map_elements<Op>(element, cpu.v(o.rn, half), cpu.v(o.rm, half), cpu.v(o.rd, half));
    cpu.set_v(o.rd, half, result);
  }
  if (halves == 1) cpu.set_v(o.rd, 1, 0);
  return finish(cpu, element);
}

/// Op on each element of Vn with one element of Vm. offset: its index.
template <class Op, class Cpu>
MYR_FN Outcome vector_by_element(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o);
  Element element = element_of(size);
  u64 m = replicate_element(read_element(cpu, o.rm, (u32)o.offset, size), size);
  u32 halves = arrangement_halves(o);
  for (u32 half = 0; half < halves; half++) {
    cpu.set_v(o.rd, half, map_elements<Op>(element, cpu.v(o.rn, half), m, cpu.v(o.rd, half)));
  }
  if (halves == 1) cpu.set_v(o.rd, 1, 0);
  return finish(cpu, element);
}

/// Op on scalars of size `size`. m: the element of Vm, or an immediate.
template <class Op, class Cpu>
MYR_FN Outcome scalar_operation(Cpu& cpu, const Operands& o, u32 size, u64 m) {
  Element element = element_of(size);
  u32 bits = element.bits;
  u64 result = Op::apply(element, extend<Op::kSigned>(cpu.v(o.rn, 0), bits), extend<Op::kSigned>(m, bits),
                         extend<Op::kSigned>(cpu.v(o.rd, 0), bits));
  write_scalar(cpu, o.rd, result, size);
  return finish(cpu, element);
}
template <class Op, class Cpu>
MYR_FN Outcome scalar_three(Cpu& cpu, const Operands& o) {
  return scalar_operation<Op>(cpu, o, o.aux, cpu.v(o.rm, 0));
}
template <class Op, class Cpu>
MYR_FN Outcome scalar_by_element(Cpu& cpu, const Operands& o) {
  return scalar_operation<Op>(cpu, o, o.aux, read_element(cpu, o.rm, (u32)o.offset, o.aux));
}

enum class Bitwise : u8 { and_, bic, orr, orn, eor, bsl, bit, bif };

/// AND, BIC, ORR, ORN, EOR, BSL, BIT, BIF (register).
template <Bitwise kOp, class Cpu>
MYR_FN Outcome vector_bitwise(Cpu& cpu, const Operands& o) {
  u32 halves = arrangement_halves(o);
  for (u32 half = 0; half < halves; half++) {
    u64 n = cpu.v(o.rn, half), m = cpu.v(o.rm, half), d = cpu.v(o.rd, half), result = 0;
    switch (kOp) {
      case Bitwise::and_: result = n & m; break;
      case Bitwise::bic: result = n & ~m; break;
      case Bitwise::orr: result = n | m; break;
      case Bitwise::orn: result = n | ~m; break;
      case Bitwise::eor: result = n ^ m; break;
      case Bitwise::bsl: result = m ^ ((m ^ n) & d); break;
      case Bitwise::bit: result = d ^ ((d ^ n) & m); break;
      case Bitwise::bif: result = d ^ ((d ^ n) & ~m); break;
    }
    cpu.set_v(o.rd, half, result);
  }
  if (halves == 1) cpu.set_v(o.rd, 1, 0);
  return Outcome::next;
}

/// Adds the products of four bytes to each word of d.
template <bool kSigned>
MYR_FN u64 dot_product(u64 n, u64 m, u64 d) {
  u64 sums[2] = {d & 0xFFFFFFFFu, d >> 32};
  for (u32 at = 0; at < 64; at += 8) {
    sums[at >> 5] += element_at<kSigned>(n, at, 8) * element_at<kSigned>(m, at, 8);
  }
  return (sums[0] & 0xFFFFFFFFu) | sums[1] << 32;
}
/// SDOT, UDOT (vector).
template <bool kSigned, class Cpu>
MYR_FN Outcome vector_dot(Cpu& cpu, const Operands& o) {
  u32 halves = arrangement_halves(o);
  for (u32 half = 0; half < halves; half++) {
    cpu.set_v(o.rd, half, dot_product<kSigned>(cpu.v(o.rn, half), cpu.v(o.rm, half), cpu.v(o.rd, half)));
  }
  if (halves == 1) cpu.set_v(o.rd, 1, 0);
  return Outcome::next;
}
/// SDOT, UDOT by element. offset: the index of a group of four bytes.
template <bool kSigned, class Cpu>
MYR_FN Outcome vector_dot_by_element(Cpu& cpu, const Operands& o) {
  u64 m = replicate_element(read_element(cpu, o.rm, (u32)o.offset, 2), 2);
  u32 halves = arrangement_halves(o);
  for (u32 half = 0; half < halves; half++) {
    cpu.set_v(o.rd, half, dot_product<kSigned>(cpu.v(o.rn, half), m, cpu.v(o.rd, half)));
  }
  if (halves == 1) cpu.set_v(o.rd, 1, 0);
  return Outcome::next;
}

}  // namespace myriarm
