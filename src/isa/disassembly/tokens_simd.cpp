// SPDX-License-Identifier: Apache-2.0
// Token printers of scalar floating point, AdvSIMD and crypto. tokens.h says how they are found. Most read the
// arrangement that the decode form left in aux (forms/simd.h) instead of the size fields, which lie elsewhere
// in each group.
#include <cstdio>

#include "isa/disassembly/tokens.h"
#include "isa/forms/simd.h"

namespace myriarm::disassembly {
namespace {

constexpr char kSizeLetters[] = {'b', 'h', 's', 'd', 'q'};

u32 element_size(const TokenContext& c) { return c.operands.aux & 3; }
bool is_128_bits(const TokenContext& c) { return c.bits(30, 1) != 0; }

/// 16b, 4h ...: elements of 1 << size bytes in a register of this width.
Printed arrangement(std::string& out, u32 size, u32 bytes) {
  append_decimal(out, bytes >> size);
  out += kSizeLetters[size];
  return Printed::given;
}
u32 width(const TokenContext& c) { return is_128_bits(c) ? 16 : 8; }

// Vectors: <T>, and where elements get wider or narrower <Tb> for the narrow ones and <Ta> for the wide ones.

Printed same(const TokenContext& c, std::string& out) { return arrangement(out, element_size(c), width(c)); }
Printed wide(const TokenContext& c, std::string& out) { return arrangement(out, element_size(c) + 1, 16); }
Printed wide_pairs(const TokenContext& c, std::string& out) { return arrangement(out, element_size(c) + 1, width(c)); }
Printed bytes(const TokenContext& c, std::string& out) { return arrangement(out, 0, width(c)); }
Printed half_the_halves(const TokenContext& c, std::string& out) { return arrangement(out, 1, width(c) / 2); }
Printed one_pair(const TokenContext& c, std::string& out) {
  return arrangement(out, element_size(c), 2u << element_size(c));
}
Printed halves(const TokenContext& c, std::string& out) { return arrangement(out, 1, width(c)); }
Printed words(const TokenContext& c, std::string& out) { return arrangement(out, 2, width(c)); }

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

/// Vm as the form decoded it: where M is part of the index, it is not part of the register.
Printed vector_m(const TokenContext& c, std::string& out) {
  out += 'v';
  return number_m(c, out);
}

/// Registers of crypto rows; elsewhere <Va> is the letter of the wide scalar.
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
Printed general_number(const TokenContext& c, std::string& out) {
  if (c.bits(5, 5) == 31) {
    out += "zr";
  } else {
    append_decimal(out, c.bits(5, 5));
  }
  return Printed::given;
}

/// Vt.b-Vt3.b: the list of three registers from Vt. As a range from three on, unless it goes on with V0.
Printed register_list(const TokenContext& c, std::string& out) {
  std::string element;
  std::string_view suffix = c.token.substr(c.token.rfind('.') + 1);
  element += '.';
  if (suffix == "T") {
    same(c, element);
  } else {
    element += suffix;
  }
  u32 first = c.token[1] == 't' ? c.bits(0, 5) : c.bits(5, 5);
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
Printed fp_immediate(const TokenContext& c, std::string& out) {
  u32 imm8 = c.row.family == RowFamily::floating_point ? c.letter('i') : c.letter('a') << 5 | c.letter('b');
  char text[32];
  std::snprintf(text, sizeof text, "%.18e", bit_cast<double>(expand_fp_imm(imm8, 64)));
  out += text;
  return Printed::given;
}
Printed byte_immediate(const TokenContext& c, std::string& out) {
  append_hex(out, c.letter('a') << 5 | c.letter('b'));
  return Printed::given;
}
Printed byte_shift(const TokenContext& c, std::string& out) {
  append_decimal(out, c.letter('c') * 8);
  return given_if(c.letter('c') != 0);
}
Printed ones_shift(const TokenContext& c, std::string& out) {
  append_decimal(out, c.letter('c') ? 16 : 8);
  return Printed::given;
}

// Addresses of loads and stores of one register.

Printed literal_label(const TokenContext& c, std::string& out) {
  append_hex(out, c.pc + c.operands.imm);
  return Printed::given;
}
Printed index_extend(const TokenContext& c, std::string& out) {
  return append_index_extend(c, fp_size_field(c.word), out);
}

constexpr Token kTokens[] = {
    {"T", same},
    {"T", one_pair, Form::Scalar2Fp},
    {"T", bytes, Form::VectorImm8},
    {"T", halves, Form::VectorImm16},
    {"T", halves, Form::VectorImmFp16},
    {"T", words, Form::VectorImm32},
    {"T", words, Form::VectorImmMsl},
    {"T", words, Form::VectorImmFp32},
    {"Ta", wide},
    {"Ta", wide_pairs, Form::Vector2Pairwise},
    {"Ta", same, Form::VectorDot},
    {"Ta", same, Form::VectorElementDot},
    {"Ta", same, Form::VectorHalfToSingle},
    {"Ta", same, Form::VectorElementHalfToSingle},
    {"Tb", same},
    {"Tb", bytes, Form::VectorDot},
    {"Tb", bytes, Form::VectorElementDot},
    {"Tb", half_the_halves, Form::VectorHalfToSingle},
    {"Tb", half_the_halves, Form::VectorElementHalfToSingle},
    {"Ts", size_letter},
    {"V", size_letter},
    {"Vb", size_letter},
    {"Va", wide_letter},
    {"Va", vector_a, Form::VdVnVmVa},
    {"d", number_d},
    {"n", number_n},
    {"n", general_number, Form::VectorDupGeneral},
    {"n", general_number, Form::InsertGeneral},
    {"m", number_m},
    {"Vm", vector_m},
    {"R", general_letter},
    {"Vt.T-Vt2.T", register_list},
    {"Vt.T-Vt3.T", register_list},
    {"Vt.T-Vt4.T", register_list},
    {"Vt.b-Vt2.b", register_list},
    {"Vt.b-Vt3.b", register_list},
    {"Vt.b-Vt4.b", register_list},
    {"Vt.h-Vt2.h", register_list},
    {"Vt.h-Vt3.h", register_list},
    {"Vt.h-Vt4.h", register_list},
    {"Vt.s-Vt2.s", register_list},
    {"Vt.s-Vt3.s", register_list},
    {"Vt.s-Vt4.s", register_list},
    {"Vt.d-Vt2.d", register_list},
    {"Vt.d-Vt3.d", register_list},
    {"Vt.d-Vt4.d", register_list},
    {"Vn.16b-Vn2.16b", register_list},
    {"Vn.16b-Vn3.16b", register_list},
    {"Vn.16b-Vn4.16b", register_list},
    {"index", offset_number},
    {"index", aux_number, Form::StructureLaneB},
    {"index", aux_number, Form::StructureLaneH},
    {"index", aux_number, Form::StructureLaneS},
    {"index", aux_number, Form::StructureLaneD},
    {"index", aux_number, Form::StructureLaneBPost},
    {"index", aux_number, Form::StructureLaneHPost},
    {"index", aux_number, Form::StructureLaneSPost},
    {"index", aux_number, Form::StructureLaneDPost},
    {"index", ra_number, Form::VectorElementComplexHalf},
    {"index", ra_number, Form::VectorElementComplexSingle},
    {"index", imm_number, Form::VdVnVmLane},
    {"index1", offset_number},
    {"index2", ra_number},
    {"bytes", offset_number},
    {"shift", offset_number},
    {"shift", whole_element, Form::Vector2Bhs},
    {"fbits", offset_number},
    {"fbits", imm_number, Form::FixedToFp32},
    {"fbits", imm_number, Form::FixedToFp64},
    {"fbits", imm_number, Form::FpToFixed32},
    {"fbits", imm_number, Form::FpToFixed64},
    {"rotate", rotation},
    {"fpimm", fp_immediate},
    {"nzcv", offset_hex},
    {"imm6", imm_number},
    {"imm8", byte_immediate},
    {"amount", byte_shift},
    {"amount", ones_shift, Form::VectorImmMsl},
    {"label", literal_label},
    {"Rm", index_register},
    {"extend", index_extend},
};

}  // namespace

std::span<const Token> simd_tokens() { return kTokens; }

}  // namespace myriarm::disassembly
