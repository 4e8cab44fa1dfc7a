// SPDX-License-Identifier: Apache-2.0
// Which rows can branch, and which of these are calls and returns. The semantics compute the target; engines need to
// know before they execute a row whether it can branch. tests/unit/control_flow_test.cpp compares this list with the
// semantics.
#pragma once

#include "isa/rows.h"

namespace myriarm {

enum class Flow : u8 {
  next,    // never branches
  branch,  // branches, or may: B, B.cond, CBZ, TBZ, BR
  call,    // BL, BLR
  ret,     // RET
};

constexpr Flow flow_of(u16 row) {
  switch (row) {
    case kRow_B_only_branch_imm:
    case kRow_B_only_condbranch:
    case kRow_CBZ_32_compbranch:
    case kRow_CBNZ_32_compbranch:
    case kRow_CBZ_64_compbranch:
    case kRow_CBNZ_64_compbranch:
    case kRow_TBZ_only_testbranch:
    case kRow_TBNZ_only_testbranch:
    case kRow_BR_64_branch_reg: return Flow::branch;
    case kRow_BL_only_branch_imm:
    case kRow_BLR_64_branch_reg: return Flow::call;
    case kRow_RET_64R_branch_reg: return Flow::ret;
    default: return Flow::next;
  }
}

/// Whether the row branches to an offset from its own address, which the instruction word contains.
constexpr bool is_relative(u16 row) {
  return flow_of(row) != Flow::next && row != kRow_BR_64_branch_reg && row != kRow_BLR_64_branch_reg &&
         row != kRow_RET_64R_branch_reg;
}

}  // namespace myriarm
