// SPDX-License-Identifier: Apache-2.0
// SHA-512: two instructions for two rounds, and two for the message schedule.
#pragma once

#include "core/crypto/words.h"

namespace myriarm {

/// SHA512H.
template <class Cpu>
MYR_FN Outcome sha512_rounds(Cpu& cpu, const Operands& o) {
  u64 x_low = cpu.v(o.rn, 0), x_high = cpu.v(o.rn, 1), y_low = cpu.v(o.rm, 0), y_high = cpu.v(o.rm, 1);
  u64 sigma = rotate_right64(y_high, 14) ^ rotate_right64(y_high, 18) ^ rotate_right64(y_high, 41);
  u64 high = sha_choose(y_high, x_low, x_high) + sigma + cpu.v(o.rd, 1);
  u64 next = high + y_low;
  sigma = rotate_right64(next, 14) ^ rotate_right64(next, 18) ^ rotate_right64(next, 41);
  u64 low = sha_choose(next, y_high, x_low) + sigma + cpu.v(o.rd, 0);
  cpu.set_v(o.rd, 0, low);
  cpu.set_v(o.rd, 1, high);
  return Outcome::next;
}

MYR_FN u64 sha512_sum0(u64 x) { return rotate_right64(x, 28) ^ rotate_right64(x, 34) ^ rotate_right64(x, 39); }

/// SHA512H2.
template <class Cpu>
MYR_FN Outcome sha512_rounds2(Cpu& cpu, const Operands& o) {
  u64 x = cpu.v(o.rn, 0), y_low = cpu.v(o.rm, 0), y_high = cpu.v(o.rm, 1);
  u64 high = sha_majority(x, y_high, y_low) + sha512_sum0(y_low) + cpu.v(o.rd, 1);
  u64 low = sha_majority(high, y_high, y_low) + sha512_sum0(high) + cpu.v(o.rd, 0);
  cpu.set_v(o.rd, 0, low);
  cpu.set_v(o.rd, 1, high);
  return Outcome::next;
}

/// SHA512SU0.
template <class Cpu>
MYR_FN Outcome sha512_schedule0(Cpu& cpu, const Operands& o) {
  u64 low = cpu.v(o.rd, 0), high = cpu.v(o.rd, 1), next = cpu.v(o.rn, 0);
  low += rotate_right64(high, 1) ^ rotate_right64(high, 8) ^ high >> 7;
  high += rotate_right64(next, 1) ^ rotate_right64(next, 8) ^ next >> 7;
  cpu.set_v(o.rd, 0, low);
  cpu.set_v(o.rd, 1, high);
  return Outcome::next;
}

MYR_FN u64 sha512_sigma1(u64 x) { return rotate_right64(x, 19) ^ rotate_right64(x, 61) ^ x >> 6; }

/// SHA512SU1.
template <class Cpu>
MYR_FN Outcome sha512_schedule1(Cpu& cpu, const Operands& o) {
  u64 low = cpu.v(o.rd, 0) + sha512_sigma1(cpu.v(o.rn, 0)) + cpu.v(o.rm, 0);
  u64 high = cpu.v(o.rd, 1) + sha512_sigma1(cpu.v(o.rn, 1)) + cpu.v(o.rm, 1);
  cpu.set_v(o.rd, 0, low);
  cpu.set_v(o.rd, 1, high);
  return Outcome::next;
}

}  // namespace myriarm
