// SPDX-License-Identifier: Apache-2.0
// Token printers of loads and stores. tokens.h says how they are found.
#include "isa/disassembly/tokens.h"

namespace myriarm::disassembly {
Printed index_register(const TokenContext& c, std::string& out) {
  append_general_register(out, c.letter('x') ? 64 : 32, c.letter('m'), false);
  return Printed::given;
}

Printed append_index_extend(const TokenContext& c, u32 scale, std::string& out) {
  constexpr const char* kExtends[4] = {"uxtw", "lsl", "sxtw", "sxtx"};
  u32 extend = c.letter('o') << 1 | c.letter('x');
  bool shifted = c.letter('S') != 0;
  out += kExtends[extend];
  if (shifted) {
    out += " #";
    append_decimal(out, scale);
  }
  return given_if(extend != 1 || shifted);
}

namespace {

/// The scaled offset of a pair.
Printed pair_imm(const TokenContext& c, std::string& out) {
  append_decimal(out, static_cast<i64>(c.operands.imm));
  return given_if(c.operands.imm != 0);
}

/// The extension of an index; byte accesses have a shift of 0, which is printed if it is asked for.
Printed index_extend(const TokenContext& c, std::string& out) {
  return append_index_extend(c, c.row.bits.substr(0, 2) == "00" ? 0 : c.bits(30, 2), out);
}

/// pldl1keep ...; what has no name is a number.
Printed prefetch_operation(const TokenContext& c, std::string& out) {
  constexpr const char* kTypes[4] = {"pld", "pli", "pst", nullptr};
  constexpr const char* kTargets[4] = {"l1", "l2", "l3", nullptr};
  u32 operation = c.letter('p');
  const char* type = kTypes[operation >> 3];
  const char* target = kTargets[(operation >> 1) & 3];
  if (type == nullptr || target == nullptr) {
    out += operation < 16 ? "#0x0" : "#0x1";
    out += "0123456789abcdef"[operation & 15];
  } else {
    out.append(type).append(target).append((operation & 1) ? "strm" : "keep");
  }
  return Printed::given;
}

/// imm holds the offset of a literal.
Printed literal_label(const TokenContext& c, std::string& out) {
  append_hex(out, c.pc + c.operands.imm);
  return Printed::given;
}

constexpr Token kTokens[] = {
    {"imm", pair_imm},        {"Rm", index_register}, {"extend", index_extend}, {"prfop", prefetch_operation},
    {"label", literal_label},
};

}  // namespace

std::span<const Token> load_store_tokens() { return kTokens; }

}  // namespace myriarm::disassembly
