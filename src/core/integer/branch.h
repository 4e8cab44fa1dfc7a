// SPDX-License-Identifier: Apache-2.0
// Branches, and the instructions that generate exceptions.
#pragma once

#include "core/cpu.h"

namespace myriarm {

enum class Link : u8 { no, yes };

/// BranchAddr() of the manual: the target of an indirect branch. As Linux enables top-byte-ignore, the tag of a
/// user-space address (bit 55 clear) is dropped. Any other address stays unchanged and faults when it is fetched.
MYR_FN u64 branch_address(u64 target) { return target & (u64)((i64)(target << 8) >> 8); }

/// B, BL. offset: bytes from this instruction.
template <Link kLink, class Cpu>
MYR_FN Outcome branch_imm(Cpu& cpu, const Operands& o) {
  if (kLink == Link::yes) cpu.set_r(kSlotLR, cpu.pc() + 4);
  return cpu.branch_relative(o.offset);
}

/// B.cond. offset: bytes from this instruction, aux: cond.
template <class Cpu>
MYR_FN Outcome branch_conditional(Cpu& cpu, const Operands& o) {
  return condition(cpu, o.aux) ? cpu.branch_relative(o.offset) : Outcome::next;
}

/// CBZ, CBNZ. rn: the register tested.
template <int kWidth, bool kNonzero, class Cpu>
MYR_FN Outcome compare_and_branch(Cpu& cpu, const Operands& o) {
  return (read<kWidth>(cpu, o.rn) != 0) == kNonzero ? cpu.branch_relative(o.offset) : Outcome::next;
}

/// TBZ, TBNZ. aux: the number of the tested bit of rn.
template <bool kNonzero, class Cpu>
MYR_FN Outcome test_and_branch(Cpu& cpu, const Operands& o) {
  return ((cpu.r(o.rn) >> o.aux & 1) != 0) == kNonzero ? cpu.branch_relative(o.offset) : Outcome::next;
}

/// BR, BLR, RET. The target is read before X30 is written, because BLR X30 is allowed.
template <Link kLink, class Cpu>
MYR_FN Outcome branch_register(Cpu& cpu, const Operands& o) {
  u64 target = branch_address(cpu.r(o.rn));
  if (kLink == Link::yes) cpu.set_r(kSlotLR, cpu.pc() + 4);
  return cpu.branch_to(target);
}

/// SVC: retires, then stops. imm: imm16. The exclusive monitor is cleared, as by the exception return after the call.
template <class Cpu>
MYR_FN Outcome supervisor_call(Cpu& cpu, const Operands& o) {
  cpu.set_system(SystemField::monitor, kMonitorOpen);
  return cpu.stop(StopCode::syscall, (u32)o.imm, 0);
}

/// BRK. imm: imm16.
template <class Cpu>
MYR_FN Outcome breakpoint(Cpu& cpu, const Operands& o) {
  return cpu.stop(StopCode::breakpoint, (u32)o.imm, 0);
}

/// HLT: stops the lane for good. imm: imm16.
template <class Cpu>
MYR_FN Outcome halt(Cpu& cpu, const Operands& o) {
  return cpu.stop(StopCode::halt, (u32)o.imm, 0);
}

/// UDF: permanently undefined.
template <class Cpu>
MYR_FN Outcome permanently_undefined(Cpu& cpu, const Operands&) {
  return cpu.undefined();
}

}  // namespace myriarm
