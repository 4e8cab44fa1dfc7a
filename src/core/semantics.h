// SPDX-License-Identifier: Apache-2.0
// All semantics, for the files that make an engine from the instruction table.
#pragma once

#include "core/integer/add_sub.h"
#include "core/integer/atomic.h"
#include "core/integer/branch.h"
#include "core/integer/exclusive.h"
#include "core/integer/load_store.h"

namespace myriarm {

/// The semantics of a row that is known and not written yet.
template <class Cpu>
MYR_FN Outcome todo(Cpu& cpu, const Operands&) {
  return cpu.undefined();
}

}  // namespace myriarm
