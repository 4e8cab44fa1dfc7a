// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in branch_system.inc. Each returns false if the fields make the word undefined.
#pragma once

#include "isa/forms/fields.h"

namespace myriarm {

/// offset: imm26 * 4.
MYR_FN bool decode_BranchImm(u32 word, Operands& o) {
  o.offset = signed_field(word, 0, 26) * 4;
  return true;
}
/// offset: imm19 * 4, aux: cond.
MYR_FN bool decode_BranchCond(u32 word, Operands& o) {
  o.offset = signed_field(word, 5, 19) * 4;
  o.aux = field(word, 0, 4);
  return true;
}
/// rn: Rt; offset: imm19 * 4.
MYR_FN bool decode_CompareBranch(u32 word, Operands& o) {
  o.rn = source(rd_field(word));
  o.offset = signed_field(word, 5, 19) * 4;
  return true;
}
/// rn: Rt; offset: imm14 * 4, aux: bit number.
MYR_FN bool decode_TestBranch(u32 word, Operands& o) {
  o.rn = source(rd_field(word));
  o.offset = signed_field(word, 5, 14) * 4;
  o.aux = field(word, 31, 1) << 5 | field(word, 19, 5);
  return true;
}
/// rn: Rn.
MYR_FN bool decode_BranchRegister(u32 word, Operands& o) {
  o.rn = source(rn_field(word));
  return true;
}
MYR_FN bool decode_Return(u32 word, Operands& o) { return decode_BranchRegister(word, o); }
/// imm: imm16.
MYR_FN bool decode_Imm16(u32 word, Operands& o) {
  o.imm = field(word, 5, 16);
  return true;
}
MYR_FN bool decode_Imm16Low(u32 word, Operands& o) {
  o.imm = field(word, 0, 16);
  return true;
}
/// imm: CRm:op2.
MYR_FN bool decode_Hint(u32 word, Operands& o) {
  o.imm = field(word, 5, 7);
  return true;
}
/// imm: CRm.
MYR_FN bool decode_Barrier(u32 word, Operands& o) {
  o.imm = field(word, 8, 4);
  return true;
}
/// aux: the key, op0:op1:CRn:CRm:op2 (core/system/id_registers.h); rd or rn: Rt.
MYR_FN bool decode_SystemRegisterRead(u32 word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.aux = field(word, 5, 16);
  return true;
}
MYR_FN bool decode_SystemRegisterWrite(u32 word, Operands& o) {
  o.rn = source(rd_field(word));
  o.aux = field(word, 5, 16);
  return true;
}
MYR_FN bool decode_SystemOperation(u32 word, Operands& o) { return decode_SystemRegisterWrite(word, o); }
MYR_FN bool decode_SystemOperationResult(u32 word, Operands& o) { return decode_SystemRegisterRead(word, o); }

}  // namespace myriarm
