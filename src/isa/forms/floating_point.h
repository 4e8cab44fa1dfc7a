// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in floating_point.inc. Each returns false if the fields make the word undefined.
// SIMD&FP registers are plain 0 to 31; general registers go through source(), destination() and or_sp().
#pragma once

#include "isa/forms/fields.h"
#include "isa/forms/load_store.h"

namespace myriarm {

// Loads and stores of one SIMD&FP register, or a pair. The operands are those of the general registers' loads and
// stores, so that core/integer/load_store.h computes the addresses of both.

MYR_FN void fp_transfer_registers(u32 word, Operands& o) {
  o.rd = (u8)rd_field(word);
  o.rn = or_sp(rn_field(word));
}
/// log2 of the access size: opc<1> is above the size field, 4 is Q.
MYR_FN u32 fp_size_field(u32 word) { return field(word, 23, 1) << 2 | field(word, 30, 2); }

/// imm: bytes from this instruction.
MYR_FN bool decode_FpLoadLiteral(u32 word, Operands& o) {
  o.rd = (u8)rd_field(word);
  o.imm = (u64)(i64)(signed_field(word, 5, 19) * 4);
  return true;
}
/// ra: Rt2, imm: bytes. opc, bits 31:30, is 0 for S, 1 for D, 2 for Q.
MYR_FN bool decode_FpPair(u32 word, Operands& o) {
  fp_transfer_registers(word, o);
  o.ra = (u8)ra_field(word);
  o.imm = (u64)((i64)signed_field(word, 15, 7) * (4 << field(word, 30, 2)));
  return true;
}
/// imm: imm9. Unscaled, pre- and post-indexed.
MYR_FN bool decode_FpUnscaled(u32 word, Operands& o) {
  fp_transfer_registers(word, o);
  o.imm = (u64)(i64)signed_field(word, 12, 9);
  return true;
}
/// imm: imm12 scaled by the access size.
MYR_FN bool decode_FpUnsignedImm(u32 word, Operands& o) {
  fp_transfer_registers(word, o);
  o.imm = (u64)field(word, 10, 12) << fp_size_field(word);
  return true;
}
/// rm: the index, aux: as access_register has it.
MYR_FN bool decode_FpRegisterOffset(u32 word, Operands& o) {
  fp_transfer_registers(word, o);
  o.rm = source(rm_field(word));
  o.aux = index_aux(word, fp_size_field(word));
  return true;
}

// Registers alone: scalar floating point, and the AdvSIMD scalar and crypto rows with nothing else to decode.

MYR_FN bool decode_VdVn(u32 word, Operands& o) {
  o.rd = (u8)rd_field(word);
  o.rn = (u8)rn_field(word);
  return true;
}
MYR_FN bool decode_VdVnVm(u32 word, Operands& o) {
  o.rm = (u8)rm_field(word);
  return decode_VdVn(word, o);
}
MYR_FN bool decode_VdVnVmVa(u32 word, Operands& o) {
  o.ra = (u8)ra_field(word);
  return decode_VdVnVm(word, o);
}
MYR_FN bool decode_VnVm(u32 word, Operands& o) {
  o.rn = (u8)rn_field(word);
  o.rm = (u8)rm_field(word);
  return true;
}
/// Comparison with zero: the Rm field should be 0 and is ignored.
MYR_FN bool decode_VnZero(u32 word, Operands& o) {
  o.rn = (u8)rn_field(word);
  return true;
}

/// From a SIMD&FP register to a general one, and back.
MYR_FN bool decode_FpToGeneral(u32 word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.rn = (u8)rn_field(word);
  return true;
}
MYR_FN bool decode_GeneralToFp(u32 word, Operands& o) {
  o.rd = (u8)rd_field(word);
  o.rn = source(rn_field(word));
  return true;
}
/// imm: number of fraction bits, 64 - scale. The rows of 32-bit registers fix the highest bit of scale.
MYR_FN bool decode_FpToFixed64(u32 word, Operands& o) {
  o.imm = 64 - field(word, 10, 6);
  return decode_FpToGeneral(word, o);
}
MYR_FN bool decode_FpToFixed32(u32 word, Operands& o) { return decode_FpToFixed64(word, o); }
MYR_FN bool decode_FixedToFp64(u32 word, Operands& o) {
  o.imm = 64 - field(word, 10, 6);
  return decode_GeneralToFp(word, o);
}
MYR_FN bool decode_FixedToFp32(u32 word, Operands& o) { return decode_FixedToFp64(word, o); }

/// VFPExpandImm() of the manual: the bits of a 16-, 32- or 64-bit floating-point number.
MYR_FN u64 expand_fp_imm(u32 imm8, u32 bits) {
  u32 exponent_bits = bits == 16 ? 5 : bits == 32 ? 8 : 11;
  u32 fraction_bits = bits - exponent_bits - 1;
  u64 sign = imm8 >> 7, b = (imm8 >> 6) & 1, cd = (imm8 >> 4) & 3, efgh = imm8 & 15;
  u64 repeated = b ? ((u64)1 << (exponent_bits - 3)) - 1 : 0;
  u64 exponent = (b ^ 1) << (exponent_bits - 1) | repeated << 2 | cd;
  return sign << (bits - 1) | exponent << fraction_bits | efgh << (fraction_bits - 4);
}
/// imm: the bits of the number. ptype, bits 23:22, is 0 for S, 1 for D, 3 for H.
MYR_FN bool decode_FpImm(u32 word, Operands& o) {
  u32 ptype = field(word, 22, 2);
  o.rd = (u8)rd_field(word);
  o.imm = expand_fp_imm(field(word, 13, 8), ptype == 3 ? 16 : 32u << ptype);
  return true;
}

/// aux: the condition, offset: the flags if it does not hold, as 4 bits.
MYR_FN bool decode_FpConditionalCompare(u32 word, Operands& o) {
  o.aux = field(word, 12, 4);
  o.offset = (i32)field(word, 0, 4);
  return decode_VnVm(word, o);
}
/// aux: the condition.
MYR_FN bool decode_FpConditionalSelect(u32 word, Operands& o) {
  o.aux = field(word, 12, 4);
  return decode_VdVnVm(word, o);
}

}  // namespace myriarm
