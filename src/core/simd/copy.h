// SPDX-License-Identifier: Apache-2.0
// Copies of elements between registers: DUP, INS, SMOV, UMOV. aux: the size or arrangement, offset: the index.
#pragma once

#include "core/simd/number.h"
#include "core/simd/vector.h"

namespace myriarm {

/// DUP (element), vector.
template <class Cpu>
MYR_FN Outcome duplicate_element(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o);
  u64 each = replicate_element(read_element(cpu, o.rn, (u32)o.offset, size), size);
  write_vector(cpu, o.rd, arrangement_q(o), each, each);
  return Outcome::next;
}

/// DUP (element), scalar.
template <class Cpu>
MYR_FN Outcome move_element(Cpu& cpu, const Operands& o) {
  write_scalar(cpu, o.rd, read_element(cpu, o.rn, (u32)o.offset, o.aux), o.aux);
  return Outcome::next;
}

/// DUP (general).
template <class Cpu>
MYR_FN Outcome duplicate_general(Cpu& cpu, const Operands& o) {
  u64 each = replicate_element(cpu.r(o.rn), arrangement_size(o));
  write_vector(cpu, o.rd, arrangement_q(o), each, each);
  return Outcome::next;
}

/// UMOV.
template <class Cpu>
MYR_FN Outcome element_to_general(Cpu& cpu, const Operands& o) {
  cpu.set_r(o.rd, read_element(cpu, o.rn, (u32)o.offset, o.aux));
  return Outcome::next;
}

/// SMOV, sign-extended to kWidth.
template <int kWidth, class Cpu>
MYR_FN Outcome element_to_general_signed(Cpu& cpu, const Operands& o) {
  write<kWidth>(cpu, o.rd, sign_extend(read_element(cpu, o.rn, (u32)o.offset, o.aux), element_bits(o.aux)));
  return Outcome::next;
}

/// INS (general).
template <class Cpu>
MYR_FN Outcome insert_general(Cpu& cpu, const Operands& o) {
  write_element(cpu, o.rd, (u32)o.offset, o.aux, cpu.r(o.rn));
  return Outcome::next;
}

/// INS (element). ra: the index in Vn.
template <class Cpu>
MYR_FN Outcome insert_element(Cpu& cpu, const Operands& o) {
  write_element(cpu, o.rd, (u32)o.offset, o.aux, read_element(cpu, o.rn, number_in(cpu, o.ra), o.aux));
  return Outcome::next;
}

}  // namespace myriarm
