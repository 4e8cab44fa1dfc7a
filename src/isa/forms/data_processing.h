// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in data_processing.inc. Each returns false if the fields make the word undefined.
#pragma once

#include "isa/forms/fields.h"

namespace myriarm {

/// imm: imm12, shifted by 12 if sh.
MYR_FN bool decode_AddSubImm(u32 word, Operands& o) {
  o.rd = or_sp(rd_field(word));
  o.rn = or_sp(rn_field(word));
  o.imm = (u64)field(word, 10, 12) << (field(word, 22, 1) ? 12 : 0);
  return true;
}
MYR_FN bool decode_AddSubImmFlags(u32 word, Operands& o) {
  decode_AddSubImm(word, o);
  o.rd = destination(rd_field(word));
  return true;
}

}  // namespace myriarm
