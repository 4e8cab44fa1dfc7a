// SPDX-License-Identifier: Apache-2.0
// Modified immediates: MOVI, MVNI, FMOV (vector, immediate), ORR and BIC (vector, immediate).
#pragma once

#include "core/simd/number.h"

namespace myriarm {

// clang-format off
struct ImmediateMove { MYR_FN static u64 apply(u64, u64 imm) { return imm; } };
struct ImmediateMoveNot { MYR_FN static u64 apply(u64, u64 imm) { return ~imm; } };
struct ImmediateOr { MYR_FN static u64 apply(u64 old, u64 imm) { return old | imm; } };
struct ImmediateClear { MYR_FN static u64 apply(u64 old, u64 imm) { return old & ~imm; } };
// clang-format on

/// imm: 64 bits, for each half; ra: 1 if there are two.
template <class Operation, class Cpu>
MYR_FN Outcome modified_immediate(Cpu& cpu, const Operands& o) {
  cpu.set_v(o.rd, 0, Operation::apply(cpu.v(o.rd, 0), o.imm));
  cpu.set_v(o.rd, 1, number_in(cpu, o.ra) != 0 ? Operation::apply(cpu.v(o.rd, 1), o.imm) : 0);
  return Outcome::next;
}

}  // namespace myriarm
