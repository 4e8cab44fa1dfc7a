// SPDX-License-Identifier: Apache-2.0
// The disassembler: decodes a word, then prints the row's syntax. It parses each syntax string once, into a list of
// pieces; the functions that print tokens are in disassembly/, where syntax.h describes the syntax.
#include <array>
#include <cstdio>
#include <vector>

#include "isa/decoder.h"
#include "isa/disassembly/tokens.h"
#include "myriarm/isa.h"

namespace myriarm {
namespace disassembly {
namespace {

/// A piece of a row's syntax, and for a token the function that prints it.
struct Printer {
  Piece piece;
  const Token* token = nullptr;  // null: a register
  RegisterName reg = {};
};

void print_register(const RegisterName& reg, const TokenContext& c, std::string& out) {
  // The first register of a CASP pair is even, and its letter has only the upper four of the five bits.
  const u32 unit = 1u << (5 - find_field(kPictures[static_cast<u32>(c.row.form)], reg.letter).width);
  const u32 number = (c.letter(reg.letter) * unit + reg.add) & 31;
  if (reg.kind == 'X' || reg.kind == 'W') {
    append_general_register(out, reg.kind == 'X' ? 64 : 32, number, reg.or_sp);
  } else {
    out += static_cast<char>(reg.kind - 'A' + 'a');
    append_decimal(out, number);
  }
}

std::span<const Token> family_tokens(RowFamily family) {
  switch (family) {
    case RowFamily::data_processing: return data_processing_tokens();
    case RowFamily::branch_system: return branch_system_tokens();
    case RowFamily::load_store: return load_store_tokens();
    case RowFamily::floating_point:
    case RowFamily::simd:
    case RowFamily::crypto: return simd_tokens();
    case RowFamily::none: break;
  }
  return {};
}

std::vector<Printer> parse_syntax(const RowInfo& row) {
  std::vector<Printer> printers;
  std::string_view rest = row.syntax;
  while (!rest.empty()) {
    Printer& printer = printers.emplace_back(Printer{take_piece(rest)});
    if (printer.piece.kind != Piece::token) continue;
    printer.token = find_token_of_row(family_tokens(row.family), printer.piece.text, row.form);
    if (printer.token == nullptr) printer.reg = parse_register(printer.piece.text);
  }
  return printers;
}

/// The parsed syntax of every row; made at first use and never freed.
const std::array<std::vector<Printer>, kRowCount>& row_printers() {
  static const auto* made = [] {
    auto* all = new std::array<std::vector<Printer>, kRowCount>;
    for (u32 row = 1; row < kRowCount; row++) (*all)[row] = parse_syntax(kRowInfos[row]);
    return all;
  }();
  return *made;
}

std::string print(const std::vector<Printer>& printers, TokenContext context) {
  // An optional group is printed first, and removed at its end if all of its tokens have their default values.
  struct Group {
    size_t start;
    bool given;
  };
  constexpr u32 kDeepest = 4;
  Group groups[kDeepest] = {{0, true}};
  u32 depth = 0;
  std::string out;
  for (const Printer& printer : printers) {
    const Piece& piece = printer.piece;
    switch (piece.kind) {
      case Piece::literal: out += piece.text; break;
      case Piece::two:
        if (context.letter('q') != 0) out += '2';
        break;
      case Piece::token:
        context.token = piece.text;
        if (printer.token == nullptr) {
          print_register(printer.reg, context, out);
          groups[depth].given = true;
        } else if (printer.token->print(context, out) == Printed::given) {
          groups[depth].given = true;
        }
        break;
      case Piece::open:
        if (depth + 1 < kDeepest) groups[++depth] = {out.size(), false};
        break;
      case Piece::close:
        if (depth == 0) break;
        if (!groups[depth].given) out.resize(groups[depth].start);
        if (groups[depth].given) groups[depth - 1].given = true;
        depth--;
        break;
    }
  }
  if (out.ends_with(' ')) out.pop_back();  // before an optional group that was left out
  return out;
}

}  // namespace

}  // namespace disassembly

std::string disassemble(uint32_t word, uint64_t pc) {
  Operands operands = decode(decode_table(), word);
  if (operands.row == kRowUndefined) {
    char text[24];
    std::snprintf(text, sizeof text, ".inst 0x%08x", word);
    return text;
  }
  return disassembly::print(disassembly::row_printers()[operands.row],
                            {word, pc, operands, kRowInfos[operands.row], {}});
}

}  // namespace myriarm
