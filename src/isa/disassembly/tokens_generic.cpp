// SPDX-License-Identifier: Apache-2.0
// The functions that print tokens which have the same meaning in every family, and helpers of all families.
#include <charconv>

#include "isa/disassembly/tokens.h"

namespace myriarm::disassembly {
namespace {

constexpr const char* kConditions[16] = {"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc",
                                         "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"};

}  // namespace

/// The immediate that the operation uses, in hexadecimal, as objdump prints most immediates.
Printed hex_imm(const TokenContext& c, std::string& out) {
  append_hex(out, c.operands.imm);
  return given_if(c.operands.imm != 0);
}

/// The same in signed decimal: offsets of loads and stores.
Printed decimal_imm(const TokenContext& c, std::string& out) {
  append_decimal(out, static_cast<i64>(c.operands.imm));
  return given_if(c.operands.imm != 0);
}

/// A pc-relative target.
Printed label(const TokenContext& c, std::string& out) {
  append_hex(out, c.pc + static_cast<u64>(static_cast<i64>(c.operands.offset)));
  return Printed::given;
}

/// The condition of a conditional select or compare. (B.cond has its condition in other bits.)
Printed condition(const TokenContext&, std::string& out, Letter<'c', 4> cond) {
  out += kConditions[cond];
  return Printed::given;
}

std::string_view condition_name(u32 condition) { return kConditions[condition & 15]; }

void append_decimal(std::string& out, i64 value) { out += std::to_string(value); }

void append_hex(std::string& out, u64 value) {
  char text[16];
  auto end = std::to_chars(text, text + sizeof text, value, 16).ptr;
  out += "0x";
  out.append(text, end);
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
