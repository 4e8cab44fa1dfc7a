// SPDX-License-Identifier: Apache-2.0
// Rows that share one semantics function share one number: acquire and release variants, for example, are the same
// to a lane that no other lane can observe. A kernel's switch over these is shorter and denser than one over rows.
#pragma once

#include "isa/rows.h"

namespace myriarm {
namespace detail {

constexpr bool same_text(const char* a, const char* b) {
  while (*a != 0 && *a == *b) a++, b++;
  return *a == *b;
}
constexpr bool begins_with(const char* text, const char* prefix) {
  while (*prefix != 0 && *text == *prefix) text++, prefix++;
  return *prefix == 0;
}

/// The semantics column as text; null where nothing is implemented.
constexpr const char* implemented_text(const char* text) { return same_text(text, "todo") ? nullptr : text; }

struct SemanticsTable {
  u16 id[kRowCount];     // from 1 in each half, rare and not, without gaps; 0: not implemented
  u16 first[kRowCount];  // the first row with the same semantics
  bool rare[kRowCount];
  u16 count[2];  // ids in use, of what is not rare and of what is; 0 among them
};

/// Of what is not in the base instruction set, what compiled programs run most.
constexpr const char* kCommon[] = {
    "(access_imm<LoadFp<32>, Indexing::offset",
    "(access_imm<LoadFp<64>",
    "(access_imm<LoadFp<128>",
    "(access_imm<StoreFp<32>, Indexing::offset",
    "(access_imm<StoreFp<64>",
    "(access_imm<StoreFp<128>",
    "(access_imm<LoadFpPair<64>",
    "(access_imm<LoadFpPair<128>",
    "(access_imm<StoreFpPair<64>",
    "(access_imm<StoreFpPair<128>",
    "(access_register<LoadFp<32>",
    "(access_register<LoadFp<64>",
    "(access_register<LoadFp<128>",
    "(access_register<StoreFp<32>",
    "(access_register<StoreFp<64>",
    "(access_register<StoreFp<128>",
    "(fp_binary<32, FpBinary::add",
    "(fp_binary<32, FpBinary::sub",
    "(fp_binary<32, FpBinary::mul",
    "(fp_binary<32, FpBinary::nmul",
    "(fp_binary<64, FpBinary::add",
    "(fp_binary<64, FpBinary::sub",
    "(fp_binary<64, FpBinary::mul",
    "(fp_binary<64, FpBinary::nmul",
    "(fp_multiply_add<32",
    "(fp_multiply_add<64",
    "(fp_compare<32",
    "(fp_compare<64",
    "(fp_compare_zero<32",
    "(fp_compare_zero<64",
    "(fp_sign<32",
    "(fp_sign<64",
    "(fp_move_imm",
    "(fp_move_to_general<32",
    "(fp_move_to_general<64",
    "(fp_move_from_general<32",
    "(fp_move_from_general<64",
    "(fp_conditional_select<32",
    "(fp_conditional_select<64",
    "(fp_from_integer<32, 32, false",
    "(fp_from_integer<32, 64, false",
    "(fp_from_integer<64, 64, false",
    "(fp_to_integer<64, 32, FPRounding::zero, false",
    "(fp_to_integer<64, 64, FPRounding::zero, false",
    "(fp_to_integer<32, 32, FPRounding::zero, false",
    "(fp_convert<32, 64",
    "(fp_convert<64, 32",
    "(vector_bitwise",
    "(duplicate_",
    "(modified_immediate",
    "(insert_",
    "(fp_vector_three<fp::Add>",
    "(fp_vector_three<fp::Sub>",
    "(fp_vector_three<fp::Mul>",
    "(fp_vector_three<fp::MulAdd>",
    "(fp_vector_three<fp::MulSub>",
    "(fp_vector_by_element<fp::Mul>",
    "(fp_vector_by_element<fp::MulAdd>",
    "(fp_vector_by_element<fp::MulSub>",
};
/// Of the base instruction set, what they seldom run, or what does much work each time.
constexpr const char* kRare[] = {
    "(store_exclusive",
    "(load_exclusive",
    "(access_ordered",
    "(read_system",
    "(write_system",
    "(clear_exclusive",
    "(divide",
    "(conditional_compare",
    "(add_sub_carry",
    "(access_imm<LoadPairSigned",
    "(access_literal",
};

/// An engine may keep what is rare out of the way of the rest.
constexpr bool is_rare(const char* text, const char* feature) {
  const bool base = same_text(feature, "BASE");
  if (base) {
    for (const char* prefix : kRare) {
      if (begins_with(text, prefix)) return true;
    }
  } else {
    for (const char* prefix : kCommon) {
      if (begins_with(text, prefix)) return false;
    }
  }
  return !base;
}

constexpr SemanticsTable make_semantics_table() {
  constexpr const char* kText[kRowCount] = {
      nullptr,
#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature) implemented_text(#semantics),
#define UNDEFINED(name, bits, reason) nullptr,
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED
  };
  constexpr const char* kFeature[kRowCount] = {
      nullptr,
#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature) #feature,
#define UNDEFINED(name, bits, reason) nullptr,
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED
  };
  SemanticsTable table = {};
  table.count[0] = table.count[1] = 1;
  // First rows by hash, so that a compiler that counts its steps gets through.
  constexpr u32 kSlots = 4096;
  static_assert(kRowCount < kSlots / 2, "the search below ends");
  u16 slots[kSlots] = {};
  for (u32 row = 1; row < kRowCount; row++) {
    if (kText[row] == nullptr) continue;
    u32 slot = 2166136261u;
    for (const char* c = kText[row]; *c != 0; c++) slot = (slot ^ (u32)(unsigned char)*c) * 16777619u;
    slot = (slot ^ slot >> 16) % kSlots;
    while (slots[slot] != 0 && !same_text(kText[slots[slot]], kText[row])) slot = (slot + 1) % kSlots;
    if (slots[slot] == 0) slots[slot] = (u16)row;
    const u32 first = slots[slot];
    table.first[row] = (u16)first;
    table.rare[row] = first == row ? is_rare(kText[row], kFeature[row]) : table.rare[first];
    table.id[row] = first == row ? table.count[table.rare[row]]++ : table.id[first];
  }
  return table;
}

}  // namespace detail

inline constexpr detail::SemanticsTable kSemantics = detail::make_semantics_table();

}  // namespace myriarm
