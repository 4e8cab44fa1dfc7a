// SPDX-License-Identifier: Apache-2.0
// Every row, and what a region does besides rows, as functions over a HostCpu. clang compiles this file to bitcode when
// myriarm is built; the translator builds regions of calls of these functions and inlines them all.
#include "translate/host_cpu.h"

#define MYR_ROW extern "C" __attribute__((always_inline))

namespace myriarm::translate {
namespace {

/// Operands from constants: the registers in one number, and what the form made of the immediate.
MYR_FN Operands operands_of(u64 registers, u64 imm) {
  Operands o = {};
  o.rd = (u8)registers;
  o.rn = (u8)(registers >> 8);
  o.rm = (u8)(registers >> 16);
  o.ra = (u8)(registers >> 24);
  o.imm = imm;
  return o;
}

}  // namespace
}  // namespace myriarm::translate

using namespace myriarm;
using namespace myriarm::translate;

#define GROUP(name, title)
#define UNDEFINED(name, bits, reason)
#define A64(name, syntax, bits, form, semantics, feature)               \
  MYR_ROW u8 myriarm_row_##name(HostCpu* cpu, u64 registers, u64 imm) { \
    return (u8)semantics(*cpu, operands_of(registers, imm));            \
  }
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED

extern "C" {
extern const u64 myriarm_cpu_size;
const u64 myriarm_cpu_size = sizeof(HostCpu);
}

/// Loads everything: what the region does not use, LLVM removes.
MYR_ROW void myriarm_begin(HostCpu* cpu, LaneState* lane, u64 limit) {
  cpu->lane = lane;
  lane->region_limit = limit;
  cpu->count = lane->retired - limit;
  cpu->at = cpu->next = 0;
  cpu->set_flags(lane->flags());
}
MYR_ROW void myriarm_load_r(HostCpu* cpu, u32 slot) { cpu->x[slot] = cpu->lane->r[slot]; }
MYR_ROW void myriarm_load_v(HostCpu* cpu, u32 half) { cpu->vectors[half] = cpu->lane->v[half]; }
MYR_ROW void myriarm_load_system(HostCpu* cpu, u32 field) { cpu->fields[field] = cpu->lane->system[field]; }
MYR_ROW void myriarm_store_flags(HostCpu* cpu) { cpu->lane->set_flags(cpu->flags()); }
MYR_ROW void myriarm_end(HostCpu* cpu, u64 pc) {
  cpu->lane->pc = pc;
  cpu->lane->retired = cpu->retired();
}
MYR_ROW void myriarm_at(HostCpu* cpu, u64 pc) { cpu->at = pc; }
MYR_ROW void myriarm_retire(HostCpu* cpu, u64 instructions) { cpu->count += instructions; }
MYR_ROW bool myriarm_limit_reached(HostCpu* cpu) { return (i64)cpu->count >= 0; }
MYR_ROW u64 myriarm_next(HostCpu* cpu) { return cpu->next; }
