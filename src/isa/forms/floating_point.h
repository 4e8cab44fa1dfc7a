// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in floating_point.inc. Each returns false if the fields make the word undefined.
// Operands hold the numbers of SIMD&FP registers unchanged, and those of general registers as source(), destination()
// and or_sp() of fields.h convert them.
#pragma once

#include "isa/forms/fields.h"
#include "isa/forms/load_store.h"

namespace myriarm {

// Loads and stores of one SIMD&FP register, or a pair. The operands are those of the general registers' loads and
// stores, so that core/integer/load_store.h computes the addresses of both.

template <Form kForm>
MYR_FN void fp_transfer_registers(Word<kForm> word, Operands& o) {
  o.rd = (u8)rt_field(word);
  o.rn = or_sp(rn_field(word));
}
/// log2 of the access size, opc<1>:size; 4 is 16 bytes.
template <Form kForm>
MYR_FN u32 fp_access_size(Word<kForm> word) {
  return fixed<kFixedAccessOpc1>(word) << 2 | fixed<kFixedAccessSize>(word);
}

/// imm: bytes from this instruction.
MYR_FN bool decode_FpLoadLiteral(Word<Form::FpLoadLiteral> word, Operands& o) {
  o.rd = (u8)rt_field(word);
  o.imm = literal_offset(word);
  return true;
}
/// ra: Rt2, imm: bytes.
MYR_FN bool decode_FpPair(Word<Form::FpPair> word, Operands& o) {
  fp_transfer_registers(word, o);
  o.ra = (u8)rt2_field(word);
  o.imm = (u64)((i64)signed_field<'i', 7>(word) * (4 << fixed<kFixedPairOpc>(word)));
  return true;
}
/// imm: imm9, unscaled. Also for pre- and post-indexed accesses.
MYR_FN bool decode_FpUnscaled(Word<Form::FpUnscaled> word, Operands& o) {
  fp_transfer_registers(word, o);
  o.imm = signed_offset(word);
  return true;
}
/// imm: imm12 scaled by the access size.
MYR_FN bool decode_FpUnsignedImm(Word<Form::FpUnsignedImm> word, Operands& o) {
  fp_transfer_registers(word, o);
  o.imm = (u64)field<'i', 12>(word) << fp_access_size(word);
  return true;
}
/// rm: the index; aux: its shift and extension, as access_register() takes them.
MYR_FN bool decode_FpRegisterOffset(Word<Form::FpRegisterOffset> word, Operands& o) {
  fp_transfer_registers(word, o);
  index_operands(word, fp_access_size(word), o);
  return true;
}

// Only registers: scalar floating point, and the AdvSIMD scalar and crypto rows that have no other operands.

template <Form kForm>
MYR_FN bool vector_dn(Word<kForm> word, Operands& o) {
  o.rd = (u8)rd_field(word);
  o.rn = (u8)rn_field(word);
  return true;
}
template <Form kForm>
MYR_FN bool vector_dnm(Word<kForm> word, Operands& o) {
  o.rm = (u8)rm_field(word);
  return vector_dn(word, o);
}
template <Form kForm>
MYR_FN bool vector_nm(Word<kForm> word, Operands& o) {
  o.rn = (u8)rn_field(word);
  o.rm = (u8)rm_field(word);
  return true;
}
MYR_FN bool decode_VdVn(Word<Form::VdVn> word, Operands& o) { return vector_dn(word, o); }
MYR_FN bool decode_VdVnVm(Word<Form::VdVnVm> word, Operands& o) { return vector_dnm(word, o); }
MYR_FN bool decode_VdVnVmVa(Word<Form::VdVnVmVa> word, Operands& o) {
  o.ra = (u8)ra_field(word);
  return vector_dnm(word, o);
}
MYR_FN bool decode_VnVm(Word<Form::VnVm> word, Operands& o) { return vector_nm(word, o); }
/// Comparison with zero: the Rm field should be 0 and is ignored.
MYR_FN bool decode_VnZero(Word<Form::VnZero> word, Operands& o) {
  o.rn = (u8)rn_field(word);
  return true;
}

/// From a SIMD&FP register to a general one, and the reverse.
template <Form kForm>
MYR_FN bool vector_to_general(Word<kForm> word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.rn = (u8)rn_field(word);
  return true;
}
template <Form kForm>
MYR_FN bool general_to_vector(Word<kForm> word, Operands& o) {
  o.rd = (u8)rd_field(word);
  o.rn = source(rn_field(word));
  return true;
}
MYR_FN bool decode_FpToGeneral(Word<Form::FpToGeneral> word, Operands& o) { return vector_to_general(word, o); }
MYR_FN bool decode_GeneralToFp(Word<Form::GeneralToFp> word, Operands& o) { return general_to_vector(word, o); }

/// Number of fraction bits, 64 - scale. Rows of 32-bit registers fix the highest bit of scale at 1, and the letter is
/// the other bits.
template <Form kForm>
MYR_FN u32 fraction_bits(Word<kForm> word) {
  return (1u << field_width<'f'>(word)) - field<'f'>(word);
}
/// imm: fraction bits.
MYR_FN bool decode_FpToFixed64(Word<Form::FpToFixed64> word, Operands& o) {
  o.imm = fraction_bits(word);
  return vector_to_general(word, o);
}
MYR_FN bool decode_FpToFixed32(Word<Form::FpToFixed32> word, Operands& o) {
  o.imm = fraction_bits(word);
  return vector_to_general(word, o);
}
MYR_FN bool decode_FixedToFp64(Word<Form::FixedToFp64> word, Operands& o) {
  o.imm = fraction_bits(word);
  return general_to_vector(word, o);
}
MYR_FN bool decode_FixedToFp32(Word<Form::FixedToFp32> word, Operands& o) {
  o.imm = fraction_bits(word);
  return general_to_vector(word, o);
}

/// VFPExpandImm() of the manual: the bits of a 16-, 32- or 64-bit floating-point number.
MYR_FN u64 expand_fp_imm(u32 imm8, u32 bits) {
  u32 exponent_bits = bits == 16 ? 5 : bits == 32 ? 8 : 11;
  u32 fraction_bits = bits - exponent_bits - 1;
  u64 sign = imm8 >> 7, b = (imm8 >> 6) & 1, cd = (imm8 >> 4) & 3, efgh = imm8 & 15;
  u64 repeated = b ? ((u64)1 << (exponent_bits - 3)) - 1 : 0;
  u64 exponent = (b ^ 1) << (exponent_bits - 1) | repeated << 2 | cd;
  return sign << (bits - 1) | exponent << fraction_bits | efgh << (fraction_bits - 4);
}
/// imm: the bits of the number.
MYR_FN bool decode_FpImm(Word<Form::FpImm> word, Operands& o) {
  u32 ptype = fixed<kFixedPtype>(word);
  o.rd = (u8)rd_field(word);
  o.imm = expand_fp_imm(field<'i', 8>(word), ptype == 3 ? 16 : 32u << ptype);
  return true;
}

/// aux: the condition, offset: the flags if it does not hold, as 4 bits.
MYR_FN bool decode_FpConditionalCompare(Word<Form::FpConditionalCompare> word, Operands& o) {
  o.aux = field<'c', 4>(word);
  o.offset = (i32)field<'v', 4>(word);
  return vector_nm(word, o);
}
/// aux: the condition.
MYR_FN bool decode_FpConditionalSelect(Word<Form::FpConditionalSelect> word, Operands& o) {
  o.aux = field<'c', 4>(word);
  return vector_dnm(word, o);
}

}  // namespace myriarm
