// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in data_processing.inc. Each returns false if the fields make the word undefined.
#pragma once

#include "isa/forms/fields.h"

namespace myriarm {

/// offset: bytes from this instruction.
MYR_FN bool decode_Adr(u32 word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.offset = signed_field(word, 5, 19) * 4 + (i32)field(word, 29, 2);
  return true;
}
/// imm: bytes from the start of this instruction's 4 KiB.
MYR_FN bool decode_Adrp(u32 word, Operands& o) {
  decode_Adr(word, o);
  o.imm = (u64)(i64)o.offset << 12;
  return true;
}

/// imm: imm12, shifted by 12 if sh.
MYR_FN bool decode_AddSubImm(u32 word, Operands& o) {
  o.rd = or_sp(rd_field(word));
  o.rn = or_sp(rn_field(word));
  o.imm = (u64)field(word, 10, 12) << (field(word, 22, 1) ? 12 : 0);
  return true;
}
MYR_FN bool decode_AddSubImmFlags(u32 word, Operands& o) {
  decode_AddSubImm(word, o);
  o.rd = destination(rd_field(word));
  return true;
}

/// DecodeBitMasks() of the manual for logical immediates: a run of ones, rotated right by immr within an element
/// of 2, 4, ... 64 bits, and repeated. False: the fields name no mask.
MYR_FN bool decode_bit_mask(u32 n, u32 imms, u32 immr, u64& mask) {
  u32 size_bits = n << 6 | (~imms & 0x3F);
  if (size_bits < 2) return false;  // an element of one bit, or of none
  u32 element = 1u << (31 - count_leading_zeros32(size_bits));
  u32 ones = (imms & (element - 1)) + 1, rotation = immr & (element - 1);
  if (ones == element) return false;
  u64 run = ((u64)1 << ones) - 1;
  u64 rotated = rotation == 0 ? run : run >> rotation | run << (element - rotation);
  if (element < 64) rotated &= ((u64)1 << element) - 1;
  for (u32 width = element; width < 64; width *= 2) rotated |= rotated << width;
  mask = rotated;
  return true;
}

/// imm: the mask, of the width of the instruction.
MYR_FN bool decode_LogicalImm64(u32 word, Operands& o) {
  o.rd = or_sp(rd_field(word));
  o.rn = source(rn_field(word));
  u64 mask = 0;
  bool valid = decode_bit_mask(field(word, 22, 1), field(word, 10, 6), field(word, 16, 6), mask);
  o.imm = mask;
  return valid;
}
MYR_FN bool decode_LogicalImmFlags64(u32 word, Operands& o) {
  bool valid = decode_LogicalImm64(word, o);
  o.rd = destination(rd_field(word));
  return valid;
}
MYR_FN bool decode_LogicalImm32(u32 word, Operands& o) {
  bool valid = decode_LogicalImm64(word, o);
  o.imm = (u32)o.imm;
  return valid;
}
MYR_FN bool decode_LogicalImmFlags32(u32 word, Operands& o) {
  bool valid = decode_LogicalImmFlags64(word, o);
  o.imm = (u32)o.imm;
  return valid;
}

/// imm: what the register gets: imm16 shifted, inverted for MOVN, which is opc 00.
MYR_FN bool decode_MoveWide64(u32 word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.imm = (u64)field(word, 5, 16) << (field(word, 21, 2) * 16);
  if (field(word, 29, 2) == 0) o.imm = ~o.imm;
  return true;
}
MYR_FN bool decode_MoveWide32(u32 word, Operands& o) {
  decode_MoveWide64(word, o);
  o.imm = (u32)o.imm;
  return true;
}
/// rn: Rd as a source; offset: bit position, aux: imm16.
MYR_FN bool decode_MoveKeep64(u32 word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.rn = source(rd_field(word));
  o.offset = (i32)(field(word, 21, 2) * 16);
  o.aux = field(word, 5, 16);
  return true;
}
MYR_FN bool decode_MoveKeep32(u32 word, Operands& o) { return decode_MoveKeep64(word, o); }

/// offset: shift left by width - 1 - imms, aux: then right by immr more, modulo the width.
template <int kWidth>
MYR_FN bool decode_bitfield(u32 word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.rn = source(rn_field(word));
  u32 left = kWidth - 1 - field(word, 10, 6);
  o.offset = (i32)left;
  o.aux = (left + field(word, 16, 6)) & (kWidth - 1);
  return true;
}
MYR_FN bool decode_Bitfield32(u32 word, Operands& o) { return decode_bitfield<32>(word, o); }
MYR_FN bool decode_Bitfield64(u32 word, Operands& o) { return decode_bitfield<64>(word, o); }
/// ra: Rd as a source.
MYR_FN bool decode_BitfieldInsert32(u32 word, Operands& o) {
  o.ra = source(rd_field(word));
  return decode_bitfield<32>(word, o);
}
MYR_FN bool decode_BitfieldInsert64(u32 word, Operands& o) {
  o.ra = source(rd_field(word));
  return decode_bitfield<64>(word, o);
}

/// Rd, Rn and Rm, all of them where 31 is the zero register.
MYR_FN bool decode_TwoSources(u32 word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.rn = source(rn_field(word));
  o.rm = source(rm_field(word));
  return true;
}
MYR_FN bool decode_OneSource(u32 word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.rn = source(rn_field(word));
  return true;
}
MYR_FN bool decode_ThreeSources(u32 word, Operands& o) {
  o.ra = source(ra_field(word));
  return decode_TwoSources(word, o);
}
/// Bits 14:10 should be ones and are ignored.
MYR_FN bool decode_MultiplyHigh(u32 word, Operands& o) { return decode_TwoSources(word, o); }

/// imm: lsb.
MYR_FN bool decode_Extract64(u32 word, Operands& o) {
  o.imm = field(word, 10, 6);
  return decode_TwoSources(word, o);
}
MYR_FN bool decode_Extract32(u32 word, Operands& o) { return decode_Extract64(word, o); }

/// offset: kind of shift, aux: amount.
MYR_FN bool decode_LogicalShifted64(u32 word, Operands& o) {
  o.offset = (i32)field(word, 22, 2);
  o.aux = field(word, 10, 6);
  return decode_TwoSources(word, o);
}
MYR_FN bool decode_LogicalShifted32(u32 word, Operands& o) { return decode_LogicalShifted64(word, o); }
/// The same; additions do not rotate.
MYR_FN bool decode_AddSubShifted64(u32 word, Operands& o) { return decode_LogicalShifted64(word, o) && o.offset != 3; }
MYR_FN bool decode_AddSubShifted32(u32 word, Operands& o) { return decode_AddSubShifted64(word, o); }

/// aux: bits above the part of Rm that is extended; offset: imm3, plus 256 if the extension is signed.
MYR_FN bool decode_AddSubExtended(u32 word, Operands& o) {
  o.rd = or_sp(rd_field(word));
  o.rn = or_sp(rn_field(word));
  o.rm = source(rm_field(word));
  u32 option = field(word, 13, 3), amount = field(word, 10, 3);
  o.offset = (i32)(amount | (option >> 2) << 8);
  o.aux = 64 - (8u << (option & 3));
  return amount <= 4;
}
MYR_FN bool decode_AddSubExtendedFlags(u32 word, Operands& o) {
  bool valid = decode_AddSubExtended(word, o);
  o.rd = destination(rd_field(word));
  return valid;
}

/// offset: cond, aux: nzcv.
MYR_FN bool decode_CondCompareRegister(u32 word, Operands& o) {
  o.rn = source(rn_field(word));
  o.rm = source(rm_field(word));
  o.offset = (i32)field(word, 12, 4);
  o.aux = field(word, 0, 4);
  return true;
}
/// offset: cond, aux: nzcv in bits 3:0, imm5 above.
MYR_FN bool decode_CondCompareImm(u32 word, Operands& o) {
  o.rn = source(rn_field(word));
  o.offset = (i32)field(word, 12, 4);
  o.aux = field(word, 0, 4) | field(word, 16, 5) << 4;
  return true;
}
/// imm: cond.
MYR_FN bool decode_CondSelect(u32 word, Operands& o) {
  o.imm = field(word, 12, 4);
  return decode_TwoSources(word, o);
}

}  // namespace myriarm
