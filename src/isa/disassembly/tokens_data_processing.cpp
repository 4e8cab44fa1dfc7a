// SPDX-License-Identifier: Apache-2.0
// Token printers of data processing, immediate and register. tokens.h says how they are found.
#include "isa/disassembly/tokens.h"

namespace myriarm::disassembly {
namespace {

Printed page_label(const TokenContext& c, std::string& out) {
  append_hex(out, (c.pc & ~u64{0xFFF}) + c.operands.imm);
  return Printed::given;
}

/// ADD and SUB (immediate): the 12 bits as they are, the shift beside them.
Printed imm12(const TokenContext& c, std::string& out) {
  append_hex(out, c.letter('i'));
  return Printed::given;
}
Printed shift12(const TokenContext& c, std::string& out) {
  bool shifted = c.letter('s') != 0;
  out += shifted ? "lsl #12" : "lsl #0";
  return given_if(shifted);
}

/// MOVN, MOVZ, MOVK: the 16 bits as they are, the shift beside them.
Printed imm16(const TokenContext& c, std::string& out) {
  append_hex(out, c.letter('i'));
  return Printed::given;
}
Printed shift16(const TokenContext& c, std::string& out) {
  append_decimal(out, c.letter('h') * 16);
  return given_if(c.letter('h') != 0);
}

// Bitfields and EXTR: decimal.
Printed immr(const TokenContext& c, std::string& out) {
  append_decimal(out, c.letter('r'));
  return Printed::given;
}
Printed imms(const TokenContext& c, std::string& out) {
  append_decimal(out, c.letter('s'));
  return Printed::given;
}

/// The shift of a shifted register: lsl #0 goes without saying.
Printed shift(const TokenContext& c, std::string& out) {
  constexpr const char* kShifts[4] = {"lsl #", "lsr #", "asr #", "ror #"};
  out += kShifts[c.letter('h')];
  append_decimal(out, c.letter('s'));
  return given_if(c.letter('h') != 0 || c.letter('s') != 0);
}

// An extended register: X only where all 64 bits are used.
u32 extended_width(const TokenContext& c) { return c.bits(31, 1) && (c.letter('o') & 3) == 3 ? 64 : 32; }
Printed extended_register_width(const TokenContext& c, std::string& out) {
  out += extended_width(c) == 64 ? 'x' : 'w';
  return Printed::given;
}
Printed extended_register_number(const TokenContext& c, std::string& out) {
  u32 number = c.letter('m');
  if (number == 31) {
    out += "zr";
  } else {
    append_decimal(out, number);
  }
  return Printed::given;
}
/// The one that changes nothing is called LSL where SP is an operand, and goes without saying if it does not shift.
Printed extend(const TokenContext& c, std::string& out) {
  constexpr const char* kExtensions[8] = {"uxtb", "uxth", "uxtw", "uxtx", "sxtb", "sxth", "sxtw", "sxtx"};
  u32 option = c.letter('o'), amount = c.letter('s');
  bool with_sp = c.letter('n') == 31 || (c.row.form == Form::AddSubExtended && c.letter('d') == 31);
  bool plain = with_sp && option == (c.bits(31, 1) ? 3u : 2u);
  out += plain ? "lsl" : kExtensions[option];
  if (amount != 0) {
    out += " #";
    append_decimal(out, amount);
  }
  return given_if(!plain || amount != 0);
}

// Conditional compare.
Printed imm5(const TokenContext& c, std::string& out) {
  append_hex(out, c.letter('i'));
  return Printed::given;
}
Printed nzcv(const TokenContext& c, std::string& out) {
  append_hex(out, c.letter('v'));
  return Printed::given;
}

constexpr Token kTokens[] = {
    {"label", page_label, Form::Adrp},
    {"imm", imm12, Form::AddSubImm},
    {"imm", imm12, Form::AddSubImmFlags},
    {"shift", shift12, Form::AddSubImm},
    {"shift", shift12, Form::AddSubImmFlags},
    {"imm", imm16, Form::MoveWide32},
    {"imm", imm16, Form::MoveWide64},
    {"imm", imm16, Form::MoveKeep32},
    {"imm", imm16, Form::MoveKeep64},
    {"shift", shift16, Form::MoveWide32},
    {"shift", shift16, Form::MoveWide64},
    {"shift", shift16, Form::MoveKeep32},
    {"shift", shift16, Form::MoveKeep64},
    {"immr", immr},
    {"imms", imms},
    {"lsb", imms},
    {"shift", shift},
    {"R", extended_register_width},
    {"m", extended_register_number},
    {"extend", extend},
    {"imm", imm5, Form::CondCompareImm},
    {"nzcv", nzcv},
};

}  // namespace

std::span<const Token> data_processing_tokens() { return kTokens; }

}  // namespace myriarm::disassembly
