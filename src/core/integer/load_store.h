// SPDX-License-Identifier: Apache-2.0
// Loads and stores: a function for each addressing mode, with a type that says what is moved between registers and
// memory. The types for general registers are here, those for SIMD&FP registers in core/fp and core/simd.
// Exclusives are in exclusive.h, read-modify-write in atomic.h.
//
// A transfer is a type with
//   static constexpr u32 bytes                                   the size of the whole access
//   template <class Cpu> static bool run(Cpu&, const Operands&, u64 address)
// run returns false if an access was refused; then it has changed no register.
#pragma once

#include "core/cpu.h"

namespace myriarm {

enum class Indexing : u8 { offset, pre, post };

/// The integer types of a width in bits.
// clang-format off
template <int kBits> struct IntegerOf;
template <> struct IntegerOf<8> { using unsigned_type = u8; using signed_type = i8; };
template <> struct IntegerOf<16> { using unsigned_type = u16; using signed_type = i16; };
template <> struct IntegerOf<32> { using unsigned_type = u32; using signed_type = i32; };
template <> struct IntegerOf<64> { using unsigned_type = u64; using signed_type = i64; };
template <int kBits> using Unsigned = typename IntegerOf<kBits>::unsigned_type;
template <int kBits> using Signed = typename IntegerOf<kBits>::signed_type;
// clang-format on

/// Stores the low kBits of rd.
template <int kBits>
struct Store {
  static constexpr u32 bytes = kBits / 8;
  template <class Cpu>
  MYR_FN static bool run(Cpu& cpu, const Operands& o, u64 address) {
    return store(cpu, address, (Unsigned<kBits>)cpu.r(o.rd));
  }
};

/// Loads kBits into rd, zero-extended.
template <int kBits>
struct Load {
  static constexpr u32 bytes = kBits / 8;
  template <class Cpu>
  MYR_FN static bool run(Cpu& cpu, const Operands& o, u64 address) {
    Unsigned<kBits> value;
    if (!load(cpu, address, value)) return false;
    cpu.set_r(o.rd, value);
    return true;
  }
};

/// Loads kBits into rd, sign-extended to kWidth.
template <int kBits, int kWidth>
struct LoadSigned {
  static constexpr u32 bytes = kBits / 8;
  template <class Cpu>
  MYR_FN static bool run(Cpu& cpu, const Operands& o, u64 address) {
    Unsigned<kBits> value;
    if (!load(cpu, address, value)) return false;
    write<kWidth>(cpu, o.rd, (u64)(i64)(Signed<kBits>)value);
    return true;
  }
};

/// Stores the low kBits of rd and of ra next to each other.
template <int kBits>
struct StorePair {
  static constexpr u32 bytes = kBits / 4;
  template <class Cpu>
  MYR_FN static bool run(Cpu& cpu, const Operands& o, u64 address) {
    return store_pair(cpu, address, (Unsigned<kBits>)cpu.r(o.rd), (Unsigned<kBits>)cpu.r(o.ra));
  }
};

/// Loads two adjacent values into rd and ra. If both are the same register, it gets rd's value
/// (docs/design/unpredictable.md).
template <int kBits>
struct LoadPair {
  static constexpr u32 bytes = kBits / 4;
  template <class Cpu>
  MYR_FN static bool run(Cpu& cpu, const Operands& o, u64 address) {
    Unsigned<kBits> first, second;
    if (!load_pair(cpu, address, first, second)) return false;
    cpu.set_r(o.ra, second);
    cpu.set_r(o.rd, first);
    return true;
  }
};

/// LDPSW: loads two adjacent words into rd and ra, sign-extended to 64 bits.
struct LoadPairSigned {
  static constexpr u32 bytes = 8;
  template <class Cpu>
  MYR_FN static bool run(Cpu& cpu, const Operands& o, u64 address) {
    u32 first, second;
    if (!load_pair(cpu, address, first, second)) return false;
    cpu.set_r(o.ra, (u64)(i64)(i32)second);
    cpu.set_r(o.rd, (u64)(i64)(i32)first);
    return true;
  }
};

/// Base and immediate: unsigned offset, unscaled, unprivileged, pairs; pre- and post-indexed. imm: bytes.
/// The base is written back after the access has succeeded and after the loaded register, so that the base wins if both
/// are the same register (docs/design/unpredictable.md).
template <class Transfer, Indexing kIndexing, class Cpu>
MYR_FN Outcome access_imm(Cpu& cpu, const Operands& o) {
  u64 base = cpu.r(o.rn);
  if (!Transfer::run(cpu, o, kIndexing == Indexing::post ? base : base + o.imm)) return Outcome::stop;
  if (kIndexing != Indexing::offset) cpu.set_r(o.rn, base + o.imm);
  return Outcome::next;
}

// aux of an access with a register offset: the shift amount and these flags.
constexpr u32 kIndexWord = 0x100;    // the index is the low word of its register, zero-extended,
constexpr u32 kIndexSigned = 0x200;  // or, with this flag too, sign-extended

/// Base and index register, extended and shifted. aux: as above.
template <class Transfer, class Cpu>
MYR_FN Outcome access_register(Cpu& cpu, const Operands& o) {
  u64 index = cpu.r(o.rm);
  if (o.aux & kIndexWord) index = (o.aux & kIndexSigned) ? (u64)(i64)(i32)index : (u64)(u32)index;
  return Transfer::run(cpu, o, cpu.r(o.rn) + (index << (o.aux & 7))) ? Outcome::next : Outcome::stop;
}

/// Literal. imm: bytes from this instruction.
template <class Transfer, class Cpu>
MYR_FN Outcome access_literal(Cpu& cpu, const Operands& o) {
  return Transfer::run(cpu, o, cpu.pc() + o.imm) ? Outcome::next : Outcome::stop;
}

/// Whether the address of an access that must be aligned is aligned.
template <u32 kBytes>
MYR_FN bool is_aligned(u64 address) {
  return (address & (kBytes - 1)) == 0;
}

/// LDAR, LDLAR, LDAPR, STLR, STLLR: a base register without offset, aligned because there is no FEAT_LSE2. A lane sees
/// its own accesses in program order, and nothing else writes its memory while it runs, so the ordering needs no code.
template <class Transfer, class Cpu>
MYR_FN Outcome access_ordered(Cpu& cpu, const Operands& o) {
  u64 address = cpu.r(o.rn);
  if (MYR_UNLIKELY(!is_aligned<Transfer::bytes>(address))) return cpu.fault(FaultCode::alignment, address);
  return Transfer::run(cpu, o, address) ? Outcome::next : Outcome::stop;
}

/// PRFM in all its forms: a hint that is ignored and never faults.
template <class Cpu>
MYR_FN Outcome prefetch(Cpu&, const Operands&) {
  return Outcome::next;
}

}  // namespace myriarm
