// SPDX-License-Identifier: Apache-2.0
// SM3: instructions for the rounds and the message expansion.
#pragma once

#include "core/crypto/words.h"

namespace myriarm {

/// The permutation P1 of the standard.
MYR_FN u32 sm3_p1(u32 x) { return x ^ rotate_left32(x, 15) ^ rotate_left32(x, 23); }

/// SM3PARTW1.
template <class Cpu>
MYR_FN Outcome sm3_part1(Cpu& cpu, const Operands& o) {
  Words d = read_words(cpu, o.rd), n = read_words(cpu, o.rn), m = read_words(cpu, o.rm);
  for (u32 e = 0; e < 4; e++) d.w[e] = sm3_p1(d.w[e] ^ n.w[e] ^ rotate_left32(e < 3 ? m.w[(e + 1) & 3] : d.w[0], 15));
  write_words(cpu, o.rd, d);
  return Outcome::next;
}

/// SM3PARTW2.
template <class Cpu>
MYR_FN Outcome sm3_part2(Cpu& cpu, const Operands& o) {
  Words d = read_words(cpu, o.rd), n = read_words(cpu, o.rn), m = read_words(cpu, o.rm);
  for (u32 e = 0; e < 4; e++) n.w[e] ^= rotate_left32(m.w[e], 7);
  for (u32 e = 0; e < 4; e++) d.w[e] ^= n.w[e];
  d.w[3] ^= sm3_p1(rotate_left32(n.w[0], 15));
  write_words(cpu, o.rd, d);
  return Outcome::next;
}

/// SM3SS1.
template <class Cpu>
MYR_FN Outcome sm3_ss1(Cpu& cpu, const Operands& o) {
  u32 sum = rotate_left32((u32)(cpu.v(o.rn, 1) >> 32), 12) + (u32)(cpu.v(o.rm, 1) >> 32) + (u32)(cpu.v(o.ra, 1) >> 32);
  cpu.set_v(o.rd, 0, 0);
  cpu.set_v(o.rd, 1, (u64)rotate_left32(sum, 7) << 32);
  return Outcome::next;
}

/// SM3TT1A, and SM3TT1B with kMajority. imm: the lane of Vm.
template <bool kMajority, class Cpu>
MYR_FN Outcome sm3_tt1(Cpu& cpu, const Operands& o) {
  Words d = read_words(cpu, o.rd), m = read_words(cpu, o.rm);
  u32 ss2 = (u32)(cpu.v(o.rn, 1) >> 32) ^ rotate_left32(d.w[3], 12);
  u32 mixed = kMajority ? sha_majority(d.w[3], d.w[2], d.w[1]) : sha_parity(d.w[3], d.w[2], d.w[1]);
  write_words(cpu, o.rd, {{d.w[1], rotate_left32(d.w[2], 9), d.w[3], mixed + d.w[0] + ss2 + m.w[o.imm & 3]}});
  return Outcome::next;
}

/// SM3TT2A, and SM3TT2B with kChoose. imm: the lane of Vm.
template <bool kChoose, class Cpu>
MYR_FN Outcome sm3_tt2(Cpu& cpu, const Operands& o) {
  Words d = read_words(cpu, o.rd), m = read_words(cpu, o.rm);
  u32 mixed = kChoose ? sha_choose(d.w[3], d.w[2], d.w[1]) : sha_parity(d.w[3], d.w[2], d.w[1]);
  u32 tt2 = mixed + d.w[0] + (u32)(cpu.v(o.rn, 1) >> 32) + m.w[o.imm & 3];
  tt2 ^= rotate_left32(tt2, 9) ^ rotate_left32(tt2, 17);
  write_words(cpu, o.rd, {{d.w[1], rotate_left32(d.w[2], 19), d.w[3], tt2}});
  return Outcome::next;
}

}  // namespace myriarm
