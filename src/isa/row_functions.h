// SPDX-License-Identifier: Apache-2.0
// The semantics of every row as a function that can be called through a pointer: for an engine that calls rows out of
// line, on the host or on the device. Rows with the same semantics share a function.
#pragma once

#include "core/semantics.h"
#include "isa/rows.h"

namespace myriarm {

template <class Cpu>
using RowFunction = Outcome (*)(Cpu& cpu, const Operands& operands);

/// The function of a word that has no row, or whose row is not implemented.
template <class Cpu>
MYR_FN Outcome undefined_row(Cpu& cpu, const Operands&) {
  return cpu.undefined();
}

/// The functions, indexed by Row. Its instantiation compiles all semantics for the policy.
template <class Cpu>
MYR_TABLE RowFunction<Cpu> kRowFunctions[kRowCount] = {
    undefined_row<Cpu>,
#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature) semantics,
#define UNDEFINED(name, bits, reason) undefined_row<Cpu>,
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED
};

}  // namespace myriarm
