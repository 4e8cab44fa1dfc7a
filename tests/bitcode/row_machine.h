// SPDX-License-Identifier: Apache-2.0
// The state of a machine that executes one row at a time, and the functions that the rows' bitcode calls. Only plain
// data and functions with C linkage, because different compilers make the test and the bitcode.
#pragma once

#include "core/cpu.h"

namespace myriarm::bitcode {

struct RowMachine {
  /// 32 for NVPTX, so that the rows are compiled for the interleaved frames of a team too.
  static constexpr u32 kTeam = MYR_DEVICE ? 32 : 1;

  u64 x[kSlotCount];
  u64 v[64];   // lower and upper half of each register
  u64 pc;      // of the instruction
  u64 target;  // of the branch, if a row returns Outcome::branch
  u64 retired;
  u64 system[static_cast<int>(SystemField::count)];
  u64 nzcv;
  StopRecord stop;
  u8* frames;
  u32* table;  // the page table, from address 0 on
  u64 page_count;

  MYR_FN PagedMemory<kTeam> memory() const { return {frames, table, 0, page_count, 0}; }
};

using RowFunction = Outcome (*)(RowMachine*, const Operands*);

}  // namespace myriarm::bitcode

extern "C" {
/// The slow path of memory, as core/cpu.h describes it. The value of a load comes back in `value`.
bool myriarm_load_slow(myriarm::bitcode::RowMachine*, uint64_t address, uint32_t size, uint64_t* value);
bool myriarm_store_slow(myriarm::bitcode::RowMachine*, uint64_t address, uint64_t value, uint32_t size);
bool myriarm_store_pair_slow(myriarm::bitcode::RowMachine*, uint64_t address, uint64_t first, uint64_t second,
                             uint32_t size);

// A function each row: myriarm_row_ADD_64_addsub_imm(machine, operands).
#define GROUP(name, title)
#define UNDEFINED(name, bits, reason)
#define A64(name, syntax, bits, form, semantics, feature) \
  myriarm::Outcome myriarm_row_##name(myriarm::bitcode::RowMachine*, const myriarm::Operands*);
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED
}
