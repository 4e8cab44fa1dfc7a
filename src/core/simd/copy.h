// SPDX-License-Identifier: Apache-2.0
// Elements copied between registers: DUP, INS, SMOV, UMOV. aux: the size or arrangement, offset: the index.
#pragma once

#include "core/simd/lanes.h"

namespace myriarm {

/// DUP (element), vector.
template <class Cpu>
MYR_FN Outcome duplicate_element(Cpu& cpu, const Operands& o) {
  u32 size = arranged_size(o.aux);
  u64 each = replicate_element(vector_element(cpu, o.rn, (u32)o.offset, size), size);
  set_vector(cpu, o.rd, arranged_full(o.aux), each, each);
  return Outcome::next;
}

/// DUP (element), scalar.
template <class Cpu>
MYR_FN Outcome move_element(Cpu& cpu, const Operands& o) {
  set_vector(cpu, o.rd, false, vector_element(cpu, o.rn, (u32)o.offset, o.aux), 0);
  return Outcome::next;
}

/// DUP (general).
template <class Cpu>
MYR_FN Outcome duplicate_general(Cpu& cpu, const Operands& o) {
  u64 each = replicate_element(cpu.r(o.rn), arranged_size(o.aux));
  set_vector(cpu, o.rd, arranged_full(o.aux), each, each);
  return Outcome::next;
}

/// UMOV.
template <class Cpu>
MYR_FN Outcome element_to_general(Cpu& cpu, const Operands& o) {
  cpu.set_r(o.rd, vector_element(cpu, o.rn, (u32)o.offset, o.aux));
  return Outcome::next;
}

/// SMOV, sign-extended to kWidth.
template <int kWidth, class Cpu>
MYR_FN Outcome element_to_general_signed(Cpu& cpu, const Operands& o) {
  u32 above = 64 - (8u << o.aux);
  u64 element = vector_element(cpu, o.rn, (u32)o.offset, o.aux);
  write<kWidth>(cpu, o.rd, (u64)((i64)(element << above) >> above));
  return Outcome::next;
}

/// INS (general).
template <class Cpu>
MYR_FN Outcome insert_general(Cpu& cpu, const Operands& o) {
  set_vector_element(cpu, o.rd, (u32)o.offset, o.aux, cpu.r(o.rn));
  return Outcome::next;
}

/// INS (element). ra: the index in Vn.
template <class Cpu>
MYR_FN Outcome insert_element(Cpu& cpu, const Operands& o) {
  set_vector_element(cpu, o.rd, (u32)o.offset, o.aux, vector_element(cpu, o.rn, o.ra, o.aux));
  return Outcome::next;
}

}  // namespace myriarm
