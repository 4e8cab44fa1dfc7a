// SPDX-License-Identifier: Apache-2.0
// Every row as a function over RegionCpu, with its operands as two constants: for the files that clang compiles to bitcode,
// which define RegionCpu before they include this. The translator builds regions of calls of these functions and inlines
// them all.
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
#define A64(name, syntax, bits, form, semantics, feature)                 \
  MYR_ROW u8 myriarm_row_##name(RegionCpu* cpu, u64 registers, u64 imm) { \
    return (u8)semantics(*cpu, operands_of(registers, imm));              \
  }
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED

extern "C" {
extern const u64 myriarm_cpu_size;
const u64 myriarm_cpu_size = sizeof(RegionCpu);
}

MYR_ROW void myriarm_at(RegionCpu* cpu, u64 pc) { cpu->at = pc; }
MYR_ROW u64 myriarm_next(RegionCpu* cpu) { return cpu->next; }
