// SPDX-License-Identifier: Apache-2.0
// The functions that print tokens of data processing, immediate and register; see tokens.h.
#include "isa/disassembly/tokens.h"

namespace myriarm::disassembly {
namespace {

Printed page_label(const TokenContext& c, std::string& out) {
  append_hex(out, (c.pc & ~u64{0xFFF}) + c.operands.imm);
  return Printed::given;
}

/// ADD and SUB (immediate): the 12 bits without the shift, then the shift.
Printed imm12(const TokenContext&, std::string& out, Letter<'i', 12> imm) {
  append_hex(out, imm);
  return Printed::given;
}
Printed shift12(const TokenContext&, std::string& out, Letter<'s', 1> shifted) {
  out += shifted ? "lsl #12" : "lsl #0";
  return given_if(shifted);
}

/// MOVN, MOVZ, MOVK: the 16 bits without the shift, then the shift.
Printed imm16(const TokenContext&, std::string& out, Letter<'i', 16> imm) {
  append_hex(out, imm);
  return Printed::given;
}
Printed shift16(const TokenContext&, std::string& out, Letter<'h'> halves) {
  append_decimal(out, halves * 16);
  return given_if(halves != 0);
}

// Bitfields and EXTR: numbers in decimal.
Printed immr(const TokenContext&, std::string& out, Letter<'r'> number) {
  append_decimal(out, number);
  return Printed::given;
}
Printed imms(const TokenContext&, std::string& out, Letter<'s'> number) {
  append_decimal(out, number);
  return Printed::given;
}

/// The shift of a shifted register: lsl #0 is the default.
Printed shift(const TokenContext&, std::string& out, Letter<'h', 2> kind, Letter<'s'> amount) {
  constexpr const char* kShifts[4] = {"lsl #", "lsr #", "asr #", "ror #"};
  out += kShifts[kind];
  append_decimal(out, amount);
  return given_if(kind != 0 || amount != 0);
}

// An extended register: an X register only if all of its 64 bits are used.
Printed extended_register_width(const TokenContext&, std::string& out, Fixed<kFixedSf> sf, Letter<'o', 3> option) {
  out += sf && (option & 3) == 3 ? 'x' : 'w';
  return Printed::given;
}
Printed extended_register_number(const TokenContext&, std::string& out, Letter<'m', 5> number) {
  if (number == 31) {
    out += "zr";
  } else {
    append_decimal(out, number);
  }
  return Printed::given;
}
/// The extension. If SP is an operand, the one that changes nothing (UXTX, or UXTW for W registers) is printed as LSL,
/// and LSL without a shift is the default.
Printed extend(const TokenContext& c, std::string& out, Fixed<kFixedSf> sf, Letter<'o', 3> option,
               Letter<'s', 3> amount, Letter<'n', 5> n, Letter<'d', 5> d) {
  constexpr const char* kExtensions[8] = {"uxtb", "uxth", "uxtw", "uxtx", "sxtb", "sxth", "sxtw", "sxtx"};
  bool with_sp = n == 31 || (c.row.form == Form::AddSubExtended && d == 31);
  bool plain = with_sp && option == (sf ? 3u : 2u);
  out += plain ? "lsl" : kExtensions[option];
  if (amount != 0) {
    out += " #";
    append_decimal(out, amount);
  }
  return given_if(!plain || amount != 0);
}

/// The mask of RMIF, in decimal.
Printed flag_mask(const TokenContext&, std::string& out, Letter<'v', 4> flags) {
  append_decimal(out, flags);
  return Printed::given;
}

// Conditional compare.
Printed imm5(const TokenContext&, std::string& out, Letter<'i', 5> imm) {
  append_hex(out, imm);
  return Printed::given;
}
Printed nzcv(const TokenContext&, std::string& out, Letter<'v', 4> flags) {
  append_hex(out, flags);
  return Printed::given;
}

constexpr Token kTokens[] = {
    token<page_label>("label", Form::Adrp),
    token<imm12>("imm", Form::AddSubImm),
    token<imm12>("imm", Form::AddSubImmFlags),
    token<shift12>("shift", Form::AddSubImm),
    token<shift12>("shift", Form::AddSubImmFlags),
    token<imm16>("imm", Form::MoveWide32),
    token<imm16>("imm", Form::MoveWide64),
    token<imm16>("imm", Form::MoveKeep32),
    token<imm16>("imm", Form::MoveKeep64),
    token<shift16>("shift", Form::MoveWide32),
    token<shift16>("shift", Form::MoveWide64),
    token<shift16>("shift", Form::MoveKeep32),
    token<shift16>("shift", Form::MoveKeep64),
    token<immr>("immr"),
    token<imms>("imms"),
    token<imms>("lsb"),
    token<shift>("shift"),
    token<imms>("shift", Form::RotateIntoFlags),
    token<flag_mask>("mask"),
    token<extended_register_width>("R"),
    token<extended_register_number>("m"),
    token<extend>("extend"),
    token<imm5>("imm", Form::CondCompareImm),
    token<nzcv>("nzcv"),
};

#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature) MYR_CHECK_SYNTAX(name, syntax, form)
#define UNDEFINED(name, bits, reason)
#include "isa/a64_data_processing.inc"
#undef GROUP
#undef A64
#undef UNDEFINED

}  // namespace

std::span<const Token> data_processing_tokens() { return kTokens; }

}  // namespace myriarm::disassembly
