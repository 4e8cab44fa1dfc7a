// SPDX-License-Identifier: Apache-2.0
// Every row, and what a region does besides rows, as functions over a DeviceCpu. clang compiles this file to bitcode for a
// GPU when myriarm is built.
#include "translate/device_cpu.h"

namespace myriarm::translate {
using RegionCpu = DeviceCpu;
}
#include "translate/row_entries.h"

MYR_ROW void myriarm_begin(DeviceCpu* cpu, u32 column, u32 team, u32 left, u32 nzcv) {
  cpu->column = column;
  cpu->team = (const MYR_SHARED DeviceTeamFacts*)(u64)team;
  cpu->left = left;
  cpu->aim = nzcv >> kAimShift;
  cpu->at = cpu->next = 0;
  cpu->zeroed = 0;
  cpu->keeps = cpu->in_span = cpu->hits = false;
  for (u32 i = 0; i < kKeptPages; i++) cpu->kept_pages[i] = {};
  cpu->set_source(FlagKind::packed, nzcv & 15, 0);
}
MYR_ROW void myriarm_load_r(DeviceCpu* cpu, u32 slot) { cpu->x[slot] = *cpu->slot(slot); }
MYR_ROW void myriarm_store_r(DeviceCpu* cpu, u32 slot) { *cpu->slot(slot) = cpu->x[slot]; }
MYR_ROW void myriarm_load_v(DeviceCpu* cpu, u32 half) { cpu->vectors[half] = *cpu->vector_half(half); }
MYR_ROW void myriarm_store_v(DeviceCpu* cpu, u32 half) { *cpu->vector_half(half) = cpu->vectors[half]; }
// The same for registers that have no place in the region but this. Volatile, so that the optimiser keeps no copy of them.
MYR_ROW void myriarm_fetch_r(DeviceCpu* cpu, u32 slot) {
  cpu->x[slot] = *(const volatile MYR_SHARED u64*)cpu->slot(slot);
}
MYR_ROW void myriarm_put_r(DeviceCpu* cpu, u32 slot) { *(volatile MYR_SHARED u64*)cpu->slot(slot) = cpu->x[slot]; }
MYR_ROW void myriarm_forget_r(DeviceCpu* cpu, u32 slot) { cpu->x[slot] = 0; }
MYR_ROW void myriarm_forget_v(DeviceCpu* cpu, u32 half) { cpu->vectors[half] = 0; }
MYR_ROW void myriarm_fetch_v(DeviceCpu* cpu, u32 half) {
  cpu->vectors[half] = *(const volatile MYR_GLOBAL u64*)cpu->vector_half_anew(half);
}
MYR_ROW void myriarm_put_v(DeviceCpu* cpu, u32 half) {
  *(volatile MYR_GLOBAL u64*)cpu->vector_half_anew(half) = cpu->vectors[half];
}
// The upper half of vector register n is 0 from now on; and stores that where the region ends.
MYR_ROW void myriarm_zero_upper(DeviceCpu* cpu, u32 n) { cpu->zeroed |= 1u << n; }
MYR_ROW void myriarm_store_zero_upper(DeviceCpu* cpu, u32 n) {
  if ((cpu->zeroed >> n & 1) != 0) *cpu->vector_half(2 * n + 1) = 0;
}
// What instructions of a group change, so that it can be as it was before them.
MYR_ROW void myriarm_begin_group(DeviceCpu* cpu) { cpu->gave_up = false; }
MYR_ROW bool myriarm_gave_up(DeviceCpu* cpu) { return cpu->gave_up; }
MYR_ROW u64 myriarm_r(DeviceCpu* cpu, u32 slot) { return cpu->x[slot]; }
MYR_ROW void myriarm_set_r(DeviceCpu* cpu, u32 slot, u64 value) { cpu->x[slot] = value; }
MYR_ROW u64 myriarm_v(DeviceCpu* cpu, u32 half) { return cpu->vectors[half]; }
MYR_ROW void myriarm_set_v(DeviceCpu* cpu, u32 half, u64 value) { cpu->vectors[half] = value; }
MYR_ROW u64 myriarm_system(DeviceCpu* cpu, u32 field) { return cpu->fields[field]; }
MYR_ROW void myriarm_set_system(DeviceCpu* cpu, u32 field, u64 value) { cpu->fields[field] = value; }
MYR_ROW u64 myriarm_flag_part(DeviceCpu* cpu, u32 part) {
  return part == 0 ? cpu->operand1 : part == 1 ? cpu->operand2 : cpu->source;
}
MYR_ROW void myriarm_set_flag_part(DeviceCpu* cpu, u32 part, u64 value) {
  if (part == 0) cpu->operand1 = value;
  if (part == 1) cpu->operand2 = value;
  if (part == 2) cpu->source = (u32)value;
}
// Before and after an instruction with the kept page of this number.
MYR_ROW void myriarm_begin_kept(DeviceCpu* cpu, u32 number, u32 size) {
  cpu->size = size;
  cpu->kept = cpu->kept_pages[number];
  cpu->keeps = true;
}
MYR_ROW void myriarm_end_kept(DeviceCpu* cpu, u32 number) {
  cpu->kept_pages[number] = cpu->kept;
  cpu->keeps = false;
}
// Whether the bytes of a span lie side by side in one page, where nothing but an access by itself is to be done. Then accesses to
// them go to their place, until myriarm_end_access().
MYR_ROW bool myriarm_find_span(DeviceCpu* cpu, u32 number, u32 base, u64 begin, u32 bytes, bool loads, bool stores) {
  const u64 address = cpu->r(base) + begin;
  const DeviceMemory memory = cpu->memory();
  const u64 page = memory.page_of(address);
  const u32 offset = (u32)address & (kPageSize - 1);
  if (!memory.whole<8>(offset) || offset + bytes > kPageSize || !(page < memory.page_count)) return false;
  const u32 entry = memory.entry(page);
  if ((loads && !fast_readable(entry)) || (stores && !fast_writable(entry))) return false;
  cpu->spans[number].address = address;
  cpu->spans[number].begin = (u64)(MYR_GLOBAL u8*)memory.locate(entry, offset);
  cpu->spans[number].granule_step = kLanesDiffer                 ? cpu->page.granule_step
                                    : (entry & kPageShared) != 0 ? 1
                                                                 : cpu->team->granule_step;
  return true;
}
MYR_ROW void myriarm_begin_access(DeviceCpu* cpu, u32 span, u32 bytes) {
  cpu->in_span = true;
  cpu->span = cpu->spans[span];
  cpu->span_bytes = bytes;
}
MYR_ROW void myriarm_end_access(DeviceCpu* cpu) { cpu->in_span = false; }
MYR_ROW void myriarm_load_system(DeviceCpu* cpu, u32 field) {
  switch ((SystemField)field) {
    case SystemField::fpcr: cpu->fields[field] = (u32)*cpu->slot(kColumnFp); break;
    case SystemField::fpsr: cpu->fields[field] = *cpu->slot(kColumnFp) >> 32; break;
    default: cpu->fields[field] = *cpu->plane((SystemField)field);
  }
}
MYR_ROW void myriarm_store_system(DeviceCpu* cpu, u32 field) {
  MYR_SHARED u32* fp = (MYR_SHARED u32*)cpu->slot(kColumnFp);
  switch ((SystemField)field) {
    case SystemField::fpcr: fp[0] = (u32)cpu->fields[field]; break;
    case SystemField::fpsr: fp[1] = (u32)cpu->fields[field]; break;
    default: *cpu->plane((SystemField)field) = cpu->fields[field];
  }
}
MYR_ROW u32 myriarm_nzcv(DeviceCpu* cpu) { return pack_flags(cpu->flags()); }
MYR_ROW u32 myriarm_left(DeviceCpu* cpu) { return cpu->left; }
MYR_ROW void myriarm_retire(DeviceCpu* cpu, u64 instructions) { cpu->left -= (u32)instructions; }
MYR_ROW bool myriarm_limit_reached(DeviceCpu* cpu) { return (i32)cpu->left <= 0; }
MYR_ROW bool myriarm_aim_reached(DeviceCpu* cpu) { return (i32)cpu->left <= (i32)cpu->aim; }
MYR_ROW void myriarm_put_aim(DeviceCpu* cpu) { *(volatile MYR_SHARED u32*)cpu->slot(kColumnAim) = cpu->aim; }
MYR_ROW bool myriarm_put_aim_reached(DeviceCpu* cpu) {
  return (i32)cpu->left <= *(const volatile MYR_SHARED i32*)cpu->slot(kColumnAim);
}
