// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in data_processing.inc. Each returns false if the fields make the word undefined.
#pragma once

#include "isa/forms/fields.h"

namespace myriarm {

/// Rd and Rn, or Rd, Rn and Rm; register number 31 is the zero register.
template <Form kForm>
MYR_FN bool general_dn(Word<kForm> word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.rn = source(rn_field(word));
  return true;
}
template <Form kForm>
MYR_FN bool general_dnm(Word<kForm> word, Operands& o) {
  o.rm = source(rm_field(word));
  return general_dn(word, o);
}

/// immhi:immlo.
template <Form kForm>
MYR_FN i32 address_offset(Word<kForm> word) {
  return signed_field<'h'>(word) * 4 + (i32)field<'l', 2>(word);
}
/// offset: bytes from this instruction.
MYR_FN bool decode_Adr(Word<Form::Adr> word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.offset = address_offset(word);
  return true;
}
/// imm: bytes from the start of this instruction's 4 KiB.
MYR_FN bool decode_Adrp(Word<Form::Adrp> word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.imm = (u64)(i64)address_offset(word) << 12;
  return true;
}

/// imm12, shifted by 12 if sh.
template <Form kForm>
MYR_FN u64 shifted_imm12(Word<kForm> word) {
  return (u64)field<'i', 12>(word) << (field<'s', 1>(word) ? 12 : 0);
}
/// imm: imm12, shifted.
MYR_FN bool decode_AddSubImm(Word<Form::AddSubImm> word, Operands& o) {
  o.rd = or_sp(rd_field(word));
  o.rn = or_sp(rn_field(word));
  o.imm = shifted_imm12(word);
  return true;
}
MYR_FN bool decode_AddSubImmFlags(Word<Form::AddSubImmFlags> word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.rn = or_sp(rn_field(word));
  o.imm = shifted_imm12(word);
  return true;
}

/// DecodeBitMasks() of the manual for logical immediates: a run of ones, rotated right by immr within an element
/// of 2, 4, ... 64 bits, and repeated. Returns false if the fields describe no mask.
MYR_FN bool decode_bit_mask(u32 n, u32 imms, u32 immr, u64& mask) {
  u32 size_bits = n << 6 | (~imms & 0x3F);
  if (size_bits < 2) return false;  // elements have at least two bits
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

/// imm: the mask, of 64 bits (rows of 32 bits fix N at 0). rn: Rn.
template <Form kForm>
MYR_FN bool logical_imm(Word<kForm> word, u32 n, Operands& o) {
  o.rn = source(rn_field(word));
  u64 mask = 0;
  bool valid = decode_bit_mask(n, field<'s', 6>(word), field<'r', 6>(word), mask);
  o.imm = mask;
  return valid;
}
MYR_FN bool decode_LogicalImm64(Word<Form::LogicalImm64> word, Operands& o) {
  o.rd = or_sp(rd_field(word));
  return logical_imm(word, field<'N', 1>(word), o);
}
MYR_FN bool decode_LogicalImmFlags64(Word<Form::LogicalImmFlags64> word, Operands& o) {
  o.rd = destination(rd_field(word));
  return logical_imm(word, field<'N', 1>(word), o);
}
MYR_FN bool decode_LogicalImm32(Word<Form::LogicalImm32> word, Operands& o) {
  o.rd = or_sp(rd_field(word));
  bool valid = logical_imm(word, 0, o);
  o.imm = (u32)o.imm;
  return valid;
}
MYR_FN bool decode_LogicalImmFlags32(Word<Form::LogicalImmFlags32> word, Operands& o) {
  o.rd = destination(rd_field(word));
  bool valid = logical_imm(word, 0, o);
  o.imm = (u32)o.imm;
  return valid;
}

/// The value that the register gets: imm16 shifted, inverted for MOVN.
template <Form kForm>
MYR_FN u64 wide_imm(Word<kForm> word) {
  u64 imm = (u64)field<'i', 16>(word) << (field<'h'>(word) * 16);
  return fixed<kFixedMoveOpc>(word) == 0 ? ~imm : imm;
}
/// imm: the value that the register gets.
MYR_FN bool decode_MoveWide64(Word<Form::MoveWide64> word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.imm = wide_imm(word);
  return true;
}
MYR_FN bool decode_MoveWide32(Word<Form::MoveWide32> word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.imm = (u32)wide_imm(word);
  return true;
}
/// rn: Rd as a source; offset: bit position, aux: imm16.
template <Form kForm>
MYR_FN bool move_keep(Word<kForm> word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.rn = source(rd_field(word));
  o.offset = (i32)(field<'h'>(word) * 16);
  o.aux = field<'i', 16>(word);
  return true;
}
MYR_FN bool decode_MoveKeep64(Word<Form::MoveKeep64> word, Operands& o) { return move_keep(word, o); }
MYR_FN bool decode_MoveKeep32(Word<Form::MoveKeep32> word, Operands& o) { return move_keep(word, o); }

/// offset: the left shift, width - 1 - imms; aux: the right shift that follows it, (offset + immr) modulo the width.
template <int kWidth, Form kForm>
MYR_FN bool bitfield(Word<kForm> word, Operands& o) {
  u32 left = kWidth - 1 - field<'s'>(word);
  o.offset = (i32)left;
  o.aux = (left + field<'r'>(word)) & (kWidth - 1);
  return general_dn(word, o);
}
MYR_FN bool decode_Bitfield32(Word<Form::Bitfield32> word, Operands& o) { return bitfield<32>(word, o); }
MYR_FN bool decode_Bitfield64(Word<Form::Bitfield64> word, Operands& o) { return bitfield<64>(word, o); }
/// ra: Rd as a source.
MYR_FN bool decode_BitfieldInsert32(Word<Form::BitfieldInsert32> word, Operands& o) {
  o.ra = source(rd_field(word));
  return bitfield<32>(word, o);
}
MYR_FN bool decode_BitfieldInsert64(Word<Form::BitfieldInsert64> word, Operands& o) {
  o.ra = source(rd_field(word));
  return bitfield<64>(word, o);
}

MYR_FN bool decode_OneSource(Word<Form::OneSource> word, Operands& o) { return general_dn(word, o); }
MYR_FN bool decode_TwoSources(Word<Form::TwoSources> word, Operands& o) { return general_dnm(word, o); }
MYR_FN bool decode_ThreeSources(Word<Form::ThreeSources> word, Operands& o) {
  o.ra = source(ra_field(word));
  return general_dnm(word, o);
}
/// Bits 14:10 should be ones and are ignored.
MYR_FN bool decode_MultiplyHigh(Word<Form::MultiplyHigh> word, Operands& o) { return general_dnm(word, o); }

/// imm: lsb.
MYR_FN bool decode_Extract64(Word<Form::Extract64> word, Operands& o) {
  o.imm = field<'s'>(word);
  return general_dnm(word, o);
}
MYR_FN bool decode_Extract32(Word<Form::Extract32> word, Operands& o) {
  o.imm = field<'s'>(word);
  return general_dnm(word, o);
}

/// offset: kind of shift, aux: amount.
template <Form kForm>
MYR_FN bool shifted_register(Word<kForm> word, Operands& o) {
  o.offset = (i32)field<'h', 2>(word);
  o.aux = field<'s'>(word);
  return general_dnm(word, o);
}
MYR_FN bool decode_LogicalShifted64(Word<Form::LogicalShifted64> word, Operands& o) {
  return shifted_register(word, o);
}
MYR_FN bool decode_LogicalShifted32(Word<Form::LogicalShifted32> word, Operands& o) {
  return shifted_register(word, o);
}
/// The same, without rotations.
MYR_FN bool decode_AddSubShifted64(Word<Form::AddSubShifted64> word, Operands& o) {
  return shifted_register(word, o) && o.offset != 3;
}
MYR_FN bool decode_AddSubShifted32(Word<Form::AddSubShifted32> word, Operands& o) {
  return shifted_register(word, o) && o.offset != 3;
}

/// rn, rm; aux: the number of bits above the part of Rm that is extended; offset: imm3, plus 256 if the extension is
/// signed.
template <Form kForm>
MYR_FN bool extended_register(Word<kForm> word, Operands& o) {
  o.rn = or_sp(rn_field(word));
  o.rm = source(rm_field(word));
  u32 option = field<'o', 3>(word), amount = field<'s', 3>(word);
  o.offset = (i32)(amount | (option >> 2) << 8);
  o.aux = 64 - (8u << (option & 3));
  return amount <= 4;
}
MYR_FN bool decode_AddSubExtended(Word<Form::AddSubExtended> word, Operands& o) {
  o.rd = or_sp(rd_field(word));
  return extended_register(word, o);
}
MYR_FN bool decode_AddSubExtendedFlags(Word<Form::AddSubExtendedFlags> word, Operands& o) {
  o.rd = destination(rd_field(word));
  return extended_register(word, o);
}

/// offset: the right rotation, in bits; aux: a mask of the flags in NZCV that are written.
MYR_FN bool decode_RotateIntoFlags(Word<Form::RotateIntoFlags> word, Operands& o) {
  o.rn = source(rn_field(word));
  o.offset = (i32)field<'s', 6>(word);
  o.aux = field<'v', 4>(word);
  return true;
}
/// rn: Rn.
MYR_FN bool decode_FlagsOfRegister(Word<Form::FlagsOfRegister> word, Operands& o) {
  o.rn = source(rn_field(word));
  return true;
}
/// offset: cond, aux: nzcv.
MYR_FN bool decode_CondCompareRegister(Word<Form::CondCompareRegister> word, Operands& o) {
  o.rn = source(rn_field(word));
  o.rm = source(rm_field(word));
  o.offset = (i32)field<'c', 4>(word);
  o.aux = field<'v', 4>(word);
  return true;
}
/// offset: cond, aux: nzcv in bits 3:0, imm5 in bits 8:4.
MYR_FN bool decode_CondCompareImm(Word<Form::CondCompareImm> word, Operands& o) {
  o.rn = source(rn_field(word));
  o.offset = (i32)field<'c', 4>(word);
  o.aux = joined<'i', 'v'>(word);
  return true;
}
/// imm: cond.
MYR_FN bool decode_CondSelect(Word<Form::CondSelect> word, Operands& o) {
  o.imm = field<'c', 4>(word);
  return general_dnm(word, o);
}

}  // namespace myriarm
