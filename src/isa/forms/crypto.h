// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in crypto.inc. Rows that have only registers use VdVn, VdVnVm and VdVnVmVa.
#pragma once

#include "isa/forms/floating_point.h"

namespace myriarm {

/// imm: lane of Vm.
MYR_FN bool decode_VdVnVmLane(Word<Form::VdVnVmLane> word, Operands& o) {
  o.imm = field<'i'>(word);
  return vector_dnm(word, o);
}
/// imm: the right rotation, in bits.
MYR_FN bool decode_VdVnVmImm(Word<Form::VdVnVmImm> word, Operands& o) {
  o.imm = field<'i'>(word);
  return vector_dnm(word, o);
}

}  // namespace myriarm
