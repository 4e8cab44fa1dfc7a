// SPDX-License-Identifier: Apache-2.0
// The kernel that runs translated code: a warp runs a team, as in the interpreter's kernel, but lanes visit regions. What a
// region refuses, and code that has none, the interpreter runs. It is no part of the library's own device code: it is
// compiled to a relocatable object, and the host links it with the regions (linked_regions.cpp).
#include "backends/cuda/interpreter/turns.cuh"
#include "backends/cuda/translated/region_table.h"
#include "translate/device_region.h"

extern "C" __device__ const myriarm::u64 myriarm_region_functions[];

namespace myriarm::cuda {
namespace {

/// The most instructions of a visit, so that all lanes of a warp come to look for orders.
constexpr u64 kVisit = 1u << 16;
/// The most instructions that are interpreted until the lanes meet again.
constexpr u32 kSteps = 256;
/// Registers are those of regions: see docs/design/translation-on-a-gpu.md.
constexpr u32 kBlocks = 6;

static_assert(translate::kDeviceTeam == kTeam && translate::kColumnFp == kSlotFp);

__device__ inline void fill_facts(translate::DeviceTeamFacts* facts, const View& view, u32 team, u32 columns) {
  const u64 first = lane_at(team, 0);
  facts->frames = (u64)view.frames;
  facts->table = (u64)table_of(view, team, 0);
  facts->first_page = view.first_page;
  facts->page_count = view.guest_pages;
  facts->vectors = (u64)(view.vectors + first);
  for (u32 i = 0; i < (u32)SystemField::count; i++) {
    facts->system[i] = (u64)(view.state + plane_of((SystemField)i) * view.lanes + first);
  }
  facts->vector_plane = view.plane_bytes;
  facts->granule_step = view.granule_step;
  facts->lane_step = (u32)view.lane_step;
  facts->columns = columns;
}

__device__ inline u32 place_in(const RegionTable& table, u32 at) {
  const u32 offset = at - table.begin;
  return offset < table.bytes ? __ldg(table.places + offset / 4) : 0;
}

/// Ends a turn: the count is what it is with nothing left of the quantum.
__device__ inline void settle(Interpreter<true>& cpu) {
  cpu.retires_at_zero = cpu.retired();
  cpu.left = 0;
}

/// Adds what the lanes of a warp have interpreted to the table's count. All members call it. Out of line, as everything is that
/// needs registers of the kernel for a short time.
__device__ __noinline__ void note_interpreted(const RegionTable& table, u32 members, u32 interpreted) {
  u32 sum = 0;
  for (u32 rest = members; rest != 0; rest &= rest - 1) sum += __shfl_sync(members, interpreted, __ffs(rest) - 1);
  if (threadIdx.x % kTeam == 0 && sum != 0) {
    atomicAdd_system((unsigned long long*)table.interpreted, (unsigned long long)sum);
  }
}

/// Visits the region of an entry. Returns whether the interpreter must run the next instruction.
__device__ inline bool visit(Interpreter<true>& cpu, const RegionEntry& entry, u32 team_facts, u64 remaining) {
  if (remaining <= entry.longest_run) return true;
  const u64 most = remaining - entry.longest_run;
  const u32 left = (u32)(most < kVisit ? most : kVisit);
  const auto region = (translate::DeviceRegionFunction)myriarm_region_functions[entry.region];
  const translate::DeviceRegionResult result = region(cpu.registers, entry.number, team_facts, left, cpu.nzcv);
  const u32 retired = left - result.left;
  cpu.retires_at_zero += retired;
  cpu.nzcv = result.nzcv & 15;
  cpu.next = cpu.at;
  if (retired != 0) cpu.branch_to(result.pc);
  cpu.at = cpu.next;
  return retired == 0 || (result.nzcv & translate::kRegionRefused) != 0;
}

}  // namespace
}  // namespace myriarm::cuda

using namespace myriarm;
using namespace myriarm::cuda;

extern "C" __global__ void __launch_bounds__(kWarps* kTeam, kBlocks)
    myriarm_run_translated(const __grid_constant__ View view, const __grid_constant__ RegionTable table) {
  extern __shared__ u64 shared[];
  const u32 warp = threadIdx.x / kTeam, lane_in_team = threadIdx.x % kTeam;
  const u32 team = blockIdx.x * kWarps + warp;
  if (team >= view.teams) return;
  const u32 lane = (u32)lane_at(team, lane_in_team);
  const u32 members = __ballot_sync(0xFFFFFFFFu, lane < view.lanes);
  if (lane >= view.lanes) return;
  const LaneBounds bounds = begin_lane<false>(view, lane);
  const u64 end = bounds.end;
  bool alive = bounds.alive;
  if (__ballot_sync(members, alive) == 0) return;

  const u32 columns = (u32)__cvta_generic_to_shared(shared) + warp * kSharedSlots * kTeam * 8;
  auto* facts = (translate::DeviceTeamFacts*)(shared + kWarps * kSharedSlots * kTeam) + warp;
  const u32 team_facts = (u32)__cvta_generic_to_shared(facts);
  if (lane_in_team == 0) fill_facts(facts, view, team, columns);
  __syncwarp(members);
  Interpreter<true> cpu{view, columns + lane_in_team * 8, table_of(view, team, lane_in_team), lane,
                        (u32)(lane_in_team * view.lane_step)};
  load_registers(cpu);
  cpu.nzcv = loaded_nzcv(view, lane);
  cpu.at = loaded_place(view, lane);
  const bool was_alive = alive;
  Code<true, true> code{view, 0, nullptr, 0};
  u32 reported = (u32)clock() - kReportCycles;
  volatile u32 interpreted = 0;  // in local memory: seldom used, it must take no register
  cpu.retires_at_zero = view.state[kPlaneInstructions * view.lanes + lane];

  for (;;) {
    __syncwarp(members);
    const bool used_up = alive && cpu.retired() >= end;
    if (__any_sync(members, used_up || (u32)clock() - reported >= kReportCycles)) {
      if (used_up) {
        view.stops[lane] = stop_record(StopCode::budget);
        alive = false;
      }
      const bool ordered = *(volatile u32*)&view.report->orders != 0;
      if (__any_sync(members, ordered || (u32)clock() - reported >= kReportCycles)) {
        reported = (u32)clock();
        note_interpreted(table, members, interpreted);
        interpreted = 0;
        if (was_alive) publish(view, lane, cpu.retired(), alive ? StopCode::none : view.stops[lane].code);
        if (follow_orders<true, false>(view, members, lane, cpu.at, alive)) break;
      }
    }
    const u32 live = __ballot_sync(members, alive);
    if (live == 0) break;
    const bool chosen = goes_on_first(cpu, members, live, alive);
    cpu.pending = Pending::none;
    if (chosen) {
      code.find(team);
      const bool has_regions = code.own_words == table.words && code.own_bytes == table.bytes;
      const u32 place = has_regions ? place_in(table, cpu.at) : 0;
      bool interprets = true;
      if (place != 0) interprets = visit(cpu, table.entries[place], team_facts, end - cpu.retired());
      for (u32 step = 0; interprets && step < kSteps && cpu.retired() < end; step++) {
        cpu.left = 1;
        cpu.retires_at_zero++;
        run_lane(cpu, code);
        settle(cpu);
        interpreted = interpreted + 1;
        interprets = cpu.pending == Pending::none && !(has_regions && place_in(table, cpu.at) != 0);
      }
      if (cpu.pending == Pending::stopped) {
        alive = false;
        if (retires_as_it_stops(view.stops[lane].code)) {
          cpu.retires_at_zero++;
          cpu.at += 4;
        }
      }
    }
    __syncwarp(members);
    if (copy_pending_pages(view, team, members, cpu.pending, alive)) reported -= kReportCycles;
  }

  note_interpreted(table, members, interpreted);
  const u64 retired = cpu.retired();
  end_lane<false>(view, members, lane, was_alive, retired);
  if (was_alive) store_registers(cpu, 0);
}
