// SPDX-License-Identifier: Apache-2.0
// Loads and stores of general registers, except exclusives and atomics.
#pragma once

#include "core/cpu.h"

namespace myriarm {

enum class Indexing : u8 { offset, pre, post };

/// The unsigned integer type of a width in bits.
template <int kBits> struct UnsignedOf;
template <> struct UnsignedOf<8> { using type = u8; };
template <> struct UnsignedOf<16> { using type = u16; };
template <> struct UnsignedOf<32> { using type = u32; };
template <> struct UnsignedOf<64> { using type = u64; };

/// STR, STRB, STRH with an immediate: unsigned offset, unscaled, pre- and post-indexed. imm: bytes.
/// The base is written back only once the store is known to have happened.
template <int kBits, Indexing kIndexing, class Cpu>
MYR_FN Outcome store_imm(Cpu& cpu, const Operands& o) {
  u64 base = cpu.r(o.rn);
  u64 address = kIndexing == Indexing::post ? base : base + o.imm;
  if (!store(cpu, address, (typename UnsignedOf<kBits>::type)cpu.r(o.rd))) return Outcome::stop;
  if (kIndexing != Indexing::offset) cpu.set_r(o.rn, base + o.imm);
  return Outcome::next;
}

}  // namespace myriarm
