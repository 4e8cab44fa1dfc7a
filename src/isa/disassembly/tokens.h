// SPDX-License-Identifier: Apache-2.0
// How the disassembler turns the tokens of a row's syntax into text. For who adds instructions:
//
// The syntax string of a row is printed as it stands, except for
//   <token>      the text that the token's function appends; the token's name is what is between < and >
//   {...}        an optional group: left out if every token in it returns Printed::as_default; groups nest
//   {2}          "2" if bit 30 (Q) of the word is set
//   { ... }      with a space after "{": a register list; printed as {...} without the two spaces
// A token outside optional groups is always printed, whatever its function returns.
//
// A token is looked up by name: first among the row's family's tokens that name its form, then among the family's
// others, then the same among the generic ones (tokens_generic.cpp); what is in none of them and looks like a
// register is one: <Xd>, <Wt>, <Xn|SP>, <Wn|WSP>, <Dd>, <Qt2>, <Vm> ... where
//   d, t, t1 are bits 4:0, n 9:5, m and s 20:16, a and t2 14:10; X and W print xzr and wzr for 31, or sp and wsp
//   with |SP and |WSP; V prints v0; B H S D Q print b0 ... .
//   <X(t+1)>, <W(s+1)>: the register after it (of the pairs of CASP).
// A family's file is an array of Token; floating_point, simd and crypto rows share tokens_simd.cpp.
// A token that nobody knows is printed as <token>, and fails a unit test (see unknown_tokens()).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/operands.h"
#include "isa/row_info.h"

namespace myriarm::disassembly {

enum class Printed : bool { as_default, given };
/// What a token function returns: "this may be left out" where it stands in an optional group.
constexpr Printed given_if(bool given) { return given ? Printed::given : Printed::as_default; }

/// What a token function knows.
struct TokenContext {
  u32 word;
  u64 pc;
  const Operands& operands;  // as the row's form decoded them
  const RowInfo& row;
  std::string_view token;  // the name it was found by

  /// Bits [low + width - 1 : low] of the word.
  u32 bits(u32 low, u32 width) const { return (word >> low) & ((1u << width) - 1); }
  /// The field of a letter of the row's bit string, its parts joined, highest first; 0 if there is none.
  u32 letter(char name) const {
    u32 value = 0;
    for (u32 i = 0; i < 32; i++) {
      if (row.bits[i] == name) value = value << 1 | ((word >> (31 - i)) & 1);
    }
    return value;
  }
};

using TokenFunction = Printed (*)(const TokenContext& c, std::string& out);

struct Token {
  std::string_view name;
  TokenFunction print;
  Form form = Form::none;  // only in rows of this form; none: in all
};

std::span<const Token> generic_tokens();
std::span<const Token> data_processing_tokens();
std::span<const Token> branch_system_tokens();
std::span<const Token> load_store_tokens();
std::span<const Token> simd_tokens();

/// 12, -3
void append_decimal(std::string& out, i64 value);
/// 0xff; append_signed_hex: -0x10
void append_hex(std::string& out, u64 value);
void append_signed_hex(std::string& out, i64 value);
/// x3, wzr, sp: width 32 or 64; 31 is SP or the zero register.
void append_general_register(std::string& out, u32 width, u32 number, bool or_sp);

/// The index of a load or store with a register offset: letter x says how wide it is.
Printed index_register(const TokenContext& c, std::string& out);
/// Its extension and shift, `scale` where letter S asks for one; a plain 64-bit index needs neither.
Printed append_index_extend(const TokenContext& c, u32 scale, std::string& out);
/// eq, ne, cs ...
std::string_view condition_name(u32 condition);

/// "row: token" for each token of the table that no function prints; empty in a sound build.
std::vector<std::string> unknown_tokens();

}  // namespace myriarm::disassembly
