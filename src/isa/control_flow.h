// SPDX-License-Identifier: Apache-2.0
// Which rows can continue elsewhere than at the next instruction. The semantics decide where; engines that follow a
// group of lanes need to know when lanes can part. tests/unit/control_flow_test.cpp holds this list to the semantics.
#pragma once

#include "isa/rows.h"

namespace myriarm {

enum class Flow : u8 {
  next,         // never branches
  always,       // always branches, to a place that the instruction word gives: lanes stay together
  conditional,  // branches or goes on, to a place that the instruction word gives
  indirect,     // branches to a place that a register gives
};

constexpr Flow flow_of(u16 row) {
  switch (row) {
    case kRow_B_only_branch_imm:
    case kRow_BL_only_branch_imm: return Flow::always;
    case kRow_B_only_condbranch:
    case kRow_CBZ_32_compbranch:
    case kRow_CBNZ_32_compbranch:
    case kRow_CBZ_64_compbranch:
    case kRow_CBNZ_64_compbranch:
    case kRow_TBZ_only_testbranch:
    case kRow_TBNZ_only_testbranch: return Flow::conditional;
    case kRow_BR_64_branch_reg:
    case kRow_BLR_64_branch_reg:
    case kRow_RET_64R_branch_reg: return Flow::indirect;
    default: return Flow::next;
  }
}

}  // namespace myriarm
