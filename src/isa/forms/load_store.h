// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in load_store.inc. Each returns false if the fields make the word undefined.
#pragma once

#include "isa/forms/fields.h"

namespace myriarm {

/// imm: imm12 scaled by the access size, which is bits 31:30.
MYR_FN bool decode_StoreUnsignedImm(u32 word, Operands& o) {
  o.rd = source(rd_field(word));
  o.rn = or_sp(rn_field(word));
  o.imm = (u64)field(word, 10, 12) << field(word, 30, 2);
  return true;
}

}  // namespace myriarm
