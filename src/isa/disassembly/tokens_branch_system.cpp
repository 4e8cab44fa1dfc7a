// SPDX-License-Identifier: Apache-2.0
// Token printers of branches, exceptions and system instructions. tokens.h says how they are found.
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
Printed test_number(const TokenContext& c, std::string& out) {
  u32 number = c.letter('t');
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

/// RET: x30 goes without saying.
Printed return_register(const TokenContext& c, std::string& out) {
  append_general_register(out, 64, c.letter('n'), false);
  return given_if(c.letter('n') != kSlotLR);
}

/// UDF: decimal.
Printed decimal(const TokenContext& c, std::string& out) {
  append_decimal(out, static_cast<i64>(c.operands.imm));
  return Printed::given;
}

/// CLREX, ISB: 15 goes without saying.
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
Printed op1(const TokenContext& c, std::string& out) {
  append_decimal(out, c.letter('p'));
  return Printed::given;
}
Printed op2(const TokenContext& c, std::string& out) {
  append_decimal(out, c.letter('q'));
  return Printed::given;
}
Printed crn(const TokenContext& c, std::string& out) {
  out += 'C';
  append_decimal(out, c.letter('n'));
  return Printed::given;
}
Printed crm(const TokenContext& c, std::string& out) {
  out += 'C';
  append_decimal(out, c.letter('m'));
  return Printed::given;
}
/// SYS: an operation without an operand has 31 here.
Printed system_operand(const TokenContext& c, std::string& out) {
  append_general_register(out, 64, c.letter('t'), false);
  return given_if(c.letter('t') != 31);
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
    {"cond", branch_condition, Form::BranchCond},
    {"R", test_width},
    {"t", test_number},
    {"imm", test_bit, Form::TestBranch},
    {"Xn", return_register, Form::Return},
    {"imm", decimal, Form::Imm16Low},
    {"CRm", barrier_crm},
    {"option", barrier_option},
    {"op1", op1},
    {"op2", op2},
    {"Cn", crn},
    {"Cm", crm},
    {"Xt", system_operand, Form::SystemOperation},
    {"systemreg", system_register},
};

}  // namespace

std::span<const Token> branch_system_tokens() { return kTokens; }

}  // namespace myriarm::disassembly
