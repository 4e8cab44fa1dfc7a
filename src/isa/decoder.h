// SPDX-License-Identifier: Apache-2.0
// Turns an instruction word into its row and Operands. The tables are plain data made from a64.inc, so that the device
// decodes with the same function and a copy of the tables.
#pragma once

#include "isa/decode_table.h"
#include "isa/forms/branch_system.h"
#include "isa/forms/crypto.h"
#include "isa/forms/data_processing.h"
#include "isa/forms/floating_point.h"
#include "isa/forms/load_store.h"
#include "isa/forms/simd.h"
#include "isa/rows.h"

namespace myriarm {

/// The host's tables; made once, never freed.
const DecodeTable& decode_table();

/// Turns the fields of a word of this form into operands. Returns false if the fields make the word undefined.
MYR_FN bool decode_operands(Form form, u32 word, Operands& o) {
  switch (form) {
#define FORM(name, picture) \
  case Form::name:          \
    return decode_##name(Word<Form::name>{word}, o);
#include "isa/forms.inc"
#undef FORM
    default: return false;
  }
}

/// Decodes a word. An undefined word gives row kRowUndefined with the word in imm.
MYR_FN Operands decode(const DecodeTable& table, u32 word) {
  u32 bucket = word >> DecodeTable::kBucketShift;
  for (u32 i = table.first[bucket]; i < table.first[bucket + 1]; i++) {
    u16 row = table.candidates[i];
    RowPattern pattern = table.patterns[row];
    if ((word & pattern.mask) != pattern.value) continue;
    // The same word, composed of the row's fixed bits and the other bits. With `word` itself, which is the same for all
    // candidates, the compiler extracts the fields of all forms before the loop, and a GPU has too few registers for
    // them.
    const u32 of_row = (word & ~pattern.mask) | pattern.value;
    Operands o = {};
    if (!decode_operands(pattern.form, of_row, o)) continue;
    o.kind = o.row = row;
    return o;
  }
  Operands none = {};
  none.imm = word;
  return none;
}

}  // namespace myriarm
