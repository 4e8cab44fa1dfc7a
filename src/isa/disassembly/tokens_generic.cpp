// SPDX-License-Identifier: Apache-2.0
// Token printers that mean the same in every family, and the helpers that all of them use.
#include <charconv>

#include "isa/disassembly/tokens.h"

namespace myriarm::disassembly {
namespace {

constexpr const char* kConditions[16] = {"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc",
                                         "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"};

/// The immediate as the operation uses it, in hexadecimal; what objdump does for most of them.
Printed imm(const TokenContext& c, std::string& out) {
  append_hex(out, c.operands.imm);
  return given_if(c.operands.imm != 0);
}

/// The same, signed and decimal: offsets of loads and stores.
Printed decimal_imm(const TokenContext& c, std::string& out) {
  append_decimal(out, static_cast<i64>(c.operands.imm));
  return given_if(c.operands.imm != 0);
}

/// A pc-relative target.
Printed label(const TokenContext& c, std::string& out) {
  append_hex(out, c.pc + static_cast<u64>(static_cast<i64>(c.operands.offset)));
  return Printed::given;
}

/// The condition of a conditional select or compare; B.cond has its own place for it.
Printed cond(const TokenContext& c, std::string& out) {
  out += kConditions[c.bits(12, 4)];
  return Printed::given;
}

constexpr Token kTokens[] = {
    {"imm", imm}, {"pimm", decimal_imm}, {"simm", decimal_imm}, {"label", label}, {"cond", cond},
};

}  // namespace

std::span<const Token> generic_tokens() { return kTokens; }

std::string_view condition_name(u32 condition) { return kConditions[condition & 15]; }

void append_decimal(std::string& out, i64 value) { out += std::to_string(value); }

void append_hex(std::string& out, u64 value) {
  char text[16];
  auto end = std::to_chars(text, text + sizeof text, value, 16).ptr;
  out += "0x";
  out.append(text, end);
}

void append_signed_hex(std::string& out, i64 value) {
  if (value < 0) out += '-';
  append_hex(out, value < 0 ? 0 - static_cast<u64>(value) : static_cast<u64>(value));
}

void append_general_register(std::string& out, u32 width, u32 number, bool or_sp) {
  if (number == 31 && or_sp) {
    out += width == 64 ? "sp" : "wsp";
  } else if (number == 31) {
    out += width == 64 ? "xzr" : "wzr";
  } else {
    out += width == 64 ? 'x' : 'w';
    append_decimal(out, number);
  }
}

}  // namespace myriarm::disassembly
