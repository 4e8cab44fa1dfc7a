// SPDX-License-Identifier: Apache-2.0
// Turns an instruction word into its row and Operands. The tables are plain data made from a64.inc, so that the device
// decodes with the same function and a copy of the tables.
#pragma once

#include "isa/forms/branch_system.h"
#include "isa/forms/crypto.h"
#include "isa/forms/data_processing.h"
#include "isa/forms/floating_point.h"
#include "isa/forms/load_store.h"
#include "isa/forms/simd.h"
#include "isa/rows.h"

namespace myriarm {

/// Rows are looked up by bits 31:21 of the word: bucket b holds candidates[first[b]] up to candidates[first[b + 1]],
/// the row with the most fixed bits first.
struct DecodeTable {
  static constexpr u32 kBucketShift = 21;
  static constexpr u32 kBuckets = 1u << (32 - kBucketShift);
  const u32* first;       // kBuckets + 1
  const u16* candidates;  // rows
  u32 candidate_count;
  const RowPattern* patterns;  // kRowCount; patterns[0] matches nothing
};

/// The host's tables; made once, never freed.
const DecodeTable& decode_table();

/// Turns the fields of a word of that form into operands. False: the fields make the word undefined.
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
    // The same word, put together from what this row fixes and the rest. Given `word`, which no candidate changes, a
    // compiler takes the fields of all forms ahead of the loop, which are more than a GPU has registers for.
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
