// SPDX-License-Identifier: Apache-2.0
// Where the fields of a form lie, and the meaning of register number 31. A decode function names the letter of a field, and
// the picture of its form in forms.inc says at compile time where that is: a letter that the picture does not have or has
// in pieces, and a width that is not the picture's, stop the build. That rows have the letters of their form's picture is
// checked in table_checks.cpp.
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

/// Where a picture has a letter.
struct FieldPlace {
  u32 low = 0;     // the lowest bit
  u32 width = 0;   // bits that have the letter
  u32 pieces = 0;  // 0: none has; 1: they are side by side
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

/// A field that all rows of a form fix with digits, so that its picture has dots there, and that the form's function reads
/// all the same, since it serves several rows.
struct FixedField {
  u32 low, width;
};
constexpr bool is_fixed(const char* picture, FixedField field) {
  for (u32 bit = field.low; bit < field.low + field.width; bit++) {
    if (picture[31 - bit] != '.') return false;
  }
  return true;
}
constexpr FixedField kFixedSf = {31, 1};               // X registers, not W
constexpr FixedField kFixedQ = {30, 1};                // 128 bits, not 64, where it is not a letter
constexpr FixedField kFixedMoveOpc = {29, 2};          // 0: MOVN
constexpr FixedField kFixedAccessSize = {30, 2};       // log2 of the bytes of a load or store
constexpr FixedField kFixedAccessOpc1 = {23, 1};       // of SIMD&FP registers: 16 bytes, with size 0
constexpr FixedField kFixedPairOpc = {30, 2};          // general registers: 2 for X; SIMD&FP: log2 of the words
constexpr FixedField kFixedPtype = {22, 2};            // 0 for S, 1 for D, 3 for H
constexpr FixedField kFixedStructureOpcode = {12, 4};  // of LD1 to LD4 (multiple structures)
constexpr FixedField kFixedStructureOpcode0 = {13, 1}, kFixedStructureR = {21, 1};  // (single structure)

/// An instruction word of a row of that form.
template <Form kForm>
struct Word {
  u32 bits;
};

/// The field of a letter, zero-extended. `kWidth`: what the caller relies on; 0 if any width will do.
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
/// Bits of the field of a letter.
template <char kLetter, Form kForm>
MYR_FN u32 field_width(Word<kForm>) {
  constexpr FieldPlace kPlace = find_field(kPictures[(u32)kForm], kLetter);
  static_assert(kPlace.pieces == 1, "the form's picture does not have this letter, or has it in pieces");
  return kPlace.width;
}

/// Letters that lie side by side in this order, as one place; `pieces` is not 1 where they do not.
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
/// The fields of several letters as one number, the first on top: H:L:M in the manual.
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

/// A field of the digits of the row.
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

// Register fields, by the letters that all forms have for them.
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
