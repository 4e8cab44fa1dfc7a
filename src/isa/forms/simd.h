// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in simd.inc. Each returns false if the fields make the word undefined.
//
// aux is the arrangement: log2 of the element size in bytes, plus kArrangementQ for 128 bits; in scalar
// instructions just the size. Where elements get wider or narrower it is the narrower one's, as <Tb> of the manual,
// and kArrangementQ then is the "2" of the mnemonic. offset is the other number: an element index, a shift amount,
// a rotation. What differs is said at the form.
#pragma once

#include "isa/forms/fields.h"
#include "isa/forms/floating_point.h"

namespace myriarm {

constexpr u32 kArrangementQ = 4;

MYR_FN u32 q_field(u32 word) { return field(word, 30, 1); }
MYR_FN u32 size_field_simd(u32 word) { return field(word, 22, 2); }
/// Floating point: sz is 0 for single and 1 for double precision.
MYR_FN u32 fp_element_size(u32 word) { return 2 + field(word, 22, 1); }

/// Sets aux. False for one doubleword element in 64 bits, which is reserved in all but a few instructions.
MYR_FN bool arrange(u32 word, Operands& o, u32 size) {
  o.aux = size | (q_field(word) ? kArrangementQ : 0);
  return o.aux != 3;
}

// Three registers.

MYR_FN bool decode_Vector3(u32 word, Operands& o) {
  decode_VdVnVm(word, o);
  return arrange(word, o, size_field_simd(word));
}
/// Bytes, halfwords and words.
MYR_FN bool decode_Vector3Bhs(u32 word, Operands& o) {
  decode_VdVnVm(word, o);
  return arrange(word, o, size_field_simd(word)) && size_field_simd(word) != 3;
}
/// Halfwords and words.
MYR_FN bool decode_Vector3Hs(u32 word, Operands& o) { return decode_Vector3Bhs(word, o) && size_field_simd(word) != 0; }
MYR_FN bool decode_Vector3Bytes(u32 word, Operands& o) {
  decode_VdVnVm(word, o);
  return arrange(word, o, 0);
}
MYR_FN bool decode_Vector3Half(u32 word, Operands& o) {
  decode_VdVnVm(word, o);
  return arrange(word, o, 1);
}
/// PMULL and PMULL2 of doublewords.
MYR_FN bool decode_Vector3Doubles(u32 word, Operands& o) {
  decode_VdVnVm(word, o);
  arrange(word, o, 3);
  return true;
}
MYR_FN bool decode_Vector3Fp(u32 word, Operands& o) {
  decode_VdVnVm(word, o);
  return arrange(word, o, fp_element_size(word));
}
/// SDOT, UDOT. aux: that of the destination, words.
MYR_FN bool decode_VectorDot(u32 word, Operands& o) {
  decode_VdVnVm(word, o);
  return arrange(word, o, 2);
}
/// FMLAL and its like. aux: that of the destination, words.
MYR_FN bool decode_VectorHalfToSingle(u32 word, Operands& o) { return decode_VectorDot(word, o); }

/// offset: the rotation in quarters of a turn.
MYR_FN bool decode_VectorComplexHalf(u32 word, Operands& o) {
  o.offset = (i32)field(word, 11, 2);
  return decode_Vector3Half(word, o);
}
MYR_FN bool decode_VectorComplexFp(u32 word, Operands& o) {
  o.offset = (i32)field(word, 11, 2);
  return decode_Vector3Fp(word, o);
}
/// offset: 1 or 3 quarters of a turn.
MYR_FN bool decode_VectorComplexAddHalf(u32 word, Operands& o) {
  o.offset = field(word, 12, 1) ? 3 : 1;
  return decode_Vector3Half(word, o);
}
MYR_FN bool decode_VectorComplexAddFp(u32 word, Operands& o) {
  o.offset = field(word, 12, 1) ? 3 : 1;
  return decode_Vector3Fp(word, o);
}

MYR_FN bool decode_Scalar3(u32 word, Operands& o) {
  o.aux = size_field_simd(word);
  return decode_VdVnVm(word, o);
}
/// Doublewords, fixed by the row: a vector of one element.
MYR_FN bool decode_Scalar3Double(u32 word, Operands& o) {
  o.aux = 3;
  return decode_VdVnVm(word, o);
}
MYR_FN bool decode_Scalar3Hs(u32 word, Operands& o) {
  decode_Scalar3(word, o);
  return o.aux == 1 || o.aux == 2;
}
MYR_FN bool decode_Scalar3Fp(u32 word, Operands& o) {
  o.aux = fp_element_size(word);
  return decode_VdVnVm(word, o);
}

// Two registers.

MYR_FN bool decode_Vector2(u32 word, Operands& o) {
  decode_VdVn(word, o);
  return arrange(word, o, size_field_simd(word));
}
MYR_FN bool decode_Vector2Bhs(u32 word, Operands& o) { return decode_Vector2(word, o) && size_field_simd(word) != 3; }
MYR_FN bool decode_Vector2Bh(u32 word, Operands& o) { return decode_Vector2(word, o); }
/// Adjacent elements are added into wider ones: here kArrangementQ is the width of both registers.
MYR_FN bool decode_Vector2Pairwise(u32 word, Operands& o) { return decode_Vector2Bhs(word, o); }
MYR_FN bool decode_Vector2Bytes(u32 word, Operands& o) {
  decode_VdVn(word, o);
  return arrange(word, o, 0);
}
MYR_FN bool decode_Vector2Half(u32 word, Operands& o) {
  decode_VdVn(word, o);
  return arrange(word, o, 1);
}
MYR_FN bool decode_Vector2Words(u32 word, Operands& o) {
  decode_VdVn(word, o);
  return arrange(word, o, 2);
}
MYR_FN bool decode_Vector2Fp(u32 word, Operands& o) {
  decode_VdVn(word, o);
  return arrange(word, o, fp_element_size(word));
}
/// FCVTN, FCVTL: half and single, or single and double precision.
MYR_FN bool decode_Vector2FpLong(u32 word, Operands& o) {
  decode_VdVn(word, o);
  return arrange(word, o, fp_element_size(word) - 1);
}
/// Bytes, halfwords, or four words: two would be a pairwise operation.
MYR_FN bool decode_VectorAcross(u32 word, Operands& o) { return decode_Vector2Bhs(word, o) && o.aux != 2; }

MYR_FN bool decode_Scalar2(u32 word, Operands& o) {
  o.aux = size_field_simd(word);
  return decode_VdVn(word, o);
}
MYR_FN bool decode_Scalar2Double(u32 word, Operands& o) {
  o.aux = 3;
  return decode_VdVn(word, o);
}
MYR_FN bool decode_Scalar2Bhs(u32 word, Operands& o) { return decode_Scalar2(word, o) && o.aux != 3; }
MYR_FN bool decode_Scalar2Fp(u32 word, Operands& o) {
  o.aux = fp_element_size(word);
  return decode_VdVn(word, o);
}

// Shift by immediate. The position of the highest set bit of immh is the element size, the rows of vectors fix it.
// offset: the shift amount. Conversions from and to fixed point are shifts to the right by their fraction bits.

MYR_FN i32 shift_right_amount(u32 word, u32 size) { return (i32)((16u << size) - field(word, 16, 7)); }
MYR_FN i32 shift_left_amount(u32 word, u32 size) { return (i32)(field(word, 16, 7) - (8u << size)); }

MYR_FN bool vector_shift_right(u32 word, Operands& o, u32 size) {
  decode_VdVn(word, o);
  o.offset = shift_right_amount(word, size);
  return arrange(word, o, size);
}
MYR_FN bool decode_VectorShiftRightB(u32 word, Operands& o) { return vector_shift_right(word, o, 0); }
MYR_FN bool decode_VectorShiftRightH(u32 word, Operands& o) { return vector_shift_right(word, o, 1); }
MYR_FN bool decode_VectorShiftRightS(u32 word, Operands& o) { return vector_shift_right(word, o, 2); }
MYR_FN bool decode_VectorShiftRightD(u32 word, Operands& o) { return vector_shift_right(word, o, 3); }
MYR_FN bool decode_VectorShiftNarrowB(u32 word, Operands& o) { return vector_shift_right(word, o, 0); }
MYR_FN bool decode_VectorShiftNarrowH(u32 word, Operands& o) { return vector_shift_right(word, o, 1); }
MYR_FN bool decode_VectorShiftNarrowS(u32 word, Operands& o) { return vector_shift_right(word, o, 2); }

MYR_FN bool vector_shift_left(u32 word, Operands& o, u32 size) {
  decode_VdVn(word, o);
  o.offset = shift_left_amount(word, size);
  return arrange(word, o, size);
}
MYR_FN bool decode_VectorShiftLeftB(u32 word, Operands& o) { return vector_shift_left(word, o, 0); }
MYR_FN bool decode_VectorShiftLeftH(u32 word, Operands& o) { return vector_shift_left(word, o, 1); }
MYR_FN bool decode_VectorShiftLeftS(u32 word, Operands& o) { return vector_shift_left(word, o, 2); }
MYR_FN bool decode_VectorShiftLeftD(u32 word, Operands& o) { return vector_shift_left(word, o, 3); }
MYR_FN bool decode_VectorShiftLongB(u32 word, Operands& o) { return vector_shift_left(word, o, 0); }
MYR_FN bool decode_VectorShiftLongH(u32 word, Operands& o) { return vector_shift_left(word, o, 1); }
MYR_FN bool decode_VectorShiftLongS(u32 word, Operands& o) { return vector_shift_left(word, o, 2); }

/// log2 of the element size in bytes from immh, which is not 0.
MYR_FN u32 shift_element_size(u32 word) { return 31 - count_leading_zeros32(field(word, 19, 4)); }

MYR_FN bool scalar_shift_right(u32 word, Operands& o, u32 size) {
  o.aux = size;
  o.offset = shift_right_amount(word, size);
  return decode_VdVn(word, o);
}
MYR_FN bool decode_ScalarShiftRightD(u32 word, Operands& o) { return scalar_shift_right(word, o, 3); }
MYR_FN bool decode_ScalarFixedH(u32 word, Operands& o) { return scalar_shift_right(word, o, 1); }
MYR_FN bool decode_ScalarFixedS(u32 word, Operands& o) { return scalar_shift_right(word, o, 2); }
MYR_FN bool decode_ScalarShiftNarrow(u32 word, Operands& o) {
  return field(word, 19, 4) != 0 && scalar_shift_right(word, o, shift_element_size(word));
}
MYR_FN bool decode_ScalarShiftLeft(u32 word, Operands& o) {
  if (field(word, 19, 4) == 0) return false;
  o.aux = shift_element_size(word);
  o.offset = shift_left_amount(word, o.aux);
  return decode_VdVn(word, o);
}
MYR_FN bool decode_ScalarShiftLeftD(u32 word, Operands& o) { return decode_ScalarShiftLeft(word, o); }

// Indexed element of Vm. offset: the index; rm has 4 bits where M is part of the index.

/// index H:L:M, and a register of the lower 16.
MYR_FN void half_element(u32 word, Operands& o) {
  o.rm = (u8)field(word, 16, 4);
  o.offset = (i32)(field(word, 11, 1) << 2 | field(word, 20, 2));
}
/// index H:L.
MYR_FN void word_element(u32 word, Operands& o) { o.offset = (i32)(field(word, 11, 1) << 1 | field(word, 21, 1)); }
/// index H; L must be 0.
MYR_FN bool double_element(u32 word, Operands& o) {
  o.offset = (i32)field(word, 11, 1);
  return field(word, 21, 1) == 0;
}
/// Halfwords and words.
MYR_FN bool integer_element(u32 word, Operands& o) {
  decode_VdVnVm(word, o);
  if (size_field_simd(word) == 1) half_element(word, o);
  if (size_field_simd(word) == 2) word_element(word, o);
  return size_field_simd(word) == 1 || size_field_simd(word) == 2;
}
MYR_FN bool fp_element(u32 word, Operands& o) {
  decode_VdVnVm(word, o);
  if (fp_element_size(word) == 3) return double_element(word, o);
  word_element(word, o);
  return true;
}

MYR_FN bool decode_VectorElement(u32 word, Operands& o) {
  return integer_element(word, o) && arrange(word, o, size_field_simd(word));
}
MYR_FN bool decode_VectorElementFp(u32 word, Operands& o) {
  return fp_element(word, o) && arrange(word, o, fp_element_size(word));
}
MYR_FN bool decode_VectorElementHalf(u32 word, Operands& o) {
  decode_VdVn(word, o);
  half_element(word, o);
  return arrange(word, o, 1);
}
/// aux: that of the destination, words. index: of a group of four bytes.
MYR_FN bool decode_VectorElementDot(u32 word, Operands& o) {
  decode_VdVnVm(word, o);
  word_element(word, o);
  return arrange(word, o, 2);
}
/// aux: that of the destination, words. index: of a halfword.
MYR_FN bool decode_VectorElementHalfToSingle(u32 word, Operands& o) {
  decode_VdVn(word, o);
  half_element(word, o);
  return arrange(word, o, 2);
}
/// offset: the rotation in quarters of a turn; ra: the index of a complex number. Four halfwords hold but two.
MYR_FN bool decode_VectorElementComplexHalf(u32 word, Operands& o) {
  decode_VdVnVm(word, o);
  o.offset = (i32)field(word, 13, 2);
  o.ra = (u8)(field(word, 11, 1) << 1 | field(word, 21, 1));
  return arrange(word, o, 1) && (q_field(word) || o.ra < 2);
}
MYR_FN bool decode_VectorElementComplexSingle(u32 word, Operands& o) {
  decode_VdVnVm(word, o);
  o.offset = (i32)field(word, 13, 2);
  o.ra = (u8)field(word, 11, 1);
  return arrange(word, o, 2);
}
MYR_FN bool decode_ScalarElement(u32 word, Operands& o) {
  o.aux = size_field_simd(word);
  return integer_element(word, o);
}
MYR_FN bool decode_ScalarElementHalf(u32 word, Operands& o) {
  decode_VdVn(word, o);
  half_element(word, o);
  o.aux = 1;
  return true;
}
MYR_FN bool decode_ScalarElementFp(u32 word, Operands& o) {
  o.aux = fp_element_size(word);
  return fp_element(word, o);
}

// Copies. The lowest set bit of imm5 is the element size, what is above it the index, which goes to offset.

/// False if imm5 has no size.
MYR_FN bool copy_element(u32 word, Operands& o) {
  u32 imm5 = field(word, 16, 5);
  if ((imm5 & 15) == 0) return false;
  u32 size = 31 - count_leading_zeros32(imm5 & (0 - imm5));
  o.aux = size;
  o.offset = (i32)(imm5 >> (size + 1));
  return decode_VdVn(word, o);
}
MYR_FN bool decode_ScalarDup(u32 word, Operands& o) { return copy_element(word, o); }
MYR_FN bool decode_VectorDupElement(u32 word, Operands& o) { return copy_element(word, o) && arrange(word, o, o.aux); }
/// rn: a general register.
MYR_FN bool decode_VectorDupGeneral(u32 word, Operands& o) {
  if (!copy_element(word, o)) return false;
  o.rn = source(rn_field(word));
  return arrange(word, o, o.aux);
}
/// rd: a general register.
MYR_FN bool decode_LaneToGeneral8to32(u32 word, Operands& o) {
  if (!copy_element(word, o)) return false;
  o.rd = destination(rd_field(word));
  return o.aux < 3;
}
MYR_FN bool decode_LaneToGeneral8or16(u32 word, Operands& o) { return decode_LaneToGeneral8to32(word, o) && o.aux < 2; }
MYR_FN bool decode_LaneToGeneral64(u32 word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.rn = (u8)rn_field(word);
  o.aux = 3;
  o.offset = (i32)field(word, 20, 1);
  return true;
}
/// rn: a general register.
MYR_FN bool decode_InsertGeneral(u32 word, Operands& o) {
  if (!copy_element(word, o)) return false;
  o.rn = source(rn_field(word));
  return true;
}
/// ra: the index in Vn.
MYR_FN bool decode_InsertElement(u32 word, Operands& o) {
  if (!copy_element(word, o)) return false;
  o.ra = (u8)(field(word, 11, 4) >> o.aux);
  return true;
}

/// offset: the first byte to take, within the register.
MYR_FN bool decode_VectorExtract(u32 word, Operands& o) {
  o.offset = (i32)field(word, 11, 4);
  return decode_Vector3Bytes(word, o) && (q_field(word) || o.offset < 8);
}

// Modified immediate. imm: AdvSIMDExpandImm() of the manual, not yet inverted for MVNI and BIC; ra: 1 if the
// destination is 128 bits wide.

MYR_FN u64 expand_simd_imm(u32 cmode, u32 imm8, bool op, bool half_precision) {
  constexpr u64 kEachByte = 0x0101010101010101u, kEachHalf = 0x0001000100010001u, kEachWord = 0x0000000100000001u;
  if (cmode < 8) return ((u64)imm8 << 8 * (cmode >> 1)) * kEachWord;
  if (cmode < 12) return ((u64)imm8 << 8 * ((cmode >> 1) & 1)) * kEachHalf;
  if (cmode < 14) return ((cmode & 1) ? (u64)imm8 << 16 | 0xFFFF : (u64)imm8 << 8 | 0xFF) * kEachWord;
  if (cmode == 14 && !op) return imm8 * kEachByte;
  if (cmode == 14) {
    // Each bit of imm8 becomes a byte: spread the bits to the lowest of their bytes first.
    u64 bits = imm8;
    bits = (bits | bits << 28) & 0x0000000F0000000Fu;
    bits = (bits | bits << 14) & 0x0003000300030003u;
    bits = (bits | bits << 7) & kEachByte;
    return bits * 0xFF;
  }
  if (half_precision) return expand_fp_imm(imm8, 16) * kEachHalf;
  return op ? expand_fp_imm(imm8, 64) : expand_fp_imm(imm8, 32) * kEachWord;
}
MYR_FN bool decode_VectorImm64(u32 word, Operands& o) {
  u32 imm8 = field(word, 16, 3) << 5 | field(word, 5, 5);
  o.rd = (u8)rd_field(word);
  o.ra = (u8)q_field(word);
  o.imm = expand_simd_imm(field(word, 12, 4), imm8, field(word, 29, 1) != 0, field(word, 11, 1) != 0);
  return true;
}
MYR_FN bool decode_VectorImm32(u32 word, Operands& o) { return decode_VectorImm64(word, o); }
MYR_FN bool decode_VectorImm16(u32 word, Operands& o) { return decode_VectorImm64(word, o); }
MYR_FN bool decode_VectorImmMsl(u32 word, Operands& o) { return decode_VectorImm64(word, o); }
MYR_FN bool decode_VectorImm8(u32 word, Operands& o) { return decode_VectorImm64(word, o); }
MYR_FN bool decode_VectorImmFp32(u32 word, Operands& o) { return decode_VectorImm64(word, o); }
MYR_FN bool decode_VectorImmFp16(u32 word, Operands& o) { return decode_VectorImm64(word, o); }

// Loads and stores of structures. rd: the first of the registers; rm: a general register to add to the base, or the
// zero register. offset: the bytes accessed, which the immediate post-index adds.

/// Registers of LD1 to LD4 (multiple structures), by opcode.
MYR_FN u32 structure_registers(u32 word) {
  switch (field(word, 12, 4)) {
    case 0:
    case 2: return 4;
    case 4:
    case 6: return 3;
    case 7: return 1;
    default: return 2;
  }
}
MYR_FN bool decode_StructureMultiple(u32 word, Operands& o) {
  fp_transfer_registers(word, o);
  o.rm = (u8)kSlotZero;
  arrange(word, o, field(word, 10, 2));
  o.offset = (i32)(structure_registers(word) << (q_field(word) ? 4 : 3));
  return true;
}
/// LD2 to LD4, where one doubleword a register is reserved.
MYR_FN bool decode_StructureMultipleInterleaved(u32 word, Operands& o) {
  return decode_StructureMultiple(word, o) && o.aux != 3;
}
MYR_FN bool decode_StructureMultiplePost(u32 word, Operands& o) {
  bool defined = decode_StructureMultiple(word, o);
  o.rm = source(rm_field(word));
  return defined;
}
MYR_FN bool decode_StructureMultipleInterleavedPost(u32 word, Operands& o) {
  return decode_StructureMultiplePost(word, o) && o.aux != 3;
}

/// A single structure has 1 to 4 elements of 1 << size bytes.
MYR_FN bool single_structure(u32 word, Operands& o, u32 size) {
  fp_transfer_registers(word, o);
  o.rm = (u8)kSlotZero;
  o.offset = (i32)((field(word, 13, 1) * 2 + field(word, 21, 1) + 1) << size);
  return true;
}
/// aux: the index of the lane, whose size the row fixes: Q:S:size, less what the element size takes from its end.
MYR_FN bool structure_lane(u32 word, Operands& o, u32 size) {
  o.aux = (q_field(word) << 3 | field(word, 10, 3)) >> size;
  return single_structure(word, o, size);
}
MYR_FN bool decode_StructureLaneB(u32 word, Operands& o) { return structure_lane(word, o, 0); }
MYR_FN bool decode_StructureLaneH(u32 word, Operands& o) { return structure_lane(word, o, 1); }
MYR_FN bool decode_StructureLaneS(u32 word, Operands& o) { return structure_lane(word, o, 2); }
MYR_FN bool decode_StructureLaneD(u32 word, Operands& o) { return structure_lane(word, o, 3); }
MYR_FN bool decode_StructureReplicate(u32 word, Operands& o) {
  arrange(word, o, field(word, 10, 2));
  return single_structure(word, o, field(word, 10, 2));
}

MYR_FN bool structure_lane_post(u32 word, Operands& o, u32 size) {
  structure_lane(word, o, size);
  o.rm = source(rm_field(word));
  return true;
}
MYR_FN bool decode_StructureLaneBPost(u32 word, Operands& o) { return structure_lane_post(word, o, 0); }
MYR_FN bool decode_StructureLaneHPost(u32 word, Operands& o) { return structure_lane_post(word, o, 1); }
MYR_FN bool decode_StructureLaneSPost(u32 word, Operands& o) { return structure_lane_post(word, o, 2); }
MYR_FN bool decode_StructureLaneDPost(u32 word, Operands& o) { return structure_lane_post(word, o, 3); }
MYR_FN bool decode_StructureReplicatePost(u32 word, Operands& o) {
  decode_StructureReplicate(word, o);
  o.rm = source(rm_field(word));
  return true;
}

}  // namespace myriarm
