// SPDX-License-Identifier: Apache-2.0
// Reads the syntax column of a row, when the disassembler is built and when it runs. For who adds instructions:
//
// The syntax of a row is printed as it stands, except for
//   <token>      the text that the token's function appends; the token's name is what is between < and >
//   {...}        an optional group: left out if every token in it returns Printed::as_default; groups nest
//   {2}          "2" if the letter q is 1
//   { ... }      with a space after "{": a register list; printed as {...} without the two spaces
// A token outside optional groups is always printed, whatever its function returns.
//
// A token is looked up by name: first among the row's family's tokens that name its form, then among the family's
// others, then the same among the generic ones; what is in none of them and looks like a register is one: <Xd>, <Wt>,
// <Xn|SP>, <Wn|WSP>, <Dd>, <Qt2>, <Vm> ... where d, n, m, a, s, t are the letters of the form's picture, t1 is t and t2 is
// u; X and W print xzr and wzr for 31, or sp and wsp with |SP and |WSP; V prints v0; B H S D Q print b0 ... .
//   <X(t+1)>, <W(s+1)>: the register after it (of the pairs of CASP).
// The build stops at a token that nobody prints, and at one that asks for a field that the row's form does not have.
#pragma once

#include <string_view>

#include "isa/forms/fields.h"

namespace myriarm::disassembly {

struct Piece {
  enum Kind : u8 { literal, token, open, close, two } kind;
  std::string_view text;  // of a literal; of a token its name
};

/// Takes the next piece from the front of a syntax, which is not empty.
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
  const char* text = rest.data();  // the compiler counts the steps of every call
  size_t end = 1;
  for (; end < rest.size(); end++) {
    const char c = text[end];
    if (c == '{' || c == '}' || c == '<' || (c == ' ' && end + 1 < rest.size() && text[end + 1] == '}')) break;
  }
  return {Piece::literal, take(end)};
}

struct RegisterName {
  char kind = 0;    // X W B H S D Q V; 0: not a register
  char letter = 0;  // of its number
  u8 add = 0;       // 1 for the second of an implied pair
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
