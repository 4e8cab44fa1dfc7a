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
/// imm: imm16.
MYR_FN bool decode_Imm16(u32 word, Operands& o) {
  o.imm = field(word, 5, 16);
  return true;
}

}  // namespace myriarm
