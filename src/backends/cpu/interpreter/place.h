// SPDX-License-Identifier: Apache-2.0
// Where the interpreter is in its predecoded instructions: what only the interpreter keeps in a lane. Valid while it
// runs the lane.
#pragma once

#include <utility>

#include "core/operands.h"

namespace myriarm::cpu {

class SpaceEntries;

struct InterpreterPlace {
  const Operands* op = nullptr;  // the next instruction
  u64 bias = 0;                  // retired instructions * 16, less the address of `op`: see Handler

  const Operands* code = nullptr;  // of the current area
  u64 code_address = 0;            // its first guest address
  u64 code_bytes = 0;              // bytes of guest code in it
  // The area that the lane was in before, of the same space; none if it has no bytes.
  const Operands* other_code = nullptr;
  u64 other_address = 0, other_bytes = 0;
  const SpaceEntries* entries = nullptr;  // where translated code begins, of all areas
  u64 far_pc = 0;                         // target of a branch out of the area
  Operands far = {};                      // the marker that such a branch goes to, so that far_handler() runs
  u64 fast_limit = 0;                     // retired * 16 at which a taken branch leaves the fast handlers
  u64 step_limit = 0;                     // retired * 16 at which the stepping handlers leave, exactly

  /// Makes the area before the current one, and that one the area before.
  void change_areas() {
    std::swap(code, other_code);
    std::swap(code_address, other_address);
    std::swap(code_bytes, other_bytes);
  }
  u64 pc_of(const Operands* at) const {
    return code_address + ((reinterpret_cast<u64>(at) - reinterpret_cast<u64>(code)) >> 2);
  }
};

}  // namespace myriarm::cpu
