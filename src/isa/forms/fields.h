// SPDX-License-Identifier: Apache-2.0
// Fields of instruction words, and the meaning of register number 31. A decode function names the letter of a field,
// and the picture of its form in forms.inc says at compile time which bits these are. The build stops at a letter that
// the picture lacks or has in pieces, and at a width that is not the picture's. table_checks.cpp checks that rows have
// the letters of their form's picture. In the comments of forms/*.h, `imm: X` means that the function sets
// Operands::imm to X.
#pragma once

#include "core/operands.h"
#include "isa/rows.h"

namespace myriarm {

/// The pictures of the forms, by Form.
constexpr const char* kPictures[] = {
    "",
#define FORM(name, picture) picture,
#include "isa/forms.inc"
#undef FORM
};

/// The bits of a picture that have a letter.
struct FieldPlace {
  u32 low = 0;     // the lowest bit
  u32 width = 0;   // the number of bits
  u32 pieces = 0;  // 0: the picture lacks the letter; 1: its bits are adjacent
};
constexpr FieldPlace find_field(const char* picture, char letter) {
  FieldPlace place;
  bool inside = false;
  for (u32 i = 0; i < 32 && picture[i] != 0; i++) {
    const bool found = picture[i] == letter;
    if (found) {
      place.low = 31 - i;
      place.width++;
      if (!inside) place.pieces++;
    }
    inside = found;
  }
  return place;
}

/// A field that each row of a form fixes with digits, so that the picture has dots there. The form's function reads it
/// if it serves rows with different digits.
struct FixedField {
  u32 low, width;
};
constexpr bool is_fixed(const char* picture, FixedField field) {
  for (u32 bit = field.low; bit < field.low + field.width; bit++) {
    if (picture[31 - bit] != '.') return false;
  }
  return true;
}
constexpr FixedField kFixedSf = {31, 1};               // 1: X registers, 0: W registers
constexpr FixedField kFixedQ = {30, 1};                // 1: 128 bits, 0: 64 bits; in forms without the letter q
constexpr FixedField kFixedMoveOpc = {29, 2};          // 0: MOVN
constexpr FixedField kFixedAccessSize = {30, 2};       // log2 of the bytes of a load or store
constexpr FixedField kFixedAccessOpc1 = {23, 1};       // of SIMD&FP registers: 1 with size 0 is 16 bytes
constexpr FixedField kFixedPairOpc = {30, 2};          // general registers: 2 for X; SIMD&FP: log2 of the words
constexpr FixedField kFixedPtype = {22, 2};            // 0 for S, 1 for D, 3 for H
constexpr FixedField kFixedStructureOpcode = {12, 4};  // of LD1 to LD4 (multiple structures)
constexpr FixedField kFixedStructureOpcode0 = {13, 1}, kFixedStructureR = {21, 1};  // (single structure)

/// An instruction word of a row of that form.
template <Form kForm>
struct Word {
  u32 bits;
};

/// The field of a letter, zero-extended. `kWidth`: the width that the caller expects; 0: any width.
template <char kLetter, u32 kWidth = 0, Form kForm>
MYR_FN u32 field(Word<kForm> word) {
  constexpr FieldPlace kPlace = find_field(kPictures[(u32)kForm], kLetter);
  static_assert(kPlace.pieces != 0, "the form's picture does not have this letter");
  static_assert(kPlace.pieces < 2, "the form's picture has this letter in pieces: give each a letter of its own");
  static_assert(kWidth == 0 || kPlace.width == kWidth, "the form's picture has this letter with another width");
  return (word.bits >> kPlace.low) & ((1u << kPlace.width) - 1);
}
/// The same, sign-extended.
template <char kLetter, u32 kWidth = 0, Form kForm>
MYR_FN i32 signed_field(Word<kForm> word) {
  constexpr FieldPlace kPlace = find_field(kPictures[(u32)kForm], kLetter);
  const u32 value = field<kLetter, kWidth>(word);
  return (i32)(value << (32 - kPlace.width)) >> (32 - kPlace.width);
}
/// The number of bits of the field of a letter.
template <char kLetter, Form kForm>
MYR_FN u32 field_width(Word<kForm>) {
  constexpr FieldPlace kPlace = find_field(kPictures[(u32)kForm], kLetter);
  static_assert(kPlace.pieces == 1, "the form's picture does not have this letter, or has it in pieces");
  return kPlace.width;
}

/// The bits of letters that are adjacent in this order; `pieces` is not 1 if they are not.
template <u32 kCount>
constexpr FieldPlace find_joined(const char* picture, const char (&letters)[kCount]) {
  FieldPlace whole = find_field(picture, letters[0]);
  for (u32 i = 1; i < kCount; i++) {
    const FieldPlace next = find_field(picture, letters[i]);
    if (whole.pieces != 1 || next.pieces != 1 || next.low + next.width != whole.low) return {};
    whole = {next.low, whole.width + next.width, 1};
  }
  return whole;
}
/// The fields of several letters as one number, the first in the highest bits: H:L:M in the manual.
template <char kLetter, Form kForm>
MYR_FN u32 joined(Word<kForm> word) {
  return field<kLetter>(word);
}
template <char kLetter, char kNext, char... kRest, Form kForm>
MYR_FN u32 joined(Word<kForm> word) {
  constexpr char kLetters[] = {kLetter, kNext, kRest...};
  constexpr FieldPlace kWhole = find_joined(kPictures[(u32)kForm], kLetters);
  if constexpr (kWhole.pieces == 1) {
    return (word.bits >> kWhole.low) & ((1u << kWhole.width) - 1);
  } else {
    const u32 width_of_others = (field_width<kNext>(word) + ... + field_width<kRest>(word));
    return field<kLetter>(word) << width_of_others | joined<kNext, kRest...>(word);
  }
}

/// A field that the row fixes with digits.
template <FixedField kField, Form kForm>
MYR_FN u32 fixed(Word<kForm> word) {
  static_assert(is_fixed(kPictures[(u32)kForm], kField), "the form's picture has a letter there: ask for the letter");
  return (word.bits >> kField.low) & ((1u << kField.width) - 1);
}

/// A general register where 31 is the zero register: read, or written.
MYR_FN u8 source(u32 number) { return (u8)(number == 31 ? (u32)kSlotZero : number); }
MYR_FN u8 destination(u32 number) { return (u8)(number == 31 ? (u32)kSlotDiscard : number); }
/// A general register where 31 is SP.
MYR_FN u8 or_sp(u32 number) { return (u8)number; }

// Register fields. All forms use these letters for them.
template <Form kForm>
MYR_FN u32 rd_field(Word<kForm> word) {
  return field<'d', 5>(word);
}
template <Form kForm>
MYR_FN u32 rn_field(Word<kForm> word) {
  return field<'n', 5>(word);
}
template <Form kForm>
MYR_FN u32 rm_field(Word<kForm> word) {
  return field<'m', 5>(word);
}
template <Form kForm>
MYR_FN u32 ra_field(Word<kForm> word) {
  return field<'a', 5>(word);
}
template <Form kForm>
MYR_FN u32 rs_field(Word<kForm> word) {
  return field<'s', 5>(word);
}
template <Form kForm>
MYR_FN u32 rt_field(Word<kForm> word) {
  return field<'t', 5>(word);
}
template <Form kForm>
MYR_FN u32 rt2_field(Word<kForm> word) {
  return field<'u', 5>(word);
}

}  // namespace myriarm
