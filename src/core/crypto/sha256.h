// SPDX-License-Identifier: Apache-2.0
// SHA-256: instructions for four rounds, and for the message schedule.
#pragma once

#include "core/crypto/words.h"

namespace myriarm {

/// SHA256H, which computes a to d of the standard, and with kSecond SHA256H2, which computes e to h.
template <bool kSecond, class Cpu>
MYR_FN Outcome sha256_rounds(Cpu& cpu, const Operands& o) {
  Words d = read_words(cpu, o.rd), n = read_words(cpu, o.rn), schedule = read_words(cpu, o.rm);
  Words x = kSecond ? n : d, y = kSecond ? d : n;
  for (u32 e = 0; e < 4; e++) {
    u32 sigma1 = rotate_right32(y.w[0], 6) ^ rotate_right32(y.w[0], 11) ^ rotate_right32(y.w[0], 25);
    u32 sigma0 = rotate_right32(x.w[0], 2) ^ rotate_right32(x.w[0], 13) ^ rotate_right32(x.w[0], 22);
    u32 t = y.w[3] + sigma1 + sha_choose(y.w[0], y.w[1], y.w[2]) + schedule.w[e];
    u32 to_y = t + x.w[3], to_x = t + sigma0 + sha_majority(x.w[0], x.w[1], x.w[2]);
    x = {{to_x, x.w[0], x.w[1], x.w[2]}};
    y = {{to_y, y.w[0], y.w[1], y.w[2]}};
  }
  write_words(cpu, o.rd, kSecond ? y : x);
  return Outcome::next;
}

/// SHA256SU0.
template <class Cpu>
MYR_FN Outcome sha256_schedule0(Cpu& cpu, const Operands& o) {
  Words d = read_words(cpu, o.rd);
  u32 t[4] = {d.w[1], d.w[2], d.w[3], (u32)cpu.v(o.rn, 0)};
  for (u32 e = 0; e < 4; e++) d.w[e] += rotate_right32(t[e], 7) ^ rotate_right32(t[e], 18) ^ t[e] >> 3;
  write_words(cpu, o.rd, d);
  return Outcome::next;
}

MYR_FN u32 sha256_sigma1(u32 x) { return rotate_right32(x, 17) ^ rotate_right32(x, 19) ^ x >> 10; }

/// SHA256SU1.
template <class Cpu>
MYR_FN Outcome sha256_schedule1(Cpu& cpu, const Operands& o) {
  Words d = read_words(cpu, o.rd), n = read_words(cpu, o.rn), m = read_words(cpu, o.rm);
  d.w[0] += sha256_sigma1(m.w[2]) + n.w[1];
  d.w[1] += sha256_sigma1(m.w[3]) + n.w[2];
  d.w[2] += sha256_sigma1(d.w[0]) + n.w[3];
  d.w[3] += sha256_sigma1(d.w[1]) + m.w[0];
  write_words(cpu, o.rd, d);
  return Outcome::next;
}

}  // namespace myriarm
