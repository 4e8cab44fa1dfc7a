// SPDX-License-Identifier: Apache-2.0
// The kinds of predecoded instructions. Only the files that make kinds and dispatch on them include this: it depends on
// every row, and the rest of the backend does not.
#pragma once

#include "isa/rows.h"

namespace myriarm::cpu {

/// What the interpreter dispatches on: the rows, then the specialisations (specialisations.inc), then markers. No word
/// has kind kRowUndefined, whose number is that of kKindFar.
enum Kind : u16 {
  kKindFar = 0,  // the word has no predecoded instruction: find the one at its address
  kKindFirst = kRowCount - 1,
#define NEAR(row) kKind_near_##row,
#define PIN(name, from, condition, pins) kKind_##name,
#define FUSE(name, first, second) kKind_##name,
#include "backends/cpu/interpreter/specialisations.inc"
#undef NEAR
#undef PIN
#undef FUSE
  kKindUndefined,  // the word is no instruction
  kKindLazy,       // written to and not decoded since; only in code that one lane has for itself
  kKindRegion,     // an entry of a region of translated code; only in published code
  kKindCount
};
// So that memory which the host gives, all zeros, is an array without predecoded instructions.
static_assert(u32{kRowUndefined} == u32{kKindFar});

}  // namespace myriarm::cpu
