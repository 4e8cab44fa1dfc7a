// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in simd.inc. Each returns false if the fields make the word undefined.
//
// aux is the arrangement: log2 of the element size in bytes, plus kArrangementQ for 128 bits; in scalar instructions
// only the size. In instructions that widen or narrow elements it is that of the narrow ones, <Tb> in the manual, and
// kArrangementQ is the "2" of the mnemonic. offset is a number beside the registers: an element index, a shift amount,
// a rotation. Forms to which this does not apply say so.
#pragma once

#include "isa/forms/fields.h"
#include "isa/forms/floating_point.h"

namespace myriarm {

constexpr u32 kArrangementQ = 4;

/// The letter s, log2 of the element size in bytes.
template <Form kForm>
MYR_FN u32 element_size(Word<kForm> word) {
  return field<'s'>(word);
}
/// The same for floating point: sz, the letter z, is 0 for single and 1 for double precision.
template <Form kForm>
MYR_FN u32 fp_element_size(Word<kForm> word) {
  return 2 + field<'z', 1>(word);
}

/// Sets aux. Returns false for one doubleword element in 64 bits, which is reserved in all but a few instructions.
template <Form kForm>
MYR_FN bool arrange(Word<kForm> word, Operands& o, u32 size) {
  o.aux = size | (field<'q', 1>(word) ? kArrangementQ : 0);
  return o.aux != 3;
}

// Three registers.

template <Form kForm>
MYR_FN bool vector_three(Word<kForm> word, Operands& o, u32 size) {
  vector_dnm(word, o);
  return arrange(word, o, size);
}
template <Form kForm>
MYR_FN bool scalar_three(Word<kForm> word, Operands& o, u32 size) {
  o.aux = size;
  return vector_dnm(word, o);
}
MYR_FN bool decode_Vector3(Word<Form::Vector3> word, Operands& o) { return vector_three(word, o, element_size(word)); }
/// Bytes, halfwords and words.
MYR_FN bool decode_Vector3Bhs(Word<Form::Vector3Bhs> word, Operands& o) {
  return vector_three(word, o, element_size(word)) && element_size(word) != 3;
}
/// Halfwords and words.
MYR_FN bool decode_Vector3Hs(Word<Form::Vector3Hs> word, Operands& o) {
  return vector_three(word, o, element_size(word)) && element_size(word) != 3 && element_size(word) != 0;
}
MYR_FN bool decode_Vector3Bytes(Word<Form::Vector3Bytes> word, Operands& o) { return vector_three(word, o, 0); }
MYR_FN bool decode_Vector3Half(Word<Form::Vector3Half> word, Operands& o) { return vector_three(word, o, 1); }
/// PMULL and PMULL2 of doublewords.
MYR_FN bool decode_Vector3Doubles(Word<Form::Vector3Doubles> word, Operands& o) {
  vector_three(word, o, 3);
  return true;
}
MYR_FN bool decode_Vector3Fp(Word<Form::Vector3Fp> word, Operands& o) {
  return vector_three(word, o, fp_element_size(word));
}
/// SDOT, UDOT. aux: the arrangement of the destination, whose elements are words.
MYR_FN bool decode_VectorDot(Word<Form::VectorDot> word, Operands& o) { return vector_three(word, o, 2); }
/// FMLAL, FMLAL2, FMLSL, FMLSL2. aux: the arrangement of the destination, whose elements are words.
MYR_FN bool decode_VectorHalfToSingle(Word<Form::VectorHalfToSingle> word, Operands& o) {
  return vector_three(word, o, 2);
}

/// offset: the rotation in units of 90 degrees.
MYR_FN bool decode_VectorComplexHalf(Word<Form::VectorComplexHalf> word, Operands& o) {
  o.offset = (i32)field<'r', 2>(word);
  return vector_three(word, o, 1);
}
MYR_FN bool decode_VectorComplexFp(Word<Form::VectorComplexFp> word, Operands& o) {
  o.offset = (i32)field<'r', 2>(word);
  return vector_three(word, o, fp_element_size(word));
}
/// offset: the rotation in units of 90 degrees, 1 or 3.
MYR_FN bool decode_VectorComplexAddHalf(Word<Form::VectorComplexAddHalf> word, Operands& o) {
  o.offset = field<'r', 1>(word) ? 3 : 1;
  return vector_three(word, o, 1);
}
MYR_FN bool decode_VectorComplexAddFp(Word<Form::VectorComplexAddFp> word, Operands& o) {
  o.offset = field<'r', 1>(word) ? 3 : 1;
  return vector_three(word, o, fp_element_size(word));
}

MYR_FN bool decode_Scalar3(Word<Form::Scalar3> word, Operands& o) { return scalar_three(word, o, element_size(word)); }
/// Doublewords: the row fixes the size.
MYR_FN bool decode_Scalar3Double(Word<Form::Scalar3Double> word, Operands& o) { return scalar_three(word, o, 3); }
MYR_FN bool decode_Scalar3Hs(Word<Form::Scalar3Hs> word, Operands& o) {
  scalar_three(word, o, element_size(word));
  return o.aux == 1 || o.aux == 2;
}
MYR_FN bool decode_Scalar3Fp(Word<Form::Scalar3Fp> word, Operands& o) {
  return scalar_three(word, o, fp_element_size(word));
}

// Two registers.

template <Form kForm>
MYR_FN bool vector_two(Word<kForm> word, Operands& o, u32 size) {
  vector_dn(word, o);
  return arrange(word, o, size);
}
template <Form kForm>
MYR_FN bool scalar_two(Word<kForm> word, Operands& o, u32 size) {
  o.aux = size;
  return vector_dn(word, o);
}
MYR_FN bool decode_Vector2(Word<Form::Vector2> word, Operands& o) { return vector_two(word, o, element_size(word)); }
MYR_FN bool decode_Vector2Bhs(Word<Form::Vector2Bhs> word, Operands& o) {
  return vector_two(word, o, element_size(word)) && element_size(word) != 3;
}
MYR_FN bool decode_Vector2Bh(Word<Form::Vector2Bh> word, Operands& o) {
  return vector_two(word, o, element_size(word));
}
/// Additions of adjacent elements into wider ones. kArrangementQ is the width of both registers, not the "2" of a
/// mnemonic.
MYR_FN bool decode_Vector2Pairwise(Word<Form::Vector2Pairwise> word, Operands& o) {
  return vector_two(word, o, element_size(word)) && element_size(word) != 3;
}
MYR_FN bool decode_Vector2Bytes(Word<Form::Vector2Bytes> word, Operands& o) { return vector_two(word, o, 0); }
MYR_FN bool decode_Vector2Half(Word<Form::Vector2Half> word, Operands& o) { return vector_two(word, o, 1); }
MYR_FN bool decode_Vector2Words(Word<Form::Vector2Words> word, Operands& o) { return vector_two(word, o, 2); }
MYR_FN bool decode_Vector2Fp(Word<Form::Vector2Fp> word, Operands& o) {
  return vector_two(word, o, fp_element_size(word));
}
/// FCVTN, FCVTL: half and single, or single and double precision.
MYR_FN bool decode_Vector2FpLong(Word<Form::Vector2FpLong> word, Operands& o) {
  return vector_two(word, o, fp_element_size(word) - 1);
}
/// Bytes, halfwords, or four words; two words are reserved.
MYR_FN bool decode_VectorAcross(Word<Form::VectorAcross> word, Operands& o) {
  return vector_two(word, o, element_size(word)) && element_size(word) != 3 && o.aux != 2;
}

MYR_FN bool decode_Scalar2(Word<Form::Scalar2> word, Operands& o) { return scalar_two(word, o, element_size(word)); }
MYR_FN bool decode_Scalar2Double(Word<Form::Scalar2Double> word, Operands& o) { return scalar_two(word, o, 3); }
MYR_FN bool decode_Scalar2Bhs(Word<Form::Scalar2Bhs> word, Operands& o) {
  return scalar_two(word, o, element_size(word)) && o.aux != 3;
}
MYR_FN bool decode_Scalar2Fp(Word<Form::Scalar2Fp> word, Operands& o) {
  return scalar_two(word, o, fp_element_size(word));
}

// Shift by immediate, of elements of 8 << size bits. The highest set bit of immh:immb says the size, and the bits below
// it the amount. If a row fixes the size, that bit is one of its digits, and the letter i is the bits below it. offset:
// the shift amount. Conversions from and to fixed point are right shifts by the number of fraction bits.

template <Form kForm>
MYR_FN i32 right_amount(Word<kForm> word, u32 size) {
  return (i32)((8u << size) - field<'i'>(word));
}
template <Form kForm>
MYR_FN bool vector_shift_right(Word<kForm> word, Operands& o, u32 size) {
  o.offset = right_amount(word, size);
  return vector_two(word, o, size);
}
MYR_FN bool decode_VectorShiftRightB(Word<Form::VectorShiftRightB> word, Operands& o) {
  return vector_shift_right(word, o, 0);
}
MYR_FN bool decode_VectorShiftRightH(Word<Form::VectorShiftRightH> word, Operands& o) {
  return vector_shift_right(word, o, 1);
}
MYR_FN bool decode_VectorShiftRightS(Word<Form::VectorShiftRightS> word, Operands& o) {
  return vector_shift_right(word, o, 2);
}
MYR_FN bool decode_VectorShiftRightD(Word<Form::VectorShiftRightD> word, Operands& o) {
  return vector_shift_right(word, o, 3);
}
MYR_FN bool decode_VectorShiftNarrowB(Word<Form::VectorShiftNarrowB> word, Operands& o) {
  return vector_shift_right(word, o, 0);
}
MYR_FN bool decode_VectorShiftNarrowH(Word<Form::VectorShiftNarrowH> word, Operands& o) {
  return vector_shift_right(word, o, 1);
}
MYR_FN bool decode_VectorShiftNarrowS(Word<Form::VectorShiftNarrowS> word, Operands& o) {
  return vector_shift_right(word, o, 2);
}

template <Form kForm>
MYR_FN bool vector_shift_left(Word<kForm> word, Operands& o, u32 size) {
  o.offset = (i32)field<'i'>(word);
  return vector_two(word, o, size);
}
MYR_FN bool decode_VectorShiftLeftB(Word<Form::VectorShiftLeftB> word, Operands& o) {
  return vector_shift_left(word, o, 0);
}
MYR_FN bool decode_VectorShiftLeftH(Word<Form::VectorShiftLeftH> word, Operands& o) {
  return vector_shift_left(word, o, 1);
}
MYR_FN bool decode_VectorShiftLeftS(Word<Form::VectorShiftLeftS> word, Operands& o) {
  return vector_shift_left(word, o, 2);
}
MYR_FN bool decode_VectorShiftLeftD(Word<Form::VectorShiftLeftD> word, Operands& o) {
  return vector_shift_left(word, o, 3);
}
MYR_FN bool decode_VectorShiftLongB(Word<Form::VectorShiftLongB> word, Operands& o) {
  return vector_shift_left(word, o, 0);
}
MYR_FN bool decode_VectorShiftLongH(Word<Form::VectorShiftLongH> word, Operands& o) {
  return vector_shift_left(word, o, 1);
}
MYR_FN bool decode_VectorShiftLongS(Word<Form::VectorShiftLongS> word, Operands& o) {
  return vector_shift_left(word, o, 2);
}

template <Form kForm>
MYR_FN bool scalar_shift_right(Word<kForm> word, Operands& o, u32 size) {
  o.offset = right_amount(word, size);
  return scalar_two(word, o, size);
}
MYR_FN bool decode_ScalarShiftRightD(Word<Form::ScalarShiftRightD> word, Operands& o) {
  return scalar_shift_right(word, o, 3);
}
MYR_FN bool decode_ScalarFixedH(Word<Form::ScalarFixedH> word, Operands& o) { return scalar_shift_right(word, o, 1); }
MYR_FN bool decode_ScalarFixedS(Word<Form::ScalarFixedS> word, Operands& o) { return scalar_shift_right(word, o, 2); }
MYR_FN bool decode_ScalarShiftLeftD(Word<Form::ScalarShiftLeftD> word, Operands& o) {
  o.offset = (i32)field<'i', 6>(word);
  return scalar_two(word, o, 3);
}
/// log2 of the element size in bytes from immh, which is above the three bits of immb and not 0.
MYR_FN u32 size_of_immh(u32 immh_immb) { return 31 - count_leading_zeros32(immh_immb >> 3); }
/// Elements of 8, 16 and 32 bits: rows fix the top bit of immh.
MYR_FN bool decode_ScalarShiftNarrow(Word<Form::ScalarShiftNarrow> word, Operands& o) {
  u32 immh_immb = field<'i', 6>(word);
  if (immh_immb >> 3 == 0) return false;
  u32 size = size_of_immh(immh_immb);
  o.offset = (i32)((16u << size) - immh_immb);
  return scalar_two(word, o, size);
}
MYR_FN bool decode_ScalarShiftLeft(Word<Form::ScalarShiftLeft> word, Operands& o) {
  u32 immh_immb = field<'i', 7>(word);
  if (immh_immb >> 3 == 0) return false;
  u32 size = size_of_immh(immh_immb);
  o.offset = (i32)(immh_immb - (8u << size));
  return scalar_two(word, o, size);
}

// Indexed element of Vm. offset: the index; rm has only 4 bits if M is part of the index.

/// Index H:L:M, and one of the registers V0 to V15.
template <Form kForm>
MYR_FN void half_element(Word<kForm> word, Operands& o) {
  o.rm = (u8)field<'m', 4>(word);
  o.offset = (i32)joined<'H', 'L', 'M'>(word);
}
/// Halfwords as above; words: index H:L, and the register M:Rm.
template <Form kForm>
MYR_FN bool integer_element(Word<kForm> word, Operands& o) {
  vector_dn(word, o);
  if (element_size(word) == 1) half_element(word, o);
  if (element_size(word) == 2) {
    o.rm = (u8)joined<'M', 'm'>(word);
    o.offset = (i32)joined<'H', 'L'>(word);
  }
  return element_size(word) == 1 || element_size(word) == 2;
}
/// Single precision: index H:L. Double: index H, and L must be 0.
template <Form kForm>
MYR_FN bool fp_element(Word<kForm> word, Operands& o) {
  const bool single = fp_element_size(word) == 2;
  o.offset = (i32)(single ? joined<'H', 'L'>(word) : field<'H', 1>(word));
  return vector_dnm(word, o) && (single || field<'L', 1>(word) == 0);
}

MYR_FN bool decode_VectorElement(Word<Form::VectorElement> word, Operands& o) {
  return integer_element(word, o) && arrange(word, o, element_size(word));
}
MYR_FN bool decode_VectorElementFp(Word<Form::VectorElementFp> word, Operands& o) {
  return fp_element(word, o) && arrange(word, o, fp_element_size(word));
}
MYR_FN bool decode_VectorElementHalf(Word<Form::VectorElementHalf> word, Operands& o) {
  half_element(word, o);
  return vector_two(word, o, 1);
}
/// aux: the arrangement of the destination, whose elements are words; offset: the index of a group of four bytes.
MYR_FN bool decode_VectorElementDot(Word<Form::VectorElementDot> word, Operands& o) {
  o.offset = (i32)joined<'H', 'L'>(word);
  return vector_three(word, o, 2);
}
/// aux: the arrangement of the destination, whose elements are words; offset: the index of a halfword.
MYR_FN bool decode_VectorElementHalfToSingle(Word<Form::VectorElementHalfToSingle> word, Operands& o) {
  half_element(word, o);
  return vector_two(word, o, 2);
}
/// offset: the rotation in units of 90 degrees; ra: the index of a complex number, of which four halfwords hold two.
MYR_FN bool decode_VectorElementComplexHalf(Word<Form::VectorElementComplexHalf> word, Operands& o) {
  o.offset = (i32)field<'r', 2>(word);
  o.ra = (u8)joined<'H', 'L'>(word);
  return vector_three(word, o, 1) && (field<'q'>(word) || o.ra < 2);
}
/// The same; always four words.
MYR_FN bool decode_VectorElementComplexSingle(Word<Form::VectorElementComplexSingle> word, Operands& o) {
  o.offset = (i32)field<'r', 2>(word);
  o.ra = (u8)field<'H', 1>(word);
  o.aux = 2 | kArrangementQ;
  return vector_dnm(word, o);
}
MYR_FN bool decode_ScalarElement(Word<Form::ScalarElement> word, Operands& o) {
  o.aux = element_size(word);
  return integer_element(word, o);
}
MYR_FN bool decode_ScalarElementHalf(Word<Form::ScalarElementHalf> word, Operands& o) {
  half_element(word, o);
  return scalar_two(word, o, 1);
}
MYR_FN bool decode_ScalarElementFp(Word<Form::ScalarElementFp> word, Operands& o) {
  o.aux = fp_element_size(word);
  return fp_element(word, o);
}

// Copies. The lowest set bit of imm5 says the element size, and the bits above it are the index, which goes to offset.

/// Returns false if imm5 has no size.
template <Form kForm>
MYR_FN bool copy_element(Word<kForm> word, Operands& o) {
  u32 imm5 = field<'i', 5>(word);
  if ((imm5 & 15) == 0) return false;
  u32 size = 31 - count_leading_zeros32(imm5 & (0 - imm5));
  o.aux = size;
  o.offset = (i32)(imm5 >> (size + 1));
  return vector_dn(word, o);
}
MYR_FN bool decode_ScalarDup(Word<Form::ScalarDup> word, Operands& o) { return copy_element(word, o); }
MYR_FN bool decode_VectorDupElement(Word<Form::VectorDupElement> word, Operands& o) {
  return copy_element(word, o) && arrange(word, o, o.aux);
}
/// rn: a general register.
MYR_FN bool decode_VectorDupGeneral(Word<Form::VectorDupGeneral> word, Operands& o) {
  if (!copy_element(word, o)) return false;
  o.rn = source(rn_field(word));
  return arrange(word, o, o.aux);
}
/// rd: a general register.
MYR_FN bool decode_LaneToGeneral8to32(Word<Form::LaneToGeneral8to32> word, Operands& o) {
  if (!copy_element(word, o)) return false;
  o.rd = destination(rd_field(word));
  return o.aux < 3;
}
MYR_FN bool decode_LaneToGeneral8or16(Word<Form::LaneToGeneral8or16> word, Operands& o) {
  if (!copy_element(word, o)) return false;
  o.rd = destination(rd_field(word));
  return o.aux < 2;
}
MYR_FN bool decode_LaneToGeneral64(Word<Form::LaneToGeneral64> word, Operands& o) {
  o.aux = 3;
  o.offset = (i32)field<'i', 1>(word);
  return vector_to_general(word, o);
}
/// rn: a general register.
MYR_FN bool decode_InsertGeneral(Word<Form::InsertGeneral> word, Operands& o) {
  if (!copy_element(word, o)) return false;
  o.rn = source(rn_field(word));
  return true;
}
/// ra: the index in Vn.
MYR_FN bool decode_InsertElement(Word<Form::InsertElement> word, Operands& o) {
  if (!copy_element(word, o)) return false;
  o.ra = (u8)(field<'j', 4>(word) >> o.aux);
  return true;
}

/// offset: the index of the first byte.
MYR_FN bool decode_VectorExtract(Word<Form::VectorExtract> word, Operands& o) {
  o.offset = (i32)field<'i', 4>(word);
  return vector_three(word, o, 0) && (field<'q'>(word) || o.offset < 8);
}

// Modified immediate. imm: AdvSIMDExpandImm() of the manual, but not inverted for MVNI and BIC. The manual's function
// chooses a case by cmode and op; here each case has its own form. ra: 1 if the destination is 128 bits wide.

constexpr u64 kEachByte = 0x0101010101010101u, kEachHalf = 0x0001000100010001u, kEachWord = 0x0000000100000001u;

template <Form kForm>
MYR_FN u32 simd_imm8(Word<kForm> word) {
  return field<'a', 3>(word) << 5 | field<'b', 5>(word);
}
template <Form kForm>
MYR_FN bool vector_imm(Word<kForm> word, Operands& o, u64 imm) {
  o.rd = (u8)rd_field(word);
  o.ra = (u8)field<'q', 1>(word);
  o.imm = imm;
  return true;
}
MYR_FN bool decode_VectorImm32(Word<Form::VectorImm32> word, Operands& o) {
  return vector_imm(word, o, ((u64)simd_imm8(word) << 8 * field<'c', 2>(word)) * kEachWord);
}
MYR_FN bool decode_VectorImm16(Word<Form::VectorImm16> word, Operands& o) {
  return vector_imm(word, o, ((u64)simd_imm8(word) << 8 * field<'c', 1>(word)) * kEachHalf);
}
MYR_FN bool decode_VectorImmMsl(Word<Form::VectorImmMsl> word, Operands& o) {
  u64 imm8 = simd_imm8(word);
  return vector_imm(word, o, (field<'c', 1>(word) ? imm8 << 16 | 0xFFFF : imm8 << 8 | 0xFF) * kEachWord);
}
MYR_FN bool decode_VectorImm8(Word<Form::VectorImm8> word, Operands& o) {
  return vector_imm(word, o, simd_imm8(word) * kEachByte);
}
MYR_FN bool decode_VectorImmFp32(Word<Form::VectorImmFp32> word, Operands& o) {
  return vector_imm(word, o, expand_fp_imm(simd_imm8(word), 32) * kEachWord);
}
MYR_FN bool decode_VectorImmFp16(Word<Form::VectorImmFp16> word, Operands& o) {
  return vector_imm(word, o, expand_fp_imm(simd_imm8(word), 16) * kEachHalf);
}
/// Each bit of imm8 becomes a byte.
MYR_FN bool decode_VectorImm64(Word<Form::VectorImm64> word, Operands& o) {
  // First moves each bit to the lowest bit of its byte.
  u64 bits = simd_imm8(word);
  bits = (bits | bits << 28) & 0x0000000F0000000Fu;
  bits = (bits | bits << 14) & 0x0003000300030003u;
  bits = (bits | bits << 7) & kEachByte;
  o.rd = (u8)rd_field(word);
  o.ra = (u8)fixed<kFixedQ>(word);
  o.imm = bits * 0xFF;
  return true;
}
MYR_FN bool decode_VectorImmFp64(Word<Form::VectorImmFp64> word, Operands& o) {
  o.rd = (u8)rd_field(word);
  o.ra = 1;
  o.imm = expand_fp_imm(simd_imm8(word), 64);
  return true;
}

// Loads and stores of structures. rd: the first of the registers; rm: the general register that the post-index adds to
// the base, or the zero register. offset: the number of bytes accessed, which the immediate post-index adds.

/// The number of registers of LD1 to LD4 (multiple structures).
template <Form kForm>
MYR_FN u32 structure_registers(Word<kForm> word) {
  switch (fixed<kFixedStructureOpcode>(word)) {
    case 0:
    case 2: return 4;
    case 4:
    case 6: return 3;
    case 7: return 1;
    default: return 2;
  }
}
template <Form kForm>
MYR_FN void multiple_structures(Word<kForm> word, Operands& o, u32 rm) {
  fp_transfer_registers(word, o);
  o.rm = (u8)rm;
  arrange(word, o, element_size(word));
  o.offset = (i32)(structure_registers(word) << (field<'q'>(word) ? 4 : 3));
}
MYR_FN bool decode_StructureMultiple(Word<Form::StructureMultiple> word, Operands& o) {
  multiple_structures(word, o, kSlotZero);
  return true;
}
MYR_FN bool decode_StructureMultiplePost(Word<Form::StructureMultiplePost> word, Operands& o) {
  multiple_structures(word, o, source(rm_field(word)));
  return true;
}
/// LD2 to LD4, for which one doubleword in each register is reserved.
MYR_FN bool decode_StructureMultipleInterleaved(Word<Form::StructureMultipleInterleaved> word, Operands& o) {
  multiple_structures(word, o, kSlotZero);
  return o.aux != 3;
}
MYR_FN bool decode_StructureMultipleInterleavedPost(Word<Form::StructureMultipleInterleavedPost> word, Operands& o) {
  multiple_structures(word, o, source(rm_field(word)));
  return o.aux != 3;
}

/// A single structure has 1 to 4 elements of 1 << size bytes.
template <Form kForm>
MYR_FN bool single_structure(Word<kForm> word, Operands& o, u32 size, u32 rm) {
  fp_transfer_registers(word, o);
  o.rm = (u8)rm;
  o.offset = (i32)((fixed<kFixedStructureOpcode0>(word) * 2 + fixed<kFixedStructureR>(word) + 1) << size);
  return true;
}
/// aux: the index of the lane, whose size the row fixes: Q:S:size without the low bits that the element size occupies.
template <Form kForm>
MYR_FN bool structure_lane(Word<kForm> word, Operands& o, u32 size, u32 rm) {
  o.aux = joined<'q', 'i'>(word);
  return single_structure(word, o, size, rm);
}
MYR_FN bool decode_StructureLaneB(Word<Form::StructureLaneB> word, Operands& o) {
  return structure_lane(word, o, 0, kSlotZero);
}
MYR_FN bool decode_StructureLaneH(Word<Form::StructureLaneH> word, Operands& o) {
  return structure_lane(word, o, 1, kSlotZero);
}
MYR_FN bool decode_StructureLaneS(Word<Form::StructureLaneS> word, Operands& o) {
  return structure_lane(word, o, 2, kSlotZero);
}
MYR_FN bool decode_StructureLaneD(Word<Form::StructureLaneD> word, Operands& o) {
  o.aux = field<'q', 1>(word);
  return single_structure(word, o, 3, kSlotZero);
}
MYR_FN bool decode_StructureReplicate(Word<Form::StructureReplicate> word, Operands& o) {
  arrange(word, o, element_size(word));
  return single_structure(word, o, element_size(word), kSlotZero);
}
MYR_FN bool decode_StructureLaneBPost(Word<Form::StructureLaneBPost> word, Operands& o) {
  return structure_lane(word, o, 0, source(rm_field(word)));
}
MYR_FN bool decode_StructureLaneHPost(Word<Form::StructureLaneHPost> word, Operands& o) {
  return structure_lane(word, o, 1, source(rm_field(word)));
}
MYR_FN bool decode_StructureLaneSPost(Word<Form::StructureLaneSPost> word, Operands& o) {
  return structure_lane(word, o, 2, source(rm_field(word)));
}
MYR_FN bool decode_StructureLaneDPost(Word<Form::StructureLaneDPost> word, Operands& o) {
  o.aux = field<'q', 1>(word);
  return single_structure(word, o, 3, source(rm_field(word)));
}
MYR_FN bool decode_StructureReplicatePost(Word<Form::StructureReplicatePost> word, Operands& o) {
  arrange(word, o, element_size(word));
  return single_structure(word, o, element_size(word), source(rm_field(word)));
}

}  // namespace myriarm
