// SPDX-License-Identifier: Apache-2.0
// The results of decoding, kept by instruction word for code that is decoded as it runs. Warps read and write the entries
// without any order, so that an entry proves itself: each of its parts has the word beside it. Portable: the interpreter
// uses it, and tests do on the host.
#pragma once

#include "core/operands.h"

namespace myriarm::cuda {

constexpr u32 kDecodedWordsBits = 12;
constexpr u32 kDecodedWords = 1u << kDecodedWordsBits;

/// Operands in four words, as they lie in memory.
MYR_FN Operands operands_of(u32 x, u32 y, u32 z, u32 w) {
  Operands o;
  o.kind = (u16)x;
  o.row = (u16)(x >> 16);
  o.rd = (u8)y;
  o.rn = (u8)(y >> 8);
  o.rm = (u8)(y >> 16);
  o.ra = (u8)(y >> 24);
  o.imm = z | (u64)w << 32;
  return o;
}

/// What is known of one instruction word: in each part the word, and below it a quarter of its Operands.
struct DecodedWord {
  u64 part[4];

  /// Whether all parts belong to this word. An entry is 0 at first, so that word 0 is never known.
  MYR_FN bool is_of(u32 word) const {
    bool all = word != 0;
    for (u32 i = 0; i < 4; i++) all &= (u32)(part[i] >> 32) == word;
    return all;
  }
  MYR_FN Operands operands() const { return operands_of((u32)part[0], (u32)part[1], (u32)part[2], (u32)part[3]); }
};
MYR_FN DecodedWord decoded_word(u32 word, const Operands& o) {
  const u64 tag = (u64)word << 32;
  return {{tag | o.kind | (u32)o.row << 16, tag | o.rd | (u32)o.rn << 8 | (u32)o.rm << 16 | (u32)o.ra << 24,
           tag | (u32)o.imm, tag | (u32)(o.imm >> 32)}};
}
/// The entry of a word.
MYR_FN u32 entry_of_word(u32 word) { return (word * 0x9E3779B1u) >> (32 - kDecodedWordsBits); }

}  // namespace myriarm::cuda
