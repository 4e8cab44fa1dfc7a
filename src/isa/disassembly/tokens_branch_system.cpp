// SPDX-License-Identifier: Apache-2.0
// The functions that print tokens of branches, exceptions and system instructions; see tokens.h.
#include <algorithm>

#include "core/system/id_registers.h"
#include "isa/disassembly/tokens.h"

namespace myriarm::disassembly {
namespace {

/// B.cond has its condition in the mnemonic, and 3:0.
Printed branch_condition(const TokenContext& c, std::string& out) {
  out += condition_name(c.operands.aux);
  return Printed::given;
}

/// TBZ, TBNZ: the bit number says how wide the register is printed.
Printed test_width(const TokenContext& c, std::string& out) {
  out += c.operands.aux < 32 ? 'w' : 'x';
  return Printed::given;
}
Printed test_number(const TokenContext&, std::string& out, Letter<'t', 5> number) {
  if (number == 31) {
    out += "zr";
  } else {
    append_decimal(out, number);
  }
  return Printed::given;
}
Printed test_bit(const TokenContext& c, std::string& out) {
  append_decimal(out, c.operands.aux);
  return Printed::given;
}

/// RET: x30 is the default.
Printed return_register(const TokenContext&, std::string& out, Letter<'n', 5> n) {
  append_general_register(out, 64, n, false);
  return given_if(n != kSlotLR);
}

/// The immediate of UDF, in decimal.
Printed decimal(const TokenContext& c, std::string& out) {
  append_decimal(out, static_cast<i64>(c.operands.imm));
  return Printed::given;
}

/// CLREX, ISB: 15 is the default.
Printed barrier_crm(const TokenContext& c, std::string& out) {
  append_hex(out, c.operands.imm);
  return given_if(c.operands.imm != 15);
}
/// DSB, DMB.
Printed barrier_option(const TokenContext& c, std::string& out) {
  constexpr const char* kOptions[16] = {"#0x00", "oshld", "oshst", "osh", "#0x04", "nshld", "nshst", "nsh",
                                        "#0x08", "ishld", "ishst", "ish", "#0x0c", "ld",    "st",    "sy"};
  out += kOptions[c.operands.imm & 15];
  return Printed::given;
}

// SYS, SYSL.
Printed op1(const TokenContext&, std::string& out, Letter<'p', 3> number) {
  append_decimal(out, number);
  return Printed::given;
}
Printed op2(const TokenContext&, std::string& out, Letter<'q', 3> number) {
  append_decimal(out, number);
  return Printed::given;
}
Printed crn(const TokenContext&, std::string& out, Letter<'n', 4> number) {
  out += 'C';
  append_decimal(out, number);
  return Printed::given;
}
Printed crm(const TokenContext&, std::string& out, Letter<'m', 4> number) {
  out += 'C';
  append_decimal(out, number);
  return Printed::given;
}
/// The register of SYS: 31, the default, is an operation without an operand.
Printed system_operand(const TokenContext&, std::string& out, Letter<'t', 5> t) {
  append_general_register(out, 64, t, false);
  return given_if(t != 31);
}

struct SystemRegister {
  u32 key;
  const char* name;
};
constexpr SystemRegister kSystemRegisters[] = {
#define SYSTEM_REGISTER(op0, op1, crn, crm, op2, name) {system_key(op0, op1, crn, crm, op2), name},
#include "isa/disassembly/system_registers.inc"
#undef SYSTEM_REGISTER
};
static_assert(std::is_sorted(std::begin(kSystemRegisters), std::end(kSystemRegisters),
                             [](const SystemRegister& a, const SystemRegister& b) { return a.key < b.key; }));

Printed system_register(const TokenContext& c, std::string& out) {
  u32 key = c.operands.aux;
  const SystemRegister* found = std::lower_bound(std::begin(kSystemRegisters), std::end(kSystemRegisters), key,
                                                 [](const SystemRegister& r, u32 k) { return r.key < k; });
  if (key == system_key(2, 3, 0, 5, 0) && c.row.form == Form::SystemRegisterRead) {
    out += "dbgdtrrx_el0";
  } else if (found != std::end(kSystemRegisters) && found->key == key) {
    out += found->name;
  } else {
    out += 's' + std::to_string(key >> 14) + '_' + std::to_string(key >> 11 & 7) + "_c" +
           std::to_string(key >> 7 & 15) + "_c" + std::to_string(key >> 3 & 15) + '_' + std::to_string(key & 7);
  }
  return Printed::given;
}

constexpr Token kTokens[] = {
    token<branch_condition>("cond", Form::BranchCond),
    token<test_width>("R"),
    token<test_number>("t"),
    token<test_bit>("imm", Form::TestBranch),
    token<return_register>("Xn", Form::Return),
    token<decimal>("imm", Form::Imm16Low),
    token<barrier_crm>("CRm"),
    token<barrier_option>("option"),
    token<op1>("op1"),
    token<op2>("op2"),
    token<crn>("Cn"),
    token<crm>("Cm"),
    token<system_operand>("Xt", Form::SystemOperation),
    token<system_register>("systemreg"),
};

#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature) MYR_CHECK_SYNTAX(name, syntax, form)
#define UNDEFINED(name, bits, reason)
#include "isa/a64_branch_system.inc"
#undef GROUP
#undef A64
#undef UNDEFINED

}  // namespace

std::span<const Token> branch_system_tokens() { return kTokens; }

}  // namespace myriarm::disassembly
