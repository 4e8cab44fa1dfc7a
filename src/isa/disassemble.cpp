// SPDX-License-Identifier: Apache-2.0
// The disassembler: decodes a word, then prints the row's syntax. Each syntax string is read once, into a list of
// pieces; the functions that print tokens are in disassembly/, and tokens.h describes the syntax.
#include <array>
#include <cstdio>
#include <optional>

#include "isa/decoder.h"
#include "isa/disassembly/tokens.h"
#include "myriarm/isa.h"

namespace myriarm {
namespace disassembly {
namespace {

struct RegisterToken {
  char kind;  // X W B H S D Q V
  u8 low;     // where the number is
  u8 add;     // 1 for the second of an implied pair
  bool or_sp;
};

struct Piece {
  enum Kind : u8 { literal, token, register_number, open, close, two } kind;
  std::string_view text;
  TokenFunction print = nullptr;
  RegisterToken reg = {};
};

std::optional<RegisterToken> parse_register(std::string_view name) {
  RegisterToken reg = {};
  if (name.empty() || std::string_view("XWBHSDQV").find(name[0]) == std::string_view::npos) return {};
  reg.kind = name[0];
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
  struct Place {
    std::string_view name;
    u8 low;
  };
  constexpr Place kPlaces[] = {{"d", 0}, {"t", 0}, {"t1", 0}, {"n", 5}, {"m", 16}, {"s", 16}, {"a", 10}, {"t2", 10}};
  for (const Place& place : kPlaces) {
    if (place.name == name) {
      reg.low = place.low;
      return reg;
    }
  }
  return {};
}

void print_register(const RegisterToken& reg, u32 word, std::string& out) {
  u32 number = (((word >> reg.low) & 31) + reg.add) & 31;
  if (reg.kind == 'X' || reg.kind == 'W') {
    append_general_register(out, reg.kind == 'X' ? 64 : 32, number, reg.or_sp);
  } else {
    out += static_cast<char>(reg.kind - 'A' + 'a');
    append_decimal(out, number);
  }
}

TokenFunction find_token(std::span<const Token> tokens, std::string_view name, Form form) {
  TokenFunction found = nullptr;
  for (const Token& token : tokens) {
    if (token.print == nullptr || token.name != name) continue;
    if (token.form == form) return token.print;
    if (token.form == Form::none && found == nullptr) found = token.print;
  }
  return found;
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

Piece token_piece(std::string_view name, const RowInfo& row) {
  Piece piece = {Piece::token, name};
  piece.print = find_token(family_tokens(row.family), name, row.form);
  if (piece.print == nullptr) piece.print = find_token(generic_tokens(), name, row.form);
  if (piece.print != nullptr) return piece;
  if (auto reg = parse_register(name)) return {Piece::register_number, name, nullptr, *reg};
  return piece;
}

std::vector<Piece> parse_syntax(const RowInfo& row) {
  std::vector<Piece> pieces;
  std::string_view rest = row.syntax;
  auto take = [&rest](size_t size) {
    std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(taken.size());
    return taken;
  };
  while (!rest.empty()) {
    if (rest.starts_with("{2}")) {
      pieces.push_back({Piece::two, take(3)});
    } else if (rest.starts_with("{ ")) {
      pieces.push_back({Piece::literal, "{"});
      take(2);
    } else if (rest.starts_with(" }")) {
      pieces.push_back({Piece::literal, "}"});
      take(2);
    } else if (rest[0] == '{') {
      pieces.push_back({Piece::open, take(1)});
    } else if (rest[0] == '}') {
      pieces.push_back({Piece::close, take(1)});
    } else if (rest[0] == '<' && rest.find('>') != std::string_view::npos) {
      std::string_view token = take(rest.find('>') + 1);
      pieces.push_back(token_piece(token.substr(1, token.size() - 2), row));
    } else {
      size_t end = 1;
      while (end < rest.size() && rest[end] != '{' && rest[end] != '}' && rest[end] != '<' &&
             !rest.substr(end).starts_with(" }")) {
        end++;
      }
      pieces.push_back({Piece::literal, take(end)});
    }
  }
  return pieces;
}

/// Every row's syntax, parsed; made at first use and never freed.
const std::array<std::vector<Piece>, kRowCount>& programs() {
  static const auto* made = [] {
    auto* all = new std::array<std::vector<Piece>, kRowCount>;
    for (u32 row = 1; row < kRowCount; row++) (*all)[row] = parse_syntax(kRowInfos[row]);
    return all;
  }();
  return *made;
}

std::string print(const std::vector<Piece>& pieces, TokenContext context) {
  // An optional group is printed as it comes and taken back at its end if nothing in it was worth saying.
  struct Group {
    size_t start;
    bool given;
  };
  constexpr u32 kDeepest = 4;
  Group groups[kDeepest] = {{0, true}};
  u32 depth = 0;
  std::string out;
  for (const Piece& piece : pieces) {
    switch (piece.kind) {
      case Piece::literal: out += piece.text; break;
      case Piece::two:
        if (context.word >> 30 & 1) out += '2';
        break;
      case Piece::register_number:
        print_register(piece.reg, context.word, out);
        groups[depth].given = true;
        break;
      case Piece::token:
        context.token = piece.text;
        if (piece.print == nullptr) {
          out.append("<").append(piece.text).append(">");
          groups[depth].given = true;
        } else if (piece.print(context, out) == Printed::given) {
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

std::vector<std::string> unknown_tokens() {
  std::vector<std::string> unknown;
  for (u32 row = 1; row < kRowCount; row++) {
    for (const Piece& piece : programs()[row]) {
      if (piece.kind == Piece::token && piece.print == nullptr) {
        unknown.push_back(std::string(kRowInfos[row].name) + ": " + std::string(piece.text));
      }
    }
  }
  return unknown;
}

}  // namespace disassembly

std::string disassemble(uint32_t word, uint64_t pc) {
  Operands operands = decode(decode_table(), word);
  if (operands.row == kRowUndefined) {
    char text[24];
    std::snprintf(text, sizeof text, ".inst 0x%08x", word);
    return text;
  }
  return disassembly::print(disassembly::programs()[operands.row], {word, pc, operands, kRowInfos[operands.row], {}});
}

}  // namespace myriarm
