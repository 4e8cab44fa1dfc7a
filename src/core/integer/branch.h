// SPDX-License-Identifier: Apache-2.0
// Branches, and the exceptions that a program asks for.
#pragma once

#include "core/cpu.h"

namespace myriarm {

/// B. offset: bytes from this instruction.
template <class Cpu>
MYR_FN Outcome branch_imm(Cpu& cpu, const Operands& o) {
  return cpu.branch_relative(o.offset);
}

/// SVC: retires, then stops. imm: imm16.
template <class Cpu>
MYR_FN Outcome supervisor_call(Cpu& cpu, const Operands& o) {
  return cpu.stop(StopCode::syscall, (u32)o.imm, 0);
}

/// HLT: the program asks to be stopped for good. imm: imm16.
template <class Cpu>
MYR_FN Outcome halt(Cpu& cpu, const Operands& o) {
  return cpu.stop(StopCode::halt, (u32)o.imm, 0);
}

}  // namespace myriarm
