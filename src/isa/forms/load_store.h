// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in load_store.inc. Each returns false if the fields make the word undefined.
// A register number 31 is SP as the base and the zero register elsewhere; a load that names it is still made.
#pragma once

#include "core/integer/load_store.h"
#include "isa/forms/fields.h"

namespace myriarm {

/// log2 of the access size, where the encoding has it in bits 31:30.
MYR_FN u32 size_field(u32 word) { return field(word, 30, 2); }

/// The base and the transferred register; the register fields that these forms have at their usual places.
MYR_FN void load_registers(u32 word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.rn = or_sp(rn_field(word));
}
MYR_FN void store_registers(u32 word, Operands& o) {
  o.rd = source(rd_field(word));
  o.rn = or_sp(rn_field(word));
}

/// imm: imm12 scaled by the access size.
MYR_FN bool decode_LoadUnsignedImm(u32 word, Operands& o) {
  load_registers(word, o);
  o.imm = (u64)field(word, 10, 12) << size_field(word);
  return true;
}
MYR_FN bool decode_StoreUnsignedImm(u32 word, Operands& o) {
  store_registers(word, o);
  o.imm = (u64)field(word, 10, 12) << size_field(word);
  return true;
}

/// imm: imm9.
MYR_FN bool decode_LoadSignedImm(u32 word, Operands& o) {
  load_registers(word, o);
  o.imm = (u64)(i64)signed_field(word, 12, 9);
  return true;
}
MYR_FN bool decode_StoreSignedImm(u32 word, Operands& o) {
  store_registers(word, o);
  o.imm = (u64)(i64)signed_field(word, 12, 9);
  return true;
}

/// aux of access_register: option<0> set is a 64-bit index, option<2> a signed one. `scale`: the shift that S asks for.
MYR_FN u32 index_aux(u32 word, u32 scale) {
  u32 aux = field(word, 12, 1) ? scale : 0;
  if (!field(word, 13, 1)) aux |= field(word, 15, 1) ? kIndexWord | kIndexSigned : kIndexWord;
  return aux;
}
/// rm: the index, aux: as access_register has it.
MYR_FN bool decode_LoadRegister(u32 word, Operands& o) {
  load_registers(word, o);
  o.rm = source(rm_field(word));
  o.aux = index_aux(word, size_field(word));
  return true;
}
MYR_FN bool decode_StoreRegister(u32 word, Operands& o) {
  store_registers(word, o);
  o.rm = source(rm_field(word));
  o.aux = index_aux(word, size_field(word));
  return true;
}

/// imm: imm19 * 4.
MYR_FN bool decode_LoadLiteral(u32 word, Operands& o) {
  o.rd = destination(rd_field(word));
  o.imm = (u64)(i64)(signed_field(word, 5, 19) * 4);
  return true;
}

// Prefetches do nothing; the disassembler wants the offset.
MYR_FN bool decode_PrefetchUnsignedImm(u32 word, Operands& o) { return decode_LoadUnsignedImm(word, o); }
MYR_FN bool decode_PrefetchSignedImm(u32 word, Operands& o) { return decode_LoadSignedImm(word, o); }
MYR_FN bool decode_PrefetchRegister(u32 word, Operands& o) { return decode_LoadRegister(word, o); }
MYR_FN bool decode_PrefetchLiteral(u32 word, Operands& o) { return decode_LoadLiteral(word, o); }

/// imm7 scaled by the size of one register, which is 8 bytes if bit 31 is set and 4 if not.
MYR_FN u64 pair_offset(u32 word) { return (u64)((i64)signed_field(word, 15, 7) * (field(word, 31, 1) ? 8 : 4)); }
/// ra: Rt2, imm: bytes.
MYR_FN bool decode_LoadPairImm(u32 word, Operands& o) {
  load_registers(word, o);
  o.ra = destination(ra_field(word));
  o.imm = pair_offset(word);
  return true;
}
MYR_FN bool decode_StorePairImm(u32 word, Operands& o) {
  store_registers(word, o);
  o.ra = source(ra_field(word));
  o.imm = pair_offset(word);
  return true;
}

/// Base alone.
MYR_FN bool decode_LoadBase(u32 word, Operands& o) {
  load_registers(word, o);
  return true;
}
MYR_FN bool decode_StoreBase(u32 word, Operands& o) {
  store_registers(word, o);
  return true;
}
MYR_FN bool decode_LoadBaseOnly(u32 word, Operands& o) { return decode_LoadBase(word, o); }

/// rm: Rs, which gets the status; ra: Rt2 of pairs.
MYR_FN bool decode_StoreExclusive(u32 word, Operands& o) {
  store_registers(word, o);
  o.rm = destination(rm_field(word));
  return true;
}
MYR_FN bool decode_LoadExclusivePair(u32 word, Operands& o) {
  load_registers(word, o);
  o.ra = destination(ra_field(word));
  return true;
}
MYR_FN bool decode_StoreExclusivePair(u32 word, Operands& o) {
  decode_StoreExclusive(word, o);
  o.ra = source(ra_field(word));
  return true;
}

/// rm: Rs.
MYR_FN bool decode_AtomicUpdate(u32 word, Operands& o) {
  load_registers(word, o);
  o.rm = source(rm_field(word));
  return true;
}
/// rm: Rs to compare with, ra: Rs to write.
MYR_FN bool decode_CompareSwap(u32 word, Operands& o) {
  store_registers(word, o);
  o.rm = source(rm_field(word));
  o.ra = destination(rm_field(word));
  return true;
}
/// rd, rm: Rt and Rs, which are even; ra: Rt + 1; aux: Rs + 1, to compare with and from bit 8 to write.
MYR_FN bool decode_CompareSwapPair(u32 word, Operands& o) {
  store_registers(word, o);
  o.rm = source(rm_field(word));
  o.ra = source(rd_field(word) + 1);
  o.aux = source(rm_field(word) + 1) | (u32)destination(rm_field(word) + 1) << 8;
  return true;
}

}  // namespace myriarm
