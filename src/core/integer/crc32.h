// SPDX-License-Identifier: Apache-2.0
// CRC32 and CRC32C of 8, 16, 32 and 64 bits. Each step takes four bits: their remainder is the sum of the remainders of
// the single bits, which are constants, so that a step needs no table and no branch.
#pragma once

#include "core/cpu.h"

namespace myriarm {

/// The polynomials, bit-reversed: x^31 is bit 0.
constexpr u32 kCrc32 = 0xEDB88320;   // 0x04C11DB7
constexpr u32 kCrc32C = 0x82F63B78;  // 0x1EDC6F41

/// The constant that `count` shifts add to a remainder of whose lowest `count` bits only bit 0 is set.
constexpr u32 crc_of_bit(u32 polynomial, int count) {
  u32 value = 1;
  for (int i = 0; i < count; i++) value = value >> 1 ^ ((value & 1) ? polynomial : 0);
  return value;
}

/// Continues a remainder with kBits of data, the lowest bit first.
template <u32 kPolynomial, int kBits>
MYR_FN u32 crc_update(u32 remainder, u32 data) {
  constexpr u32 kBit0 = crc_of_bit(kPolynomial, 4), kBit1 = crc_of_bit(kPolynomial, 3);
  constexpr u32 kBit2 = crc_of_bit(kPolynomial, 2), kBit3 = crc_of_bit(kPolynomial, 1);
  u32 value = remainder ^ data;
  for (int i = 0; i < kBits; i += 4) {
    u32 sum = (kBit0 & (0 - (value & 1))) ^ (kBit1 & (0 - (value >> 1 & 1)));
    sum ^= (kBit2 & (0 - (value >> 2 & 1))) ^ (kBit3 & (0 - (value >> 3 & 1)));
    value = value >> 4 ^ sum;
  }
  return value;
}

/// CRC32B, CRC32H, CRC32W, CRC32X and their CRC32C variants.
template <u32 kPolynomial, int kBits, class Cpu>
MYR_FN Outcome crc32(Cpu& cpu, const Operands& o) {
  constexpr int kFirst = kBits == 64 ? 32 : kBits;
  u64 data = cpu.r(o.rm);
  u32 first = kFirst == 32 ? (u32)data : (u32)data & ((1u << (kFirst & 31)) - 1);
  u32 remainder = crc_update<kPolynomial, kFirst>((u32)cpu.r(o.rn), first);
  if (kBits == 64) remainder = crc_update<kPolynomial, 32>(remainder, (u32)(data >> 32));
  cpu.set_r(o.rd, remainder);
  return Outcome::next;
}

}  // namespace myriarm
