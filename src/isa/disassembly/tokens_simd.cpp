// SPDX-License-Identifier: Apache-2.0
// The functions that print tokens of scalar floating point, AdvSIMD and crypto; see tokens.h. Most read the arrangement
// that the form's function has stored in aux (forms/simd.h), because the size fields are in different bits in each
// group.
#include <cstdio>

#include "isa/disassembly/tokens.h"
#include "isa/forms/simd.h"

namespace myriarm::disassembly {
namespace {

constexpr char kSizeLetters[] = {'b', 'h', 's', 'd', 'q'};

u32 element_size(const TokenContext& c) { return c.operands.aux & 3; }

/// 16b, 4h ...: elements of 1 << size bytes in a register of this width.
Printed arrangement(std::string& out, u32 size, u32 bytes) {
  append_decimal(out, bytes >> size);
  out += kSizeLetters[size];
  return Printed::given;
}
u32 width(const TokenContext& c) { return c.operands.aux & kArrangementQ ? 16 : 8; }

// Vectors: <T>. In instructions that widen or narrow elements, <Tb> is for the narrow ones and <Ta> for the wide ones.

Printed same(const TokenContext& c, std::string& out) { return arrangement(out, element_size(c), width(c)); }
Printed wide(const TokenContext& c, std::string& out) { return arrangement(out, element_size(c) + 1, 16); }
Printed wide_pairs(const TokenContext& c, std::string& out) { return arrangement(out, element_size(c) + 1, width(c)); }
Printed bytes(const TokenContext&, std::string& out, Letter<'q', 1> q) { return arrangement(out, 0, 8 << q); }
Printed half_the_halves(const TokenContext&, std::string& out, Letter<'q', 1> q) { return arrangement(out, 1, 4 << q); }
Printed one_pair(const TokenContext& c, std::string& out) {
  return arrangement(out, element_size(c), 2u << element_size(c));
}
Printed halves(const TokenContext&, std::string& out, Letter<'q', 1> q) { return arrangement(out, 1, 8 << q); }
Printed words(const TokenContext&, std::string& out, Letter<'q', 1> q) { return arrangement(out, 2, 8 << q); }

// One element, and scalars: <V><d>.

Printed size_letter(const TokenContext& c, std::string& out) {
  out += kSizeLetters[element_size(c)];
  return Printed::given;
}
Printed wide_letter(const TokenContext& c, std::string& out) {
  out += kSizeLetters[element_size(c) + 1];
  return Printed::given;
}
Printed number_d(const TokenContext& c, std::string& out) {
  append_decimal(out, c.operands.rd);
  return Printed::given;
}
Printed number_n(const TokenContext& c, std::string& out) {
  append_decimal(out, c.operands.rn);
  return Printed::given;
}
Printed number_m(const TokenContext& c, std::string& out) {
  append_decimal(out, c.operands.rm);
  return Printed::given;
}

/// Vm as the form decoded it: a bit M that is part of the index is not part of the register number.
Printed vector_m(const TokenContext& c, std::string& out) {
  out += 'v';
  return number_m(c, out);
}

/// <Va> of crypto rows, a register. (In other rows it is the letter of the wide scalar.)
Printed vector_a(const TokenContext& c, std::string& out) {
  out += 'v';
  append_decimal(out, c.operands.ra);
  return Printed::given;
}

/// <R><n>: X for doublewords, else W.
Printed general_letter(const TokenContext& c, std::string& out) {
  out += element_size(c) == 3 ? 'x' : 'w';
  return Printed::given;
}
Printed general_number(const TokenContext&, std::string& out, Letter<'n', 5> number) {
  if (number == 31) {
    out += "zr";
  } else {
    append_decimal(out, number);
  }
  return Printed::given;
}

/// A list of registers: the token Vt.b-Vt3.b is three registers from Vt on. Three or more are printed as a range,
/// unless V0 follows V31 in it.
Printed register_list(const TokenContext& c, std::string& out, u32 first) {
  std::string element;
  std::string_view suffix = c.token.substr(c.token.rfind('.') + 1);
  element += '.';
  if (suffix == "T") {
    same(c, element);
  } else {
    element += suffix;
  }
  u32 count = static_cast<u32>(c.token[c.token.rfind('.') - 1] - '0');
  bool is_range = count > 2 && first + count <= 32;
  for (u32 i = 0; i < count; i += is_range ? count - 1 : 1) {
    if (i != 0) out += is_range ? "-" : ", ";
    out += 'v';
    append_decimal(out, (first + i) % 32);
    out += element;
  }
  return Printed::given;
}
Printed list_from_t(const TokenContext& c, std::string& out, Letter<'t', 5> t) { return register_list(c, out, t); }
Printed list_from_n(const TokenContext& c, std::string& out, Letter<'n', 5> n) { return register_list(c, out, n); }

// Indices.

Printed offset_number(const TokenContext& c, std::string& out) {
  append_decimal(out, c.operands.offset);
  return Printed::given;
}
Printed aux_number(const TokenContext& c, std::string& out) {
  append_decimal(out, c.operands.aux);
  return Printed::given;
}
Printed ra_number(const TokenContext& c, std::string& out) {
  append_decimal(out, c.operands.ra);
  return Printed::given;
}
Printed imm_number(const TokenContext& c, std::string& out) {
  append_decimal(out, static_cast<i64>(c.operands.imm));
  return given_if(c.operands.imm != 0);
}
Printed offset_hex(const TokenContext& c, std::string& out) {
  append_hex(out, static_cast<u64>(c.operands.offset));
  return Printed::given;
}

// Immediates.

/// SHLL shifts by the element size.
Printed whole_element(const TokenContext& c, std::string& out) {
  append_decimal(out, 8 << element_size(c));
  return Printed::given;
}
Printed rotation(const TokenContext& c, std::string& out) {
  append_decimal(out, c.operands.offset * 90);
  return Printed::given;
}
/// The 8-bit floating-point immediate as a number; all precisions can hold all of them.
Printed append_fp_immediate(std::string& out, u32 imm8) {
  char text[32];
  std::snprintf(text, sizeof text, "%.18e", bit_cast<double>(expand_fp_imm(imm8, 64)));
  out += text;
  return Printed::given;
}
Printed fp_immediate(const TokenContext&, std::string& out, Letter<'i', 8> imm8) {
  return append_fp_immediate(out, imm8);
}
Printed vector_fp_immediate(const TokenContext&, std::string& out, Letter<'a', 3> a, Letter<'b', 5> b) {
  return append_fp_immediate(out, a << 5 | b);
}
Printed byte_immediate(const TokenContext&, std::string& out, Letter<'a', 3> a, Letter<'b', 5> b) {
  append_hex(out, a << 5 | b);
  return Printed::given;
}
Printed byte_shift(const TokenContext&, std::string& out, Letter<'c'> bytes) {
  append_decimal(out, bytes * 8);
  return given_if(bytes != 0);
}
Printed ones_shift(const TokenContext&, std::string& out, Letter<'c', 1> two) {
  append_decimal(out, two ? 16 : 8);
  return Printed::given;
}

// Addresses of loads and stores of one register.

Printed literal_label(const TokenContext& c, std::string& out) {
  append_hex(out, c.pc + c.operands.imm);
  return Printed::given;
}
Printed index_extend(const TokenContext&, std::string& out, Letter<'o', 1> o, Letter<'x', 1> x, Letter<'S', 1> shifted,
                     Fixed<kFixedAccessOpc1> opc1, Fixed<kFixedAccessSize> size) {
  return append_index_extend(out, o, x, shifted, opc1 << 2 | size);
}

constexpr Token kTokens[] = {
    token<same>("T"),
    token<one_pair>("T", Form::Scalar2Fp),
    token<bytes>("T", Form::VectorImm8),
    token<halves>("T", Form::VectorImm16),
    token<halves>("T", Form::VectorImmFp16),
    token<words>("T", Form::VectorImm32),
    token<words>("T", Form::VectorImmMsl),
    token<words>("T", Form::VectorImmFp32),
    token<wide>("Ta"),
    token<wide_pairs>("Ta", Form::Vector2Pairwise),
    token<same>("Ta", Form::VectorDot),
    token<same>("Ta", Form::VectorElementDot),
    token<same>("Ta", Form::VectorHalfToSingle),
    token<same>("Ta", Form::VectorElementHalfToSingle),
    token<same>("Tb"),
    token<bytes>("Tb", Form::VectorDot),
    token<bytes>("Tb", Form::VectorElementDot),
    token<half_the_halves>("Tb", Form::VectorHalfToSingle),
    token<half_the_halves>("Tb", Form::VectorElementHalfToSingle),
    token<size_letter>("Ts"),
    token<size_letter>("V"),
    token<size_letter>("Vb"),
    token<wide_letter>("Va"),
    token<vector_a>("Va", Form::VdVnVmVa),
    token<number_d>("d"),
    token<number_n>("n"),
    token<general_number>("n", Form::VectorDupGeneral),
    token<general_number>("n", Form::InsertGeneral),
    token<number_m>("m"),
    token<vector_m>("Vm"),
    token<general_letter>("R"),
    token<list_from_t>("Vt.T-Vt2.T"),
    token<list_from_t>("Vt.T-Vt3.T"),
    token<list_from_t>("Vt.T-Vt4.T"),
    token<list_from_t>("Vt.b-Vt2.b"),
    token<list_from_t>("Vt.b-Vt3.b"),
    token<list_from_t>("Vt.b-Vt4.b"),
    token<list_from_t>("Vt.h-Vt2.h"),
    token<list_from_t>("Vt.h-Vt3.h"),
    token<list_from_t>("Vt.h-Vt4.h"),
    token<list_from_t>("Vt.s-Vt2.s"),
    token<list_from_t>("Vt.s-Vt3.s"),
    token<list_from_t>("Vt.s-Vt4.s"),
    token<list_from_t>("Vt.d-Vt2.d"),
    token<list_from_t>("Vt.d-Vt3.d"),
    token<list_from_t>("Vt.d-Vt4.d"),
    token<list_from_n>("Vn.16b-Vn2.16b"),
    token<list_from_n>("Vn.16b-Vn3.16b"),
    token<list_from_n>("Vn.16b-Vn4.16b"),
    token<offset_number>("index"),
    token<aux_number>("index", Form::StructureLaneB),
    token<aux_number>("index", Form::StructureLaneH),
    token<aux_number>("index", Form::StructureLaneS),
    token<aux_number>("index", Form::StructureLaneD),
    token<aux_number>("index", Form::StructureLaneBPost),
    token<aux_number>("index", Form::StructureLaneHPost),
    token<aux_number>("index", Form::StructureLaneSPost),
    token<aux_number>("index", Form::StructureLaneDPost),
    token<ra_number>("index", Form::VectorElementComplexHalf),
    token<ra_number>("index", Form::VectorElementComplexSingle),
    token<imm_number>("index", Form::VdVnVmLane),
    token<offset_number>("index1"),
    token<ra_number>("index2"),
    token<offset_number>("bytes"),
    token<offset_number>("shift"),
    token<whole_element>("shift", Form::Vector2Bhs),
    token<offset_number>("fbits"),
    token<imm_number>("fbits", Form::FixedToFp32),
    token<imm_number>("fbits", Form::FixedToFp64),
    token<imm_number>("fbits", Form::FpToFixed32),
    token<imm_number>("fbits", Form::FpToFixed64),
    token<rotation>("rotate"),
    token<fp_immediate>("fpimm", Form::FpImm),
    token<vector_fp_immediate>("fpimm"),
    token<offset_hex>("nzcv"),
    token<imm_number>("imm6"),
    token<byte_immediate>("imm8"),
    token<byte_shift>("amount"),
    token<ones_shift>("amount", Form::VectorImmMsl),
    token<literal_label>("label"),
    token<index_register>("Rm"),
    token<index_extend>("extend"),
};

#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature) MYR_CHECK_SYNTAX(name, syntax, form)
#define UNDEFINED(name, bits, reason)
#include "isa/a64_crypto.inc"
#include "isa/a64_floating_point.inc"
#include "isa/a64_simd.inc"
#undef GROUP
#undef A64
#undef UNDEFINED

}  // namespace

std::span<const Token> simd_tokens() { return kTokens; }

}  // namespace myriarm::disassembly
