// SPDX-License-Identifier: Apache-2.0
// Elements of SIMD&FP registers whose size is known as an instruction runs, for copies, permutes and structures.
// size: log2 of the element size in bytes. Arithmetic on whole registers is not here.
#pragma once

#include "core/cpu.h"

namespace myriarm {

/// What aux of an arrangement says.
MYR_FN u32 arranged_size(u32 aux) { return aux & 3; }
MYR_FN bool arranged_full(u32 aux) { return (aux & 4) != 0; }

/// An element of 1 << size bytes with all bits set, at the low end.
MYR_FN u64 element_mask(u32 size) { return ~(u64)0 >> (64 - (8u << size)); }

/// Elem[Vn, index, 8 << size] of the manual, zero-extended.
template <class Cpu>
MYR_FN u64 vector_element(Cpu& cpu, u32 n, u32 index, u32 size) {
  u32 bit = index << (size + 3);
  return (cpu.v(n, bit >> 6) >> (bit & 63)) & element_mask(size);
}
/// Replaces one element; the others keep their values. What is above the element in `value` is ignored.
template <class Cpu>
MYR_FN void set_vector_element(Cpu& cpu, u32 n, u32 index, u32 size, u64 value) {
  u32 bit = index << (size + 3);
  u64 mask = element_mask(size) << (bit & 63);
  cpu.set_v(n, bit >> 6, (cpu.v(n, bit >> 6) & ~mask) | (value << (bit & 63) & mask));
}
/// 64 bits full of one element. What is above it in `value` is ignored.
MYR_FN u64 replicate_element(u64 value, u32 size) {
  value &= element_mask(size);
  for (u32 s = size; s < 3; s++) value |= value << (8u << s);
  return value;
}
/// A result of 64 bits, or of 128 if `full`.
template <class Cpu>
MYR_FN void set_vector(Cpu& cpu, u32 n, bool full, u64 low, u64 high) {
  cpu.set_v(n, 0, low);
  cpu.set_v(n, 1, full ? high : 0);
}

}  // namespace myriarm
