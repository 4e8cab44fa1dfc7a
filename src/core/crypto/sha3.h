// SPDX-License-Identifier: Apache-2.0
// SHA-3: EOR3, BCAX, RAX1 and XAR, which treat both doublewords alike.
#pragma once

#include "core/crypto/words.h"

namespace myriarm {

// clang-format off
struct Sha3Eor3 { MYR_FN static u64 run(u64 n, u64 m, u64 a, u32) { return n ^ m ^ a; } };
struct Sha3Bcax { MYR_FN static u64 run(u64 n, u64 m, u64 a, u32) { return n ^ (m & ~a); } };
struct Sha3Rax1 { MYR_FN static u64 run(u64 n, u64 m, u64, u32) { return n ^ (m << 1 | m >> 63); } };
struct Sha3Xar { MYR_FN static u64 run(u64 n, u64 m, u64, u32 amount) { return rotate_right64(n ^ m, amount); } };
// clang-format on

template <class Operation, class Cpu>
MYR_FN Outcome sha3_logical(Cpu& cpu, const Operands& o) {
  u32 amount = (u32)o.imm & 63;
  u64 low = Operation::run(cpu.v(o.rn, 0), cpu.v(o.rm, 0), cpu.v(o.ra, 0), amount);
  u64 high = Operation::run(cpu.v(o.rn, 1), cpu.v(o.rm, 1), cpu.v(o.ra, 1), amount);
  cpu.set_v(o.rd, 0, low);
  cpu.set_v(o.rd, 1, high);
  return Outcome::next;
}

}  // namespace myriarm
