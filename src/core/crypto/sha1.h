// SPDX-License-Identifier: Apache-2.0
// SHA-1: instructions for four rounds, and for the message schedule.
#pragma once

#include "core/crypto/words.h"

namespace myriarm {

// clang-format off
struct Sha1Choose { MYR_FN static u32 run(u32 x, u32 y, u32 z) { return sha_choose(x, y, z); } };
struct Sha1Majority { MYR_FN static u32 run(u32 x, u32 y, u32 z) { return sha_majority(x, y, z); } };
struct Sha1Parity { MYR_FN static u32 run(u32 x, u32 y, u32 z) { return sha_parity(x, y, z); } };
// clang-format on

/// SHA1C, SHA1M, SHA1P.
template <class Function, class Cpu>
MYR_FN Outcome sha1_rounds(Cpu& cpu, const Operands& o) {
  Words x = read_words(cpu, o.rd), schedule = read_words(cpu, o.rm);
  u32 y = (u32)cpu.v(o.rn, 0);
  for (u32 e = 0; e < 4; e++) {
    y += rotate_left32(x.w[0], 5) + Function::run(x.w[1], x.w[2], x.w[3]) + schedule.w[e];
    u32 last = x.w[3];
    x = {{y, x.w[0], rotate_left32(x.w[1], 30), x.w[2]}};
    y = last;
  }
  write_words(cpu, o.rd, x);
  return Outcome::next;
}

/// SHA1H.
template <class Cpu>
MYR_FN Outcome sha1_fixed_rotate(Cpu& cpu, const Operands& o) {
  cpu.set_v(o.rd, 0, rotate_left32((u32)cpu.v(o.rn, 0), 30));
  cpu.set_v(o.rd, 1, 0);
  return Outcome::next;
}

/// SHA1SU0.
template <class Cpu>
MYR_FN Outcome sha1_schedule0(Cpu& cpu, const Operands& o) {
  u64 low = cpu.v(o.rd, 0), high = cpu.v(o.rd, 1), next = cpu.v(o.rn, 0);
  u64 m_low = cpu.v(o.rm, 0), m_high = cpu.v(o.rm, 1);
  cpu.set_v(o.rd, 0, high ^ low ^ m_low);
  cpu.set_v(o.rd, 1, next ^ high ^ m_high);
  return Outcome::next;
}

/// SHA1SU1.
template <class Cpu>
MYR_FN Outcome sha1_schedule1(Cpu& cpu, const Operands& o) {
  Words d = read_words(cpu, o.rd), n = read_words(cpu, o.rn);
  u32 first = d.w[0] ^ n.w[1];
  write_words(cpu, o.rd,
              {{rotate_left32(first, 1), rotate_left32(d.w[1] ^ n.w[2], 1), rotate_left32(d.w[2] ^ n.w[3], 1),
                rotate_left32(d.w[3], 1) ^ rotate_left32(first, 2)}});
  return Outcome::next;
}

}  // namespace myriarm
