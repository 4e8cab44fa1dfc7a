// SPDX-License-Identifier: Apache-2.0
// PMULL and PMULL2: products of polynomials over {0, 1}, of bytes and of doublewords.
#pragma once

#include "core/simd/permute.h"

namespace myriarm {

/// Four bytes, in the low 32 bits, times four: four halfwords.
MYR_FN u64 polynomial_bytes(u64 n, u64 m) {
  n = spread_elements(n, 0);
  m = spread_elements(m, 0);
  u64 result = 0;
  for (u32 i = 0; i < 8; i++) result ^= (m >> i & 0x0001000100010001u) * 0xFFFF & n << i;
  return result;
}

/// PMULL, PMULL2 of bytes.
template <class Cpu>
MYR_FN Outcome polynomial_multiply_bytes(Cpu& cpu, const Operands& o) {
  u32 half = arranged_full(o.aux) ? 1 : 0;
  u64 n = cpu.v(o.rn, half), m = cpu.v(o.rm, half);
  set_vector(cpu, o.rd, true, polynomial_bytes(n, m), polynomial_bytes(n >> 32, m >> 32));
  return Outcome::next;
}

/// PMULL, PMULL2 of doublewords.
template <class Cpu>
MYR_FN Outcome polynomial_multiply_doubles(Cpu& cpu, const Operands& o) {
  u32 half = arranged_full(o.aux) ? 1 : 0;
  u64 n = cpu.v(o.rn, half), m = cpu.v(o.rm, half), low = 0, high = 0;
  for (u32 i = 0; i < 64; i++) {
    u64 mask = 0 - (m >> i & 1);
    low ^= n << i & mask;
    high ^= (n >> 1) >> (63 - i) & mask;
  }
  set_vector(cpu, o.rd, true, low, high);
  return Outcome::next;
}

}  // namespace myriarm
