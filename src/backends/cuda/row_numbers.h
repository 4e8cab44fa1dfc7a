// SPDX-License-Identifier: Apache-2.0
// What the device calls the rows: a number for each semantics, the common ones and the rare ones by themselves. The
// interpreter's two switches and the host's predecoder agree through this file. It needs no CUDA, so that tests without
// it read common_rows.inc too.
#pragma once

#include "isa/semantics_ids.h"

namespace myriarm::cuda {
namespace detail {

constexpr RowSet base_rows() {
  RowSet base = {{
      false,
#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature) myriarm::detail::same_text(#feature, "BASE"),
#define UNDEFINED(name, bits, reason) false,
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED
  }};
  return base;
}
inline constexpr RowSet kBaseRows = base_rows();

constexpr RowSet rare_rows() {
  RowSet rare = {};
  for (u32 row = 0; row < kRowCount; row++) rare.has[row] = !kBaseRows.has[row];
#define COMMON(name) rare.has[kRow_##name] = false;
#define RARE(name) rare.has[kRow_##name] = true;
#include "backends/cuda/common_rows.inc"
#undef COMMON
#undef RARE
  return rare;
}

}  // namespace detail

inline constexpr RowSet kRareRows = detail::rare_rows();
inline constexpr SemanticsIds kSemantics = number_semantics(kRareRows);

/// The row whose case in a switch serves all rows with its semantics.
constexpr bool serves_its_semantics(u32 row) { return row != 0 && kFirstWithSemantics.row[row] == row; }

namespace detail {

#define COMMON(name)                                                                                    \
  static_assert(kFirstWithSemantics.row[kRow_##name] != 0, #name " has no semantics: common_rows.inc"); \
  static_assert(!kBaseRows.has[kRow_##name], #name " is of the base set, and common without an entry");
#define RARE(name)                                                                                      \
  static_assert(kFirstWithSemantics.row[kRow_##name] != 0, #name " has no semantics: common_rows.inc"); \
  static_assert(kBaseRows.has[kRow_##name], #name " is not of the base set, and rare without an entry");
#include "backends/cuda/common_rows.inc"
#undef COMMON
#undef RARE

template <Row kRow>
struct AgreesWithItsSemantics {
  static_assert(kRow == kRowUndefined,
                "this row is common and another one with the same semantics rare, or the reverse");
  static constexpr bool value = true;
};
static_assert(AgreesWithItsSemantics<first_inconsistent_row(kRareRows)>::value);

}  // namespace detail
}  // namespace myriarm::cuda
