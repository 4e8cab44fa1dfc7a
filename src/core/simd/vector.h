// SPDX-License-Identifier: Apache-2.0
// AdvSIMD: the parts that all families share: elements of the vector registers, arrangements, and the QC flag. A
// register is two 64-bit halves, and no element crosses them. So families process one half at a time and extract
// elements by shifts, and one function serves all element sizes. A size is log2 of the bytes, as in the size field of
// encodings.
#pragma once

#include "core/cpu.h"

namespace myriarm {

/// FPSR.QC: an instruction has saturated.
constexpr u32 kFpsrQC = 1u << 27;

/// Operands::aux of vector instructions has log2 of the element size in bytes, plus 4 for 128 bits (or, if elements
/// change their size, for a mnemonic with "2"). This is the size.
MYR_FN u32 arrangement_size(const Operands& o) { return o.aux & 3; }
MYR_FN bool arrangement_q(const Operands& o) { return (o.aux & 4) != 0; }
/// The number of 64-bit halves of a vector.
MYR_FN u32 arrangement_halves(const Operands& o) { return arrangement_q(o) ? 2 : 1; }

/// The bits of an element.
MYR_FN u32 element_bits(u32 size) { return 8u << size; }
/// A mask of the lowest `bits`, 1 to 64.
MYR_FN u64 ones(u32 bits) { return ~(u64)0 >> (64 - bits); }
/// The lowest `bits`, 1 to 64, extended to 64.
MYR_FN u64 zero_extend(u64 value, u32 bits) { return value << (64 - bits) >> (64 - bits); }
MYR_FN u64 sign_extend(u64 value, u32 bits) { return (u64)((i64)(value << (64 - bits)) >> (64 - bits)); }
template <bool kSigned>
MYR_FN u64 extend(u64 value, u32 bits) {
  return kSigned ? sign_extend(value, bits) : zero_extend(value, bits);
}
/// The element at bit `shift` of a half, extended to 64 bits.
template <bool kSigned>
MYR_FN u64 element_at(u64 half, u32 shift, u32 bits) {
  u64 top = half << (64 - bits - shift);
  return kSigned ? (u64)((i64)top >> (64 - bits)) : top >> (64 - bits);
}
/// A half with the lowest element of `value` in all elements.
MYR_FN u64 replicate_element(u64 value, u32 size) {
  u64 half = zero_extend(value, element_bits(size));
  if (size == 0) half |= half << 8;
  if (size <= 1) half |= half << 16;
  if (size <= 2) half |= half << 32;
  return half;
}

/// Elem[V[n], index, 8 << size] of the manual, zero-extended.
template <class Cpu>
MYR_FN u64 read_element(Cpu& cpu, u32 n, u32 index, u32 size) {
  u32 bit = index << (size + 3);
  return element_at<false>(cpu.v(n, bit >> 6), bit & 63, element_bits(size));
}
/// Writes one element and keeps the others.
template <class Cpu>
MYR_FN void write_element(Cpu& cpu, u32 n, u32 index, u32 size, u64 value) {
  u32 bit = index << (size + 3);
  u64 mask = ones(element_bits(size)) << (bit & 63);
  u64 old = cpu.v(n, bit >> 6);
  cpu.set_v(n, bit >> 6, (old & ~mask) | (value << (bit & 63) & mask));
}
/// Writes a scalar result of 8 << size bits: all bits above it are zero.
template <class Cpu>
MYR_FN void write_scalar(Cpu& cpu, u32 n, u64 value, u32 size) {
  cpu.set_v(n, 0, zero_extend(value, element_bits(size)));
  cpu.set_v(n, 1, 0);
}
/// Vpart[n, part] of the manual, for results of 64 bits: part 0 zeroes the upper half, part 1 keeps the lower one.
template <class Cpu>
MYR_FN void write_part(Cpu& cpu, u32 n, u32 part, u64 value) {
  cpu.set_v(n, part, value);
  if (part == 0) cpu.set_v(n, 1, 0);
}
/// Writes a result of 64 bits, or of 128 if `q`.
template <class Cpu>
MYR_FN void write_vector(Cpu& cpu, u32 n, bool q, u64 low, u64 high) {
  cpu.set_v(n, 0, low);
  cpu.set_v(n, 1, q ? high : 0);
}

/// What an operation on elements gets besides their values. Values are extended to 64 bits; only the lowest `bits` of a
/// result are used.
struct Element {
  u32 bits;
  bool saturated;  // set by operations that saturate; becomes FPSR.QC
  u64 tops;        // the highest bit of each element of a half
};
MYR_FN Element element_of(u32 size) {
  u32 bits = element_bits(size);
  return {bits, false, replicate_element((u64)1 << (bits - 1), size)};
}

/// Sets FPSR.QC if an element has saturated.
template <class Cpu>
MYR_FN Outcome finish(Cpu& cpu, const Element& element) {
  if (MYR_UNLIKELY(element.saturated)) {
    cpu.set_system(SystemField::fpsr, cpu.system(SystemField::fpsr) | kFpsrQC);
  }
  return Outcome::next;
}

}  // namespace myriarm
