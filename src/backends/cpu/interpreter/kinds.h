// SPDX-License-Identifier: Apache-2.0
// The kinds of predecoded instructions. Only the files that make kinds and dispatch on them include this: it depends on
// every row, and the rest of the backend does not.
#pragma once

#include "isa/rows.h"

namespace myriarm::cpu {

/// What the interpreter dispatches on: the rows, then the specialisations (specialisations.inc), then markers.
enum Kind : u16 {
  kKindFirst = kRowCount - 1,
#define NEAR(row) kKind_near_##row,
#define PIN(name, from, condition, pins) kKind_##name,
#define FUSE(name, first, second) kKind_##name,
#include "backends/cpu/interpreter/specialisations.inc"
#undef NEAR
#undef PIN
#undef FUSE
  kKindFar,   // a branch to lane.far_pc, which is outside the current region
  kKindEnd,   // the word after the last of a region
  kKindLazy,  // not decoded yet; only in a lane's own regions
  kKindCount
};

}  // namespace myriarm::cpu
