// SPDX-License-Identifier: Apache-2.0
// The semantics of a row, by number, for tests that go through the table. Engines make their own dispatch from it.
#pragma once

#include "core/semantics.h"
#include "isa/rows.h"

namespace myriarm {

/// Runs one instruction of the given row. With a constant row this is a direct call.
template <class Cpu>
MYR_FN Outcome execute_row(u32 row, Cpu& cpu, const Operands& o) {
  switch (row) {
#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature) \
  case kRow_##name:                                       \
    return semantics(cpu, o);
#define UNDEFINED(name, bits, reason)
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED
    default: return cpu.undefined();
  }
}

}  // namespace myriarm
