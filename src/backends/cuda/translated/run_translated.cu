// SPDX-License-Identifier: Apache-2.0
// The kernel that runs translated code, of processes and of other programs: a team runs as in the interpreter's kernel for
// processes, but lanes visit regions. What a region refuses, and code that has none, is interpreted. It is no part of the library's
// own device code: it is compiled to a relocatable object, and the host links it with the regions (linked_regions.cpp).
#include "backends/cuda/interpreter/run_process_kernel.cuh"
#include "backends/cuda/translated/region_table.h"
#include "translate/find_page.h"
#if !defined(__CUDACC__)
#include <emulated_gpu/modules.h>

#include "backends/cuda/translated/kernel_code.h"
#endif

namespace myriarm::cuda {
namespace {

/// The instructions of a visit where not all lanes of the team go on together, so that those that fall behind catch up and join the
/// others.
constexpr u32 kPartedVisit = 128;
/// The most instructions that are interpreted one by one until the lanes meet again.
constexpr u32 kSteps = 256;
/// How TranslatedTurns counts visits: all in the lower half of a word, those that a lane leads in the upper half. Between two
/// reports, some milliseconds apart, there are some ten thousand at most.
constexpr u32 kLed = 1u << 16;
/// What a lane interprets between two notes of where it was.
constexpr u32 kColdQuantum = 512;

// Six blocks of four warps each on an SM with 228 KiB, of which each block takes 1 KiB for itself.
static_assert(kManyBlocks *
                  (kWarps * (kSharedSlots * kTeam * sizeof(u64) + sizeof(translate::DeviceTeamFacts)) + 1024) <=
              228 * 1024);
static_assert(translate::kDeviceTeam == kTeam && translate::kColumnFp == kSlotFp &&
              translate::kColumnAim == kSlotPlace);
static_assert(translate::kTableFrontBytes == kTableFront * sizeof(u32));

__device__ __noinline__ void fill_facts(translate::DeviceTeamFacts* facts, const View& view, u32 team, u32 columns) {
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
  for (u64& found : facts->found) found = translate::kNoFoundEntry;
}

/// The entries that regions have found count no more. All members call it.
__device__ inline void forget_found(translate::DeviceTeamFacts* facts, u32 members) {
  for (u32 i = threadIdx.x % kTeam; i < translate::kFoundEntries; i += __popc(members)) {
    facts->found[i] = translate::kNoFoundEntry;
  }
  __syncwarp(members);
}

__device__ inline u32 sum_of(u32 members, u32 value) {
  if (members == ~0u) {
    for (u32 apart = kTeam / 2; apart != 0; apart /= 2) value += __shfl_xor_sync(~0u, value, apart);
    return value;
  }
  u32 sum = 0;
  for (u32 rest = members; rest != 0; rest &= rest - 1) sum += __shfl_sync(members, value, __ffs(rest) - 1);
  return sum;
}

/// Adds what the lanes of a warp have done to the table's counts. All members call it. Out of line, as everything is that needs
/// registers of the kernel for a short time.
__device__ __noinline__ void note_counts(const RegionTable& table, u32 members, u32 interpreted, u32 visits) {
  const u32 sums[] = {sum_of(members, interpreted), sum_of(members, visits / kLed), sum_of(members, visits % kLed)};
  if (threadIdx.x % kTeam != 0) return;
  unsigned long long* const counts[] = {(unsigned long long*)&table.counts->interpreted,
                                        (unsigned long long*)&table.counts->visits,
                                        (unsigned long long*)&table.counts->lanes_in_visits};
  for (int i = 0; i < 3; i++) {
    if (sums[i] != 0) atomicAdd(counts[i], (unsigned long long)sums[i]);
  }
}

/// From now on regions find pages in the table of this lane of the team, which goes on. Returns whether the thread's lane is in an
/// address space with the same table. All members call it. Out of line, as above.
__device__ __noinline__ bool choose_table(translate::DeviceTeamFacts* facts, u32 members, u64 table, u32 leader) {
  const u64 chosen = __shfl_sync(members, table, leader);
  if (facts->table != chosen) {
    __syncwarp(members);
    if (threadIdx.x % kTeam == 0) facts->table = chosen;
    forget_found(facts, members);
  }
  return table == chosen;
}

/// Runs the region whose function has this address.
__device__ inline translate::DeviceRegionResult call_region(u64 function, u32 column, u32 entry, u32 team, u32 left,
                                                            u32 nzcv) {
#if defined(__CUDACC__)
  return ((translate::DeviceRegionFunction)function)(column, entry, team, left, nzcv);
#else
  translate::DeviceRegionResult result;
  const u32 arguments[] = {column, entry, team, left, nzcv};
  emulated_gpu::call_function(function, arguments, {(u8*)&result, sizeof result});
  return result;
#endif
}

/// Visits the region of an entry for so many instructions, if they remain. Returns whether the interpreter must run the next one.
template <class Cpu>
__device__ inline bool visit(Cpu& cpu, const RegionEntry& entry, u32 team_facts, u64 remaining, u32 aimed, u32 beyond) {
  if (remaining <= entry.longest_run) return true;
  const u64 most = remaining - entry.longest_run;
  const u32 longest = aimed + beyond, left = (u32)(most < longest ? most : longest);
  const u32 aim = left > aimed ? left - aimed : 0;
  const translate::DeviceRegionResult result = call_region(entry.function, cpu.registers, entry.number, team_facts,
                                                           left, cpu.nzcv | aim << translate::kAimShift);
  const u32 retired = left - result.left;
  cpu.retires_at_zero += retired;
  cpu.nzcv = result.nzcv & 15;
  cpu.next = cpu.at;
  if (retired != 0) cpu.branch_to(result.pc);
  cpu.at = cpu.next;
  return retired == 0 || (result.nzcv & translate::kRegionRefused) != 0;
}

/// How lanes take turns in translated code; as InterpretedTurns.
class TranslatedTurns {
 public:
  /// Lanes that have parted run regions one after the other, whether they wait or not.
  static constexpr bool kChoosesWay = false;

  MYR_FN explicit TranslatedTurns(const RegionTable& table) : table_(table) {}

  MYR_FN void begin(const View& view, u32 team, u32 members) {
    clear();
    together_ = false;
    began_ = view.state[kPlaneInstructions * view.lanes + lane_at(team, threadIdx.x % kTeam)];
    const u32 columns = (u32)__cvta_generic_to_shared(block_words()) + threadIdx.x / kTeam * kSharedSlots * kTeam * 8;
    if (threadIdx.x % kTeam == 0) fill_facts(facts(), view, team, columns);
    __syncwarp(members);
  }

  template <bool kLean, bool kSeveral, bool kOwnPages>
  MYR_FN void run(Interpreter<true, kOwnPages>& cpu, Code<kLean, kSeveral>& code, u64 end, bool) {
    // Regions are of code that all lanes of the team have.
    code.template find<true>(guest_table(cpu.view, cpu.lane));
    // Regions find pages in one table of the team. A lane in another one waits after its turn, so that its table gets a turn too.
    const bool has_code = code.own_words == table_.words && code.own_bytes == table_.bytes;
    const bool has_regions = has_code && (u64)cpu.table == facts()->table;
    RegionEntry entry = {kCold, 0, 0};
    if (has_regions) entry = entry_at(cpu.at);
    cpu.retires_at_zero = cpu.retired();
    cpu.left = 0;
    bool interprets = true, steps = entry.function != kCold;
    if (entry.function != kCold && entry.function != kInRegion) {
      visits_ = visits_ + (threadIdx.x % kTeam == (u32)__ffs(__activemask()) - 1 ? kLed + 1 : 1);
      const u32 longest = table_.longest_visit;
      interprets = visit(cpu, entry, (u32)__cvta_generic_to_shared(facts()), end - cpu.retires_at_zero,
                         together_ || longest < kPartedVisit ? longest : kPartedVisit, longest);
    }
    // A region may refuse the instruction that is the first beyond the end.
    if (interprets && cpu.retires_at_zero < end) {
      from_ = cpu.at;
      retired_before_ = (u32)cpu.retires_at_zero;
      // Code without regions as the interpreter's kernel runs it. Where a region has refused an instruction, one by one, since the
      // next may be an entry.
      for (u32 step = 0; interprets; step++) {
        interpret(cpu, code, end, steps ? 1 : kColdQuantum);
        interprets = steps && step < kSteps && cpu.pending == Pending::none && cpu.retired() < end &&
                     entry_at(cpu.at).function == kInRegion;
      }
      const u32 count = (u32)cpu.retired() - retired_before_;
      interpreted_ = interpreted_ + count;
      if (has_regions && table_.heat != nullptr) note_heat(count);
    }
    // A lane that has used a quantum of many instructions up goes on with those that have not come to a call.
    if (steps || has_code != has_regions) {
      const u64 retired = cpu.retired();
      cpu.left = retired < end ? 1 : 0;
      cpu.retires_at_zero = retired + cpu.left;
    }
  }

  /// As cuda::goes_on_first(), which it takes the place of: of parted lanes those go on that are where the one with the least progress
  /// is. So all are in the same part of the program most of the time, at whatever depth of its stack.
  template <bool kOwnPages>
  MYR_FN bool goes_on_first(const Interpreter<true, kOwnPages>& cpu, u32 members, u32 live, bool alive, bool) {
    // Only lanes with processes have other tables than their team's.
    const bool several_tables = cpu.view.processes.spaces.running != nullptr;
    const u32 first_at = __shfl_sync(members, cpu.at, __ffs(live) - 1);
    bool chosen = alive && cpu.at == first_at;
    bool together = __ballot_sync(members, chosen) == live;
    if (!together || several_tables) {
      const u64 retired = cpu.retired();
      if (retired < began_) began_ = retired;  // it has taken an input
      const u64 since = retired - began_;
      const u32 progress = alive ? (u32)(since < kNone ? since : kNone - 1) : kNone;
      const u32 behind = __ballot_sync(members, progress == least(members, progress));
      const u32 leader = (u32)__ffs(behind) - 1, at = __shfl_sync(members, cpu.at, leader);
      chosen = alive && cpu.at == at;
      if (several_tables) {
        chosen &= choose_table(facts(), members, (u64)cpu.table, leader);
        together = __ballot_sync(members, chosen) == live;
      }
    }
    together_ = together;
    return chosen;
  }

  /// What the lanes of the thread's team have in common.
  MYR_FN static translate::DeviceTeamFacts* facts() {
    return (translate::DeviceTeamFacts*)(block_words() + kWarps * kSharedSlots * kTeam) + threadIdx.x / kTeam;
  }

  /// All members call it.
  MYR_FN void attend(u32 members) {
    note_counts(table_, members, interpreted_, visits_);
    clear();
    // What follows may change the team's page tables.
    forget_found(facts(), members);
  }

 private:
  MYR_FN void clear() {
    interpreted_ = 0;
    visits_ = 0;
  }
  MYR_FN RegionEntry entry_at(u32 at) const {
    const u32 offset = at - table_.begin;
    if (offset >= table_.bytes) return {kCold, 0, 0};
    const uint4 entry = __ldg((const uint4*)table_.entries + offset / 4);
    return {(u64)entry.y << 32 | entry.x, entry.z, entry.w};
  }
  /// One lane of those that are together counts for all.
  MYR_FN void note_heat(u32 count) const {
    const u32 offset = from_ - table_.begin;
    if (threadIdx.x % kTeam == (u32)__ffs(__activemask()) - 1 && offset < table_.bytes) {
      atomicAdd(table_.heat + offset / 4, count);
    }
  }

  const RegionTable& table_;
  // In local memory: seldom used, they must take no registers.
  volatile u32 interpreted_, from_, retired_before_;
  volatile u64 began_;      // the lane's count when the launch began, or when it took its input
  volatile bool together_;  // the last time that all waited, all went on
  volatile u32 visits_;     // of the lane, and kLed for each in which it is the first of those together
};

}  // namespace
}  // namespace myriarm::cuda

/// See translate::find_page(). The lane is that of the thread.
extern "C" __device__ __noinline__ myriarm::translate::DevicePage myriarm_find_page(unsigned long address) {
  return myriarm::translate::find_page(myriarm::cuda::TranslatedTurns::facts(), threadIdx.x % myriarm::cuda::kTeam,
                                       address);
}

extern "C" __global__ void __launch_bounds__(myriarm::cuda::kWarps* myriarm::cuda::kTeam, myriarm::cuda::kManyBlocks)
    myriarm_run_translated(const __grid_constant__ myriarm::cuda::View view,
                           const __grid_constant__ myriarm::cuda::RegionTable table) {
  myriarm::cuda::TranslatedTurns turns(table);
  myriarm::cuda::run_team<myriarm::cuda::kManyBlocks, true, true>(view, turns);
}

#if !defined(__CUDACC__)
// An emulated GPU has no machine code.
namespace myriarm::cuda {
std::span<const u8> kernel_code() {
  static const emulated_gpu::MachineCode code = {kTranslatedKernelName,
                                                 emulated_gpu::launchable(myriarm_run_translated),
                                                 {{translate::kFindPageName, [](void* result, const void* argument) {
                                                     u64 address;
                                                     memcpy(&address, argument, sizeof address);
                                                     const translate::DevicePage page = myriarm_find_page(address);
                                                     memcpy(result, &page, sizeof page);
                                                   }}}};
  return {(const u8*)&code, sizeof code};
}
}  // namespace myriarm::cuda
#endif
