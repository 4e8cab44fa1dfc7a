// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in branch_system.inc. Each returns false if the fields make the word undefined.
#pragma once

#include "core/system/id_registers.h"
#include "isa/forms/fields.h"

namespace myriarm {

/// offset: imm26 * 4.
MYR_FN bool decode_BranchImm(Word<Form::BranchImm> word, Operands& o) {
  o.offset = signed_field<'i'>(word) * 4;
  return true;
}
/// offset: imm19 * 4, aux: cond.
MYR_FN bool decode_BranchCond(Word<Form::BranchCond> word, Operands& o) {
  o.offset = signed_field<'i'>(word) * 4;
  o.aux = field<'c', 4>(word);
  return true;
}
/// rn: Rt; offset: imm19 * 4.
MYR_FN bool decode_CompareBranch(Word<Form::CompareBranch> word, Operands& o) {
  o.rn = source(rt_field(word));
  o.offset = signed_field<'i'>(word) * 4;
  return true;
}
/// rn: Rt; offset: imm14 * 4, aux: bit number, b5:b40.
MYR_FN bool decode_TestBranch(Word<Form::TestBranch> word, Operands& o) {
  o.rn = source(rt_field(word));
  o.offset = signed_field<'i'>(word) * 4;
  o.aux = joined<'h', 'b'>(word);
  return true;
}
/// rn: Rn.
MYR_FN bool decode_BranchRegister(Word<Form::BranchRegister> word, Operands& o) {
  o.rn = source(rn_field(word));
  return true;
}
MYR_FN bool decode_Return(Word<Form::Return> word, Operands& o) {
  o.rn = source(rn_field(word));
  return true;
}
/// imm: imm16.
MYR_FN bool decode_Imm16(Word<Form::Imm16> word, Operands& o) {
  o.imm = field<'i'>(word);
  return true;
}
MYR_FN bool decode_Imm16Low(Word<Form::Imm16Low> word, Operands& o) {
  o.imm = field<'i'>(word);
  return true;
}
/// imm: CRm:op2.
MYR_FN bool decode_Hint(Word<Form::Hint> word, Operands& o) {
  o.imm = joined<'m', 'o'>(word);
  return true;
}
/// imm: CRm.
MYR_FN bool decode_Barrier(Word<Form::Barrier> word, Operands& o) {
  o.imm = field<'m'>(word);
  return true;
}

MYR_FN bool decode_NoFields(Word<Form::NoFields>, Operands&) { return true; }
/// aux: the key, op0:op1:CRn:CRm:op2 (core/system/id_registers.h); rd or rn: Rt. The upper bit of op0 is 1 in these
/// forms; the letter o is the lower one.
MYR_FN bool decode_SystemRegisterRead(Word<Form::SystemRegisterRead> word, Operands& o) {
  o.rd = destination(rt_field(word));
  o.aux = system_key(2, 0, 0, 0, 0) | joined<'o', 'p', 'n', 'm', 'q'>(word);
  return true;
}
MYR_FN bool decode_SystemRegisterWrite(Word<Form::SystemRegisterWrite> word, Operands& o) {
  o.rn = source(rt_field(word));
  o.aux = system_key(2, 0, 0, 0, 0) | joined<'o', 'p', 'n', 'm', 'q'>(word);
  return true;
}
/// The same with op0 1.
MYR_FN bool decode_SystemOperation(Word<Form::SystemOperation> word, Operands& o) {
  o.rn = source(rt_field(word));
  o.aux = system_key(1, 0, 0, 0, 0) | joined<'p', 'n', 'm', 'q'>(word);
  return true;
}
MYR_FN bool decode_SystemOperationResult(Word<Form::SystemOperationResult> word, Operands& o) {
  o.rd = destination(rt_field(word));
  o.aux = system_key(1, 0, 0, 0, 0) | joined<'p', 'n', 'm', 'q'>(word);
  return true;
}

}  // namespace myriarm
