// SPDX-License-Identifier: Apache-2.0
// Numbers for the semantics of rows. Rows with the same semantics function share a number: for example acquire and
// release variants, which do not differ in a lane that no other lane can observe. A kernel's switch over these numbers
// is shorter and denser than one over rows.
#pragma once

#include "isa/rows.h"

namespace myriarm {
namespace detail {

constexpr bool same_text(const char* a, const char* b) {
  while (*a != 0 && *a == *b) a++, b++;
  return *a == *b;
}

/// The semantics column as text; null if the row is not implemented.
constexpr const char* implemented_text(const char* text) { return same_text(text, "todo") ? nullptr : text; }

}  // namespace detail

/// A set of rows, indexed by Row.
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

/// For each row the first row with the same semantics; 0 if the row is not implemented.
inline constexpr FirstRows kFirstWithSemantics = make_first_rows();

/// Numbers of semantics, for an engine that keeps the rare ones out of its main switch.
struct SemanticsIds {
  u16 id[kRowCount];  // two sequences from 1: one of common semantics, one of rare ones; 0: not implemented
  u16 count[2];       // of ids in use, with 0: of common semantics, and of rare ones
};

/// Semantics are rare if the first row that has them is in `rare`.
constexpr SemanticsIds number_semantics(const RowSet& rare) {
  SemanticsIds ids = {};
  ids.count[0] = ids.count[1] = 1;
  for (u32 row = 1; row < kRowCount; row++) {
    const u32 first = kFirstWithSemantics.row[row];
    if (first != 0) ids.id[row] = first == row ? ids.count[rare.has[row]]++ : ids.id[first];
  }
  return ids;
}

/// The first row that is in the set although the first row with the same semantics is not, or the reverse;
/// kRowUndefined if there is none.
constexpr Row first_inconsistent_row(const RowSet& set) {
  for (u32 row = 1; row < kRowCount; row++) {
    const u32 first = kFirstWithSemantics.row[row];
    if (first != 0 && set.has[row] != set.has[first]) return (Row)row;
  }
  return kRowUndefined;
}

}  // namespace myriarm
