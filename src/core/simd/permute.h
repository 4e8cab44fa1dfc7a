// SPDX-License-Identifier: Apache-2.0
// Permutations: ZIP, UZP, TRN, EXT, TBL and TBX. No arithmetic on elements.
#pragma once

#include "core/simd/halves.h"

namespace myriarm {

// Each operation returns the 64-bit halves of the result; kPart chooses between ZIP1 (0) and ZIP2 (1), and so on. n and
// m are the halves of the sources. A 64-bit result depends only on the lower halves and has no high half.
struct VectorHalves {
  u64 low, high;
  MYR_FN u64 half(u32 which) const { return which ? high : low; }
};

struct Zip {
  MYR_FN static VectorHalves run(u32 size, bool full, u32 part, VectorHalves n, VectorHalves m) {
    u64 a = full ? n.half(part) : n.low >> (32 * part), b = full ? m.half(part) : m.low >> (32 * part);
    u32 bits = element_bits(size);
    Element wide = element_of(size + 1);
    return {widen_elements<false>(wide, a) | widen_elements<false>(wide, b) << bits,
            widen_elements<false>(wide, a >> 32) | widen_elements<false>(wide, b >> 32) << bits};
  }
};
struct Unzip {
  MYR_FN static VectorHalves run(u32 size, bool full, u32 part, VectorHalves n, VectorHalves m) {
    u32 shift = part ? element_bits(size) : 0;
    u64 n_low = even_elements(n.low >> shift, size), n_high = even_elements(n.high >> shift, size);
    u64 m_low = even_elements(m.low >> shift, size), m_high = even_elements(m.high >> shift, size);
    return {n_low | (full ? n_high : m_low) << 32, m_low | m_high << 32};
  }
};
struct Transpose {
  MYR_FN static VectorHalves run(u32 size, bool, u32 part, VectorHalves n, VectorHalves m) {
    return {interleave(size, part, n.low, m.low), interleave(size, part, n.high, m.high)};
  }
  MYR_FN static u64 interleave(u32 size, u32 part, u64 n, u64 m) {
    u32 bits = element_bits(size);
    u64 even = size == 0 ? 0x00FF00FF00FF00FFu : size == 1 ? 0x0000FFFF0000FFFFu : 0x00000000FFFFFFFFu;
    return part ? (n >> bits & even) | (m & ~even) : (n & even) | (m & even) << bits;
  }
};

/// ZIP1, ZIP2, UZP1, UZP2, TRN1, TRN2.
template <class Operation, u32 kPart, class Cpu>
MYR_FN Outcome permute(Cpu& cpu, const Operands& o) {
  VectorHalves n = {cpu.v(o.rn, 0), cpu.v(o.rn, 1)}, m = {cpu.v(o.rm, 0), cpu.v(o.rm, 1)};
  u32 size = arrangement_size(o);
  bool full = arrangement_q(o);
  // With two elements to a register all six are the same: both first elements, or both second elements.
  VectorHalves result = {n.half(kPart), m.half(kPart)};
  if (size != 3) result = Operation::run(size, full, kPart, n, m);
  write_vector(cpu, o.rd, full, result.low, result.high);
  return Outcome::next;
}

/// The 64 bits of high:low from bit `shift` on; shift is below 64.
MYR_FN u64 extract_bits(u64 low, u64 high, u32 shift) { return shift ? low >> shift | high << (64 - shift) : low; }

/// EXT. offset: the first byte.
template <class Cpu>
MYR_FN Outcome extract_vector(Cpu& cpu, const Operands& o) {
  u32 shift = ((u32)o.offset & 7) * 8;
  if (arrangement_q(o)) {
    u64 n = cpu.v(o.rn, 0), n_high = cpu.v(o.rn, 1), m = cpu.v(o.rm, 0), m_high = cpu.v(o.rm, 1);
    bool upper = o.offset >= 8;
    u64 a = upper ? n_high : n, b = upper ? m : n_high, c = upper ? m_high : m;
    write_vector(cpu, o.rd, true, extract_bits(a, b, shift), extract_bits(b, c, shift));
  } else {
    write_vector(cpu, o.rd, false, extract_bits(cpu.v(o.rn, 0), cpu.v(o.rm, 0), shift), 0);
  }
  return Outcome::next;
}

/// Eight bytes of a result of TBL or TBX. `old`: the bytes for indices that are too large.
template <u32 kRegisters, class Cpu>
MYR_FN u64 look_up(Cpu& cpu, u32 first, u64 indices, u64 old) {
  u64 result = 0;
  for (u32 i = 0; i < 64; i += 8) {
    u32 index = (u32)(indices >> i) & 0xFF;
    u64 byte = old >> i;
    if (index < kRegisters * 16) byte = cpu.v((first + (index >> 4)) & 31, index >> 3 & 1) >> ((index & 7) * 8);
    result |= (byte & 0xFF) << i;
  }
  return result;
}

/// TBL and, with kExtend, TBX. rn: the first register of the table.
template <u32 kRegisters, bool kExtend, class Cpu>
MYR_FN Outcome table_lookup(Cpu& cpu, const Operands& o) {
  bool full = arrangement_q(o);
  u64 low = look_up<kRegisters>(cpu, o.rn, cpu.v(o.rm, 0), kExtend ? cpu.v(o.rd, 0) : 0);
  u64 high = full ? look_up<kRegisters>(cpu, o.rn, cpu.v(o.rm, 1), kExtend ? cpu.v(o.rd, 1) : 0) : 0;
  write_vector(cpu, o.rd, full, low, high);
  return Outcome::next;
}

}  // namespace myriarm
