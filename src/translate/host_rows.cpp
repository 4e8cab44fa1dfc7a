// SPDX-License-Identifier: Apache-2.0
// Every row, and what a region does besides rows, as functions over a HostCpu. clang compiles this file to bitcode when
// myriarm is built.
#include "translate/host_cpu.h"

namespace myriarm::translate {
using RegionCpu = HostCpu;
}
#include "translate/row_entries.h"

/// Loads everything: what the region does not use, LLVM removes.
MYR_ROW void myriarm_begin(HostCpu* cpu, LaneState* lane, u64 count) {
  cpu->lane = lane;
  cpu->count = count;
  cpu->at = cpu->next = 0;
  cpu->place = 0;
  static_cast<FlagSource<1>&>(*cpu) = lane->region_flags;
}
MYR_ROW void myriarm_place(HostCpu* cpu, u32 place) { cpu->place = place; }
MYR_ROW void myriarm_load_r(HostCpu* cpu, u32 slot) { cpu->x[slot] = cpu->lane->r[slot]; }
MYR_ROW void myriarm_load_v(HostCpu* cpu, u32 half) { cpu->vectors[half] = cpu->lane->v[half]; }
MYR_ROW void myriarm_load_system(HostCpu* cpu, u32 field) { cpu->fields[field] = cpu->lane->system[field]; }
MYR_ROW void myriarm_store_flags(HostCpu* cpu) { cpu->lane->region_flags = *cpu; }
MYR_ROW void myriarm_end(HostCpu* cpu, u64 pc) {
  cpu->lane->pc = pc;
  cpu->lane->retired = cpu->retired();
}
MYR_ROW void myriarm_retire(HostCpu* cpu, u64 instructions) { cpu->count += instructions; }
MYR_ROW bool myriarm_limit_reached(HostCpu* cpu) { return (i64)cpu->count >= 0; }
/// The entry at which the lane goes on if it leaves the region for `pc`; null if it returns.
MYR_ROW const EntryPoint* myriarm_next_region(HostCpu* cpu, u64 pc) {
  return myriarm_limit_reached(cpu) ? nullptr : cpu->lane->entries.at(pc);
}
MYR_ROW RegionFunction myriarm_next_run(HostCpu*, const EntryPoint* at) { return at->run; }
MYR_ROW u64 myriarm_next_number(HostCpu*, const EntryPoint* at) { return at->number; }
MYR_ROW u64 myriarm_count(HostCpu* cpu) { return cpu->count; }
