// SPDX-License-Identifier: Apache-2.0
// Data processing: bitfield moves and extraction from a pair of registers. SBFM and UBFM are a left shift that drops
// the bits above the field, then a right shift that moves the field to its place; the decoder has computed both
// amounts.
#pragma once

#include "core/cpu.h"

namespace myriarm {

enum class Bitfield : u8 { signed_, unsigned_, insert };

/// SBFM, UBFM, BFM. offset: the left shift, aux: the right shift, both below kWidth; ra (BFM): Rd as a source.
template <int kWidth, Bitfield kOp, class Cpu>
MYR_FN Outcome bitfield(Cpu& cpu, const Operands& o) {
  // A 32-bit field is computed in the upper half, so that the same two shifts serve both widths.
  constexpr u32 kUnused = 64 - kWidth;
  u64 top = (cpu.r(o.rn) << kUnused) << o.offset;
  u64 result;
  if (kOp == Bitfield::signed_) {
    result = (u64)((i64)top >> o.aux) >> kUnused;
  } else {
    result = (top >> o.aux) >> kUnused;
  }
  if (kOp == Bitfield::insert) {
    u64 mask = ((~(u64)0 << kUnused << o.offset) >> o.aux) >> kUnused;
    result |= cpu.r(o.ra) & ~mask;
  }
  write<kWidth>(cpu, o.rd, result);
  return Outcome::next;
}

/// EXTR. imm: the lowest bit of Rn:Rm that is extracted.
template <int kWidth, class Cpu>
MYR_FN Outcome extract(Cpu& cpu, const Operands& o) {
  u32 lsb = (u32)o.imm;
  u64 high = read<kWidth>(cpu, o.rn), low = read<kWidth>(cpu, o.rm);
  // Two left shifts, because a single shift by kWidth is undefined in C++.
  u64 result = kWidth == 64 ? low >> lsb | (high << 1) << (63 - lsb) : (high << 32 | low) >> lsb;
  write<kWidth>(cpu, o.rd, result);
  return Outcome::next;
}

}  // namespace myriarm
