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

/// The semantics column as text; null where nothing is implemented.
constexpr const char* implemented_text(const char* text) { return same_text(text, "todo") ? nullptr : text; }

}  // namespace detail

/// A property of rows, indexed by Row.
struct RowSet {
  bool has[kRowCount];
};

struct FirstRows {
  u16 row[kRowCount];
};

constexpr FirstRows make_first_rows() {
  constexpr const char* kText[kRowCount] = {
      nullptr,
#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature) detail::implemented_text(#semantics),
#define UNDEFINED(name, bits, reason) nullptr,
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED
  };
  FirstRows first = {};
  // First rows by hash, so that the compiler stays below its limit of constexpr steps.
  constexpr u32 kSlots = 4096;
  static_assert(kRowCount < kSlots / 2, "the search below ends");
  u16 slots[kSlots] = {};
  for (u32 row = 1; row < kRowCount; row++) {
    if (kText[row] == nullptr) continue;
    u32 slot = 2166136261u;
    for (const char* c = kText[row]; *c != 0; c++) slot = (slot ^ (u32)(unsigned char)*c) * 16777619u;
    slot = (slot ^ slot >> 16) % kSlots;
    while (slots[slot] != 0 && !detail::same_text(kText[slots[slot]], kText[row])) slot = (slot + 1) % kSlots;
    if (slots[slot] == 0) slots[slot] = (u16)row;
    first.row[row] = slots[slot];
  }
  return first;
}

/// For each row the first row with the same semantics; 0 where none are implemented.
inline constexpr FirstRows kFirstWithSemantics = make_first_rows();

/// Numbers of semantics, for an engine that keeps some of them (`apart`) out of its main switch.
struct SemanticsIds {
  u16 id[kRowCount];  // two sequences from 1, one of those apart, one of the rest; 0: not implemented
  u16 count[2];       // ids in use, of the rest and of those apart; 0 among them
};

/// Semantics are apart if the first row that has them is in `apart`.
constexpr SemanticsIds number_semantics(const RowSet& apart) {
  SemanticsIds ids = {};
  ids.count[0] = ids.count[1] = 1;
  for (u32 row = 1; row < kRowCount; row++) {
    const u32 first = kFirstWithSemantics.row[row];
    if (first != 0) ids.id[row] = first == row ? ids.count[apart.has[row]]++ : ids.id[first];
  }
  return ids;
}

/// The first row that is in the set while the first row with its semantics is not, or the reverse; kRowUndefined if
/// there is none.
constexpr Row parted_from_its_semantics(const RowSet& set) {
  for (u32 row = 1; row < kRowCount; row++) {
    const u32 first = kFirstWithSemantics.row[row];
    if (first != 0 && set.has[row] != set.has[first]) return (Row)row;
  }
  return kRowUndefined;
}

}  // namespace myriarm
