// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in crypto.inc. Rows with registers alone use VdVn, VdVnVm and VdVnVmVa.
#pragma once

#include "isa/forms/floating_point.h"

namespace myriarm {

/// imm: lane of Vm.
MYR_FN bool decode_VdVnVmLane(u32 word, Operands& o) {
  o.imm = field(word, 12, 2);
  return decode_VdVnVm(word, o);
}
/// imm: the rotation, to the right.
MYR_FN bool decode_VdVnVmImm(u32 word, Operands& o) {
  o.imm = field(word, 10, 6);
  return decode_VdVnVm(word, o);
}

}  // namespace myriarm
