// SPDX-License-Identifier: Apache-2.0
// PMULL and PMULL2 of doublewords: products of two 64-bit polynomials over {0, 1}. Products of bytes are with the other
// widening multiplications, in core/simd/three_different.h.
#pragma once

#include "core/simd/vector.h"

namespace myriarm {

/// PMULL, PMULL2 of doublewords.
template <class Cpu>
MYR_FN Outcome polynomial_multiply_doubles(Cpu& cpu, const Operands& o) {
  u32 half = arrangement_q(o) ? 1 : 0;
  u64 n = cpu.v(o.rn, half), m = cpu.v(o.rm, half), low = 0, high = 0;
  for (u32 i = 0; i < 64; i++) {
    u64 mask = 0 - (m >> i & 1);
    low ^= n << i & mask;
    high ^= (n >> 1) >> (63 - i) & mask;
  }
  write_vector(cpu, o.rd, true, low, high);
  return Outcome::next;
}

}  // namespace myriarm
