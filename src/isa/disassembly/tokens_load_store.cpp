// SPDX-License-Identifier: Apache-2.0
// The functions that print tokens of loads and stores; see tokens.h.
#include "isa/disassembly/tokens.h"

namespace myriarm::disassembly {
Printed index_register(const TokenContext&, std::string& out, Letter<'x', 1> x, Letter<'m', 5> m) {
  append_general_register(out, x ? 64 : 32, m, false);
  return Printed::given;
}

Printed append_index_extend(std::string& out, u32 option2, u32 option0, bool shifted, u32 scale) {
  constexpr const char* kExtends[4] = {"uxtw", "lsl", "sxtw", "sxtx"};
  u32 extend = option2 << 1 | option0;
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

/// The extension of an index. S asks for a shift; that of byte accesses is 0, which is then printed.
Printed index_extend(const TokenContext&, std::string& out, Letter<'o', 1> o, Letter<'x', 1> x, Letter<'S', 1> shifted,
                     Fixed<kFixedAccessSize> size) {
  return append_index_extend(out, o, x, shifted, size);
}

/// pldl1keep ...; an operation without a name is printed as a number.
Printed prefetch_operation(const TokenContext&, std::string& out, Letter<'p', 5> operation) {
  constexpr const char* kTypes[4] = {"pld", "pli", "pst", nullptr};
  constexpr const char* kTargets[4] = {"l1", "l2", "l3", nullptr};
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

/// The address of a literal, whose offset is in imm.
Printed literal_label(const TokenContext& c, std::string& out) {
  append_hex(out, c.pc + c.operands.imm);
  return Printed::given;
}

constexpr Token kTokens[] = {
    token<pair_imm>("imm"),        token<index_register>("Rm"),
    token<index_extend>("extend"), token<prefetch_operation>("prfop"),
    token<literal_label>("label"),
};

#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature) MYR_CHECK_SYNTAX(name, syntax, form)
#define UNDEFINED(name, bits, reason)
#include "isa/a64_load_store.inc"
#undef GROUP
#undef A64
#undef UNDEFINED

}  // namespace

std::span<const Token> load_store_tokens() { return kTokens; }

}  // namespace myriarm::disassembly
