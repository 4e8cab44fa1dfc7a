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

/// What compiled programs seldom run, and what does much work each time. An engine may keep it out of the way of the rest.
constexpr bool is_rare(const char* text, const char* feature) {
  if (!same_text(feature, "BASE")) return true;
  constexpr const char* kRare[] = {
      "(store_exclusive",
      "(load_exclusive",
      "(access_ordered",
      "(read_system",
      "(write_system",
      "(zero_block",
      "(clear_exclusive",
      "(divide",
      "(conditional_compare",
      "(add_sub_carry",
      "(access_imm<LoadPairSigned",
      "(access_literal",
  };
  for (const char* prefix : kRare) {
    if (begins_with(text, prefix)) return true;
  }
  return false;
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
    table.rare[row] = is_rare(kText[row], kFeature[row]);
    table.id[row] = first == row ? table.count[table.rare[row]]++ : table.id[first];
  }
  return table;
}

}  // namespace detail

inline constexpr detail::SemanticsTable kSemantics = detail::make_semantics_table();

}  // namespace myriarm
