// SPDX-License-Identifier: Apache-2.0
// Data processing with one source: reversal of bits and bytes, and counts of leading bits.
#pragma once

#include "core/cpu.h"

namespace myriarm {

/// RBIT.
template <int kWidth, class Cpu>
MYR_FN Outcome reverse_bits(Cpu& cpu, const Operands& o) {
  cpu.set_r(o.rd, reverse_bits64(cpu.r(o.rn)) >> (64 - kWidth));
  return Outcome::next;
}

/// REV16, REV32, REV: the bytes of each kContainer bits in reverse order.
template <int kWidth, int kContainer, class Cpu>
MYR_FN Outcome reverse_bytes(Cpu& cpu, const Operands& o) {
  u64 value = cpu.r(o.rn);
  value = ((value >> 8) & 0x00FF00FF00FF00FFu) | ((value & 0x00FF00FF00FF00FFu) << 8);
  if (kContainer >= 32) value = ((value >> 16) & 0x0000FFFF0000FFFFu) | ((value & 0x0000FFFF0000FFFFu) << 16);
  if (kContainer == 64) value = value >> 32 | value << 32;
  write<kWidth>(cpu, o.rd, value);
  return Outcome::next;
}

/// CLZ.
template <int kWidth, class Cpu>
MYR_FN Outcome count_leading_zeros(Cpu& cpu, const Operands& o) {
  u64 value = cpu.r(o.rn);
  cpu.set_r(o.rd, kWidth == 64 ? count_leading_zeros64(value) : count_leading_zeros32((u32)value));
  return Outcome::next;
}

/// CLS: the number of bits directly below the top bit that are equal to it.
template <int kWidth, class Cpu>
MYR_FN Outcome count_leading_sign_bits(Cpu& cpu, const Operands& o) {
  u64 value = cpu.r(o.rn);
  u32 count = kWidth == 64 ? count_leading_zeros64(value ^ (u64)((i64)value >> 1))
                           : count_leading_zeros32((u32)value ^ (u32)((i32)(u32)value >> 1));
  cpu.set_r(o.rd, count - 1);
  return Outcome::next;
}

}  // namespace myriarm
