// SPDX-License-Identifier: Apache-2.0
// How the disassembler turns the tokens of a row's syntax into text; syntax.h describes the syntax. The file of a
// family has the functions that print its tokens, and an array of Token with their names; floating_point, simd and
// crypto rows share tokens_simd.cpp. The parameters of a function are the fields of the word that it needs, and the
// build stops if a row lacks one: `Letter<'h', 2> kind` is the letter h of the picture of the row's form, which must
// have two bits.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "isa/disassembly/syntax.h"
#include "isa/row_info.h"

namespace myriarm::disassembly {

enum class Printed : bool { as_default, given };
/// The result of a token function: with as_default, an optional group around the token may be left out.
constexpr Printed given_if(bool given) { return given ? Printed::given : Printed::as_default; }

/// The instruction that a token function prints.
struct TokenContext {
  u32 word;
  u64 pc;
  const Operands& operands;  // as the row's form decoded them
  const RowInfo& row;
  std::string_view token;  // the name of the token in the syntax

  u32 bits(u32 low, u32 width) const { return (word >> low) & ((1u << width) - 1); }
  /// The field of a letter that the picture of the row's form has in one piece.
  u32 letter(char name) const {
    const FieldPlace place = find_field(kPictures[static_cast<u32>(row.form)], name);
    return bits(place.low, place.width);
  }
};

/// Parameters of token functions: the field of a letter, of `kWidth` bits or, with 0, of any number.
template <char kLetter, u32 kWidth = 0>
struct Letter {
  u32 value;
  operator u32() const { return value; }
  static Letter of(const TokenContext& c) { return {c.letter(kLetter)}; }
  static constexpr bool is_in(const char* picture) {
    const FieldPlace place = find_field(picture, kLetter);
    return place.pieces == 1 && (kWidth == 0 || place.width == kWidth);
  }
};
/// A field that the row fixes with digits.
template <FixedField kField>
struct Fixed {
  u32 value;
  operator u32() const { return value; }
  static Fixed of(const TokenContext& c) { return {c.bits(kField.low, kField.width)}; }
  static constexpr bool is_in(const char* picture) { return is_fixed(picture, kField); }
};

struct Token {
  std::string_view name;
  Printed (*print)(const TokenContext& c, std::string& out);
  bool (*fits)(const char* picture);  // whether a form has the fields that the function asks for
  Form form;                          // only in rows of this form; none: in all
};

template <auto kFunction, class Function>
struct TokenFunction;
template <auto kFunction, class... Fields>
struct TokenFunction<kFunction, Printed (*)(const TokenContext&, std::string&, Fields...)> {
  static Printed print(const TokenContext& c, std::string& out) { return kFunction(c, out, Fields::of(c)...); }
  static constexpr bool fits([[maybe_unused]] const char* picture) { return (Fields::is_in(picture) && ...); }
};
/// An entry of a family's array: the function that prints <name> in rows of one form, or of all forms.
template <auto kFunction>
constexpr Token token(std::string_view name, Form form = Form::none) {
  using Function = TokenFunction<kFunction, decltype(kFunction)>;
  return {name, Function::print, Function::fits, form};
}

// Tokens that have the same meaning in every family; tokens_generic.cpp.
Printed hex_imm(const TokenContext& c, std::string& out);
Printed decimal_imm(const TokenContext& c, std::string& out);
Printed label(const TokenContext& c, std::string& out);
Printed condition(const TokenContext& c, std::string& out, Letter<'c', 4> cond);
// Not inline: under -fsanitize=undefined gcc takes the address of an inline variable for one that may be null, and then
// the checks below are no constant expressions.
constexpr Token kGenericTokens[] = {
    token<hex_imm>("imm"), token<decimal_imm>("pimm"), token<decimal_imm>("simm"),
    token<label>("label"), token<condition>("cond"),
};

constexpr const Token* find_token(std::span<const Token> tokens, std::string_view name, Form form) {
  const Token* found = nullptr;
  const Token* all = tokens.data();  // takes fewer constexpr steps than an iterator
  for (size_t i = 0; i < tokens.size(); i++) {
    if (all[i].name[0] != name[0] || all[i].name != name) continue;
    if (all[i].form == form) return &all[i];
    if (all[i].form == Form::none && found == nullptr) found = &all[i];
  }
  return found;
}
/// The token of this name in rows of this form; null for the name of a register and for unknown names.
constexpr const Token* find_token_of_row(std::span<const Token> family, std::string_view name, Form form) {
  const Token* found = find_token(family, name, form);
  return found != nullptr ? found : find_token(kGenericTokens, name, form);
}

/// Whether each token of a syntax has a function or is a register, and the form has all fields that they ask for.
constexpr bool is_printable(std::span<const Token> family, std::string_view syntax, Form form) {
  const char* picture = kPictures[static_cast<u32>(form)];
  while (!syntax.empty()) {
    const Piece piece = take_piece(syntax);
    if (piece.kind == Piece::two && !Letter<'q', 1>::is_in(picture)) return false;
    if (piece.kind != Piece::token) continue;
    if (const Token* token = find_token_of_row(family, piece.text, form)) {
      if (!token->fits(picture)) return false;
    } else {
      const RegisterName reg = parse_register(piece.text);
      if (reg.kind == 0 || find_field(picture, reg.letter).pieces != 1) return false;
    }
  }
  return true;
}
/// Checks the syntax of a row. The file of a family applies it to each of the family's rows.
#define MYR_CHECK_SYNTAX(name, syntax, form)                     \
  static_assert(is_printable(kTokens, syntax, Form::form), #name \
                ": a token of its syntax has no function, or form " #form " lacks a field that the function needs");

std::span<const Token> data_processing_tokens();
std::span<const Token> branch_system_tokens();
std::span<const Token> load_store_tokens();
std::span<const Token> simd_tokens();

/// 12, -3
void append_decimal(std::string& out, i64 value);
/// 0xff
void append_hex(std::string& out, u64 value);
/// x3, wzr, sp: width 32 or 64; 31 is SP or the zero register.
void append_general_register(std::string& out, u32 width, u32 number, bool or_sp);

/// The index register of a load or store with a register offset; x is 1 if it is an X register.
Printed index_register(const TokenContext& c, std::string& out, Letter<'x', 1> x, Letter<'m', 5> m);
/// The extension of the index register and, if `shifted`, its shift by `scale`. The default is a 64-bit index without
/// shift.
Printed append_index_extend(std::string& out, u32 option2, u32 option0, bool shifted, u32 scale);
/// eq, ne, cs ...
std::string_view condition_name(u32 condition);

}  // namespace myriarm::disassembly
