// SPDX-License-Identifier: Apache-2.0
// Reads the syntax column of a row, when the disassembler is compiled and when it runs. The rules of this column:
//
// The disassembler prints the syntax of a row unchanged, except for
//   <token>      the text that the token's function appends; the token's name is the text between < and >
//   {...}        an optional group: left out if every token in it returns Printed::as_default; groups nest
//   {2}          "2" if the letter q is 1
//   { ... }      with a space after "{": a register list; printed as {...} without the two spaces
// A token outside optional groups is always printed, whatever its function returns.
//
// The function of a token is looked up by its name: first among the tokens of the row's family for the row's form, then
// among the family's tokens for all forms, then in the same order among the generic tokens. Any other name must be that
// of a register: <Xd>, <Wt>, <Xn|SP>, <Wn|WSP>, <Dd>, <Qt2>, <Vm> ... Here d, n, m, a, s, t are letters of the form's
// picture, t1 is t and t2 is u. X and W print xzr and wzr for 31, with |SP and |WSP sp and wsp; V prints v0; B H S D Q
// print b0 ...
//   <X(t+1)>, <W(s+1)>: the second register of a pair of CASP.
// The build stops at a token that has no function, and at one whose function asks for a field that the form lacks.
#pragma once

#include <string_view>

#include "isa/forms/fields.h"

namespace myriarm::disassembly {

struct Piece {
  enum Kind : u8 { literal, token, open, close, two } kind;
  std::string_view text;  // the text of a literal, the name of a token
};

/// Removes the first piece of a syntax, which must not be empty, and returns it.
constexpr Piece take_piece(std::string_view& rest) {
  const auto take = [&rest](size_t size) {
    std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(taken.size());
    return taken;
  };
  if (rest.starts_with("{2}")) return {Piece::two, take(3)};
  if (rest.starts_with("{ ")) return {Piece::literal, take(2).substr(0, 1)};
  if (rest.starts_with(" }")) return {Piece::literal, take(2).substr(1)};
  if (rest[0] == '{') return {Piece::open, take(1)};
  if (rest[0] == '}') return {Piece::close, take(1)};
  const size_t closing = rest[0] == '<' ? rest.find('>') : std::string_view::npos;
  if (closing != std::string_view::npos) return {Piece::token, take(closing + 1).substr(1, closing - 1)};
  const char* text = rest.data();  // takes fewer constexpr steps than operator[]
  size_t end = 1;
  for (; end < rest.size(); end++) {
    const char c = text[end];
    if (c == '{' || c == '}' || c == '<' || (c == ' ' && end + 1 < rest.size() && text[end + 1] == '}')) break;
  }
  return {Piece::literal, take(end)};
}

struct RegisterName {
  char kind = 0;    // X W B H S D Q V; 0: not a register
  char letter = 0;  // the letter of the field that has its number
  u8 add = 0;       // 1 for the second register of a pair
  bool or_sp = false;
};

constexpr RegisterName parse_register(std::string_view name) {
  if (name.empty() || std::string_view("XWBHSDQV").find(name[0]) == std::string_view::npos) return {};
  RegisterName reg = {.kind = name[0]};
  name.remove_prefix(1);
  for (std::string_view suffix : {"|SP", "|WSP"}) {
    if (name.ends_with(suffix)) {
      reg.or_sp = true;
      name.remove_suffix(suffix.size());
    }
  }
  if (name.size() == 5 && name.starts_with('(') && name.ends_with("+1)")) {
    reg.add = 1;
    name = name.substr(1, 1);
  }
  if (name == "t1") name = "t";
  if (name == "t2") name = "u";
  if (name.size() != 1 || std::string_view("dnmastu").find(name[0]) == std::string_view::npos) return {};
  reg.letter = name[0];
  return reg;
}

}  // namespace myriarm::disassembly
