// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in load_store.inc. Each returns false if the fields make the word undefined.
// Register number 31 is SP as the base and the zero register elsewhere; a load to the zero register is still performed.
#pragma once

#include "core/integer/load_store.h"
#include "isa/forms/fields.h"

namespace myriarm {

/// The base and the transferred register.
template <Form kForm>
MYR_FN void load_registers(Word<kForm> word, Operands& o) {
  o.rd = destination(rt_field(word));
  o.rn = or_sp(rn_field(word));
}
template <Form kForm>
MYR_FN void store_registers(Word<kForm> word, Operands& o) {
  o.rd = source(rt_field(word));
  o.rn = or_sp(rn_field(word));
}
/// A prefetch does nothing; the operands of its address are for the disassembler. rd: prfop, which no function reads.
template <Form kForm>
MYR_FN void prefetch_registers(Word<kForm> word, Operands& o) {
  o.rd = destination(field<'p', 5>(word));
  o.rn = or_sp(rn_field(word));
}

/// imm12 scaled by the access size.
template <Form kForm>
MYR_FN u64 unsigned_offset(Word<kForm> word) {
  return (u64)field<'i', 12>(word) << fixed<kFixedAccessSize>(word);
}
/// imm: the offset in bytes.
MYR_FN bool decode_LoadUnsignedImm(Word<Form::LoadUnsignedImm> word, Operands& o) {
  load_registers(word, o);
  o.imm = unsigned_offset(word);
  return true;
}
MYR_FN bool decode_StoreUnsignedImm(Word<Form::StoreUnsignedImm> word, Operands& o) {
  store_registers(word, o);
  o.imm = unsigned_offset(word);
  return true;
}
MYR_FN bool decode_PrefetchUnsignedImm(Word<Form::PrefetchUnsignedImm> word, Operands& o) {
  prefetch_registers(word, o);
  o.imm = unsigned_offset(word);
  return true;
}

/// imm9, an offset in bytes.
template <Form kForm>
MYR_FN u64 signed_offset(Word<kForm> word) {
  return (u64)(i64)signed_field<'i', 9>(word);
}
/// imm: the offset in bytes.
MYR_FN bool decode_LoadSignedImm(Word<Form::LoadSignedImm> word, Operands& o) {
  load_registers(word, o);
  o.imm = signed_offset(word);
  return true;
}
MYR_FN bool decode_StoreSignedImm(Word<Form::StoreSignedImm> word, Operands& o) {
  store_registers(word, o);
  o.imm = signed_offset(word);
  return true;
}
MYR_FN bool decode_PrefetchSignedImm(Word<Form::PrefetchSignedImm> word, Operands& o) {
  prefetch_registers(word, o);
  o.imm = signed_offset(word);
  return true;
}

/// rm: the index; aux: its shift and extension, as access_register() takes them. The letter x, option<0>, is 1 for a
/// 64-bit index, and the letter o, option<2>, for a signed one. `scale`: the shift if S is 1.
template <Form kForm>
MYR_FN void index_operands(Word<kForm> word, u32 scale, Operands& o) {
  o.rm = source(rm_field(word));
  u32 aux = field<'S', 1>(word) ? scale : 0;
  if (!field<'x', 1>(word)) aux |= field<'o', 1>(word) ? kIndexWord | kIndexSigned : kIndexWord;
  o.aux = aux;
}
MYR_FN bool decode_LoadRegister(Word<Form::LoadRegister> word, Operands& o) {
  load_registers(word, o);
  index_operands(word, fixed<kFixedAccessSize>(word), o);
  return true;
}
MYR_FN bool decode_StoreRegister(Word<Form::StoreRegister> word, Operands& o) {
  store_registers(word, o);
  index_operands(word, fixed<kFixedAccessSize>(word), o);
  return true;
}
MYR_FN bool decode_PrefetchRegister(Word<Form::PrefetchRegister> word, Operands& o) {
  prefetch_registers(word, o);
  index_operands(word, fixed<kFixedAccessSize>(word), o);
  return true;
}

/// imm19 * 4, bytes from this instruction.
template <Form kForm>
MYR_FN u64 literal_offset(Word<kForm> word) {
  return (u64)(i64)(signed_field<'i', 19>(word) * 4);
}
/// imm: the offset in bytes.
MYR_FN bool decode_LoadLiteral(Word<Form::LoadLiteral> word, Operands& o) {
  o.rd = destination(rt_field(word));
  o.imm = literal_offset(word);
  return true;
}
MYR_FN bool decode_PrefetchLiteral(Word<Form::PrefetchLiteral> word, Operands& o) {
  o.rd = destination(field<'p', 5>(word));
  o.imm = literal_offset(word);
  return true;
}

/// imm7 scaled by the size of one register: 8 bytes of X registers, else 4.
template <Form kForm>
MYR_FN u64 pair_offset(Word<kForm> word) {
  return (u64)((i64)signed_field<'i', 7>(word) * (fixed<kFixedPairOpc>(word) & 2 ? 8 : 4));
}
/// ra: Rt2, imm: the offset in bytes.
MYR_FN bool decode_LoadPairImm(Word<Form::LoadPairImm> word, Operands& o) {
  load_registers(word, o);
  o.ra = destination(rt2_field(word));
  o.imm = pair_offset(word);
  return true;
}
MYR_FN bool decode_StorePairImm(Word<Form::StorePairImm> word, Operands& o) {
  store_registers(word, o);
  o.ra = source(rt2_field(word));
  o.imm = pair_offset(word);
  return true;
}

/// Accesses without an offset.
MYR_FN bool decode_LoadBase(Word<Form::LoadBase> word, Operands& o) {
  load_registers(word, o);
  return true;
}
MYR_FN bool decode_StoreBase(Word<Form::StoreBase> word, Operands& o) {
  store_registers(word, o);
  return true;
}
MYR_FN bool decode_LoadBaseOnly(Word<Form::LoadBaseOnly> word, Operands& o) {
  load_registers(word, o);
  return true;
}

/// rm: Rs, which gets the status; ra: Rt2 of pairs.
MYR_FN bool decode_StoreExclusive(Word<Form::StoreExclusive> word, Operands& o) {
  store_registers(word, o);
  o.rm = destination(rs_field(word));
  return true;
}
MYR_FN bool decode_LoadExclusivePair(Word<Form::LoadExclusivePair> word, Operands& o) {
  load_registers(word, o);
  o.ra = destination(rt2_field(word));
  return true;
}
MYR_FN bool decode_StoreExclusivePair(Word<Form::StoreExclusivePair> word, Operands& o) {
  store_registers(word, o);
  o.rm = destination(rs_field(word));
  o.ra = source(rt2_field(word));
  return true;
}

/// rm: Rs.
MYR_FN bool decode_AtomicUpdate(Word<Form::AtomicUpdate> word, Operands& o) {
  load_registers(word, o);
  o.rm = source(rs_field(word));
  return true;
}
/// rm: Rs as a source, to compare with; ra: Rs as a destination.
MYR_FN bool decode_CompareSwap(Word<Form::CompareSwap> word, Operands& o) {
  store_registers(word, o);
  o.rm = source(rs_field(word));
  o.ra = destination(rs_field(word));
  return true;
}
/// rd, rm: Rt and Rs, which are even, so that their letters are only the upper four bits; ra: Rt + 1; aux: Rs + 1, as a
/// source in bits 7:0 and as a destination in bits 15:8.
MYR_FN bool decode_CompareSwapPair(Word<Form::CompareSwapPair> word, Operands& o) {
  u32 rs = field<'s', 4>(word) * 2, rt = field<'t', 4>(word) * 2;
  o.rd = source(rt);
  o.rn = or_sp(rn_field(word));
  o.rm = source(rs);
  o.ra = source(rt + 1);
  o.aux = source(rs + 1) | (u32)destination(rs + 1) << 8;
  return true;
}

}  // namespace myriarm
