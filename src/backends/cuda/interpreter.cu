// SPDX-License-Identifier: Apache-2.0
// The CUDA interpreter: one warp runs one team of 32 lanes, from the state arrays to the last stop, in one launch.
// General registers live in shared memory. Lanes part as the hardware lets them, and are brought together at calls
// and returns: docs/design/meeting-at-calls.md.
#include "backends/cuda/kernels.h"
#include "backends/cuda/team_memory.cuh"
#include "core/semantics.h"
#include "isa/control_flow.h"
#include "isa/semantics_ids.h"

namespace myriarm::cuda {
namespace {

constexpr u32 kWarps = 4;  // a block; six blocks fill the shared memory of an SM
constexpr u32 kAll = 0xFFFFFFFFu;
/// Most instructions that a lane runs before the warp comes together to look at the cancel flag.
constexpr u32 kQuantum = 1u << 16;

__device__ inline u32 warp_min(u32 value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_min_sync(kAll, value);
#else
  for (int step = 16; step > 0; step /= 2) {
    u32 other = __shfl_xor_sync(kAll, value, step);
    value = other < value ? other : value;
  }
  return value;
#endif
}

/// Why a lane left the instruction loop without retiring the instruction.
enum class Pending : u8 {
  none,
  stopped,    // its stop is recorded
  copy_page,  // it needs its own copy of a shared page, and then runs the instruction again
  refetch,    // the predecoded image does not have this word
};

/// The Cpu policy on the device.
struct Interpreter {
  const View& view;
  u32 registers;  // address in shared memory of this lane's column: slot s is s * kTeam * 8 bytes further
  u32 team, lane_in_team;
  u64 lane;
  u32 at = 0;  // pc as an offset in the window
  u32 nzcv = 0;
  u64 retires_at_zero = 0;  // the count of retired instructions when `left` is 0
  u32 left = 0;
  u32 target = 0;
  Pending pending = Pending::none;
  u64 copy_address = 0;

  // As assembly, so that an access is one multiply-add and one instruction, not a generic pointer rebuilt each time.
  MYR_FN u64 r(u32 slot) const {
    u64 value;
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(value) : "r"(registers + slot * (kTeam * 8)));
    return value;
  }
  MYR_FN void set_r(u32 slot, u64 value) {
    asm volatile("st.shared.u64 [%0], %1;" ::"r"(registers + slot * (kTeam * 8)), "l"(value));
  }
  MYR_FN Flags flags() const { return unpack_flags(nzcv); }
  MYR_FN void set_flags(Flags flags) { nzcv = pack_flags(flags); }
  MYR_FN u64 pc() const { return view.window_begin + at; }
  MYR_FN u64 retired() const { return retires_at_zero - left; }
  MYR_FN u64* plane(SystemField field) const {
    u32 number = field == SystemField::tpidr  ? kPlaneTpidr
                 : field == SystemField::fpcr ? kPlaneFpcr
                 : field == SystemField::fpsr ? kPlaneFpsr
                                              : kPlaneMonitor + (u32)field - (u32)SystemField::monitor;
    return view.state + number * view.lanes + lane;
  }
  MYR_FN u64 system(SystemField field) const { return *plane(field); }
  MYR_FN void set_system(SystemField field, u64 value) { *plane(field) = value; }
  MYR_FN u64 v(u32 n, u32 half) const { return view.vectors[(half * 32 + n) * view.lanes + lane]; }
  MYR_FN void set_v(u32 n, u32 half, u64 value) { view.vectors[(half * 32 + n) * view.lanes + lane] = value; }

  MYR_FN PagedMemory<kTeam> memory() const { return memory_of(view, team, lane_in_team); }
  MYR_FN bool finish(u64 address, SlowResult result) {
    if (result.outcome == SlowOutcome::done) return true;
    if (result.outcome == SlowOutcome::copy) {
      pending = Pending::copy_page;
      copy_address = result.address;
    } else {
      pending = Pending::stopped;
    }
    return false;
  }
  MYR_FN SlowLoad load_slow(u64 address, u32 size) {
    SlowResult result = team_load(view, team, lane, address, size);
    return {result.value, finish(address, result)};
  }
  MYR_FN bool store_slow(u64 address, u64 value, u32 size) {
    return finish(address, team_store(view, team, lane, address, value, 0, size));
  }
  MYR_FN bool store_pair_slow(u64 address, u64 first, u64 second, u32 size) {
    if (size < 8) return finish(address, team_store(view, team, lane, address, first | second << (8 * size), 0, 2 * size));
    return finish(address, team_store(view, team, lane, address, first, second, 16));
  }

  MYR_FN Outcome branch_relative(i64 offset) {
    target = at + (u32)offset;
    // A target outside the window wraps to an offset beyond it, or would; what it was is kept as a whole address.
    u64 whole = (u64)at + (u64)offset;
    if (whole >= view.page_count << kPageBits) return branch_outside(view.window_begin + whole);
    return Outcome::branch;
  }
  MYR_FN Outcome branch_to(u64 address) {
    u64 offset = address - view.window_begin;
    if (offset >= view.page_count << kPageBits || (address & 3)) return branch_outside(address);
    target = (u32)offset;
    return Outcome::branch;
  }
  /// The fault belongs to the fetch: the branch retires, and the budget may come first.
  MYR_FN Outcome branch_outside(u64 address) {
    target = kOutside;
    view.state[kPlanePc * view.lanes + lane] = address;
    return Outcome::branch;
  }
  static constexpr u32 kOutside = 0xFFFFFFFFu;

  MYR_FN Outcome stop(StopCode code, u32 detail, u64 address) {
    view.stops[lane] = {code, FaultCode::none, 0, detail, address};
    pending = Pending::stopped;
    return Outcome::stop;
  }
  MYR_FN Outcome fault(FaultCode fault, u64 address) {
    view.stops[lane] = {StopCode::fault, fault, 0, 0, address << 8 >> 8};
    pending = Pending::stopped;
    return Outcome::stop;
  }
  MYR_FN Outcome undefined() { return stop(StopCode::undefined, 0, fetch_word(view, team, lane_in_team, at)); }
};

template <bool kRare>
constexpr bool serves(u32 row) {
  return kSemantics.id[row] != 0 && kSemantics.first[row] == row && kSemantics.rare[row] == kRare;
}

/// Runs the semantics with the given number, of those that are rare or of those that are not.
template <bool kRare, class Cpu>
MYR_FN Outcome execute_semantics(u32 number, Cpu& cpu, const Operands& o) {
  // Rows that are not the first with their semantics, or not of this half, get numbers that no instruction has.
  switch (number) {
#define GROUP(name, title)
#define UNDEFINED(name, bits, reason)
#define A64(name, syntax, bits, form, semantics, feature)                                                           \
  case serves<kRare>(kRow_##name) ? kSemantics.id[kRow_##name] : kRowCount + kRow_##name:                           \
    if constexpr (serves<kRare>(kRow_##name)) return semantics(cpu, o);                                             \
    else __builtin_unreachable();
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED
    default:
      if (!kRare && o.kind == kNotCode) {
        cpu.pending = Pending::refetch;
        return Outcome::stop;
      }
      return cpu.undefined();
  }
}

/// The rare half, behind a call: only what it may change comes back, so that the caller keeps its registers.
struct RareResult {
  u64 copy_address;
  u32 target;
  u32 nzcv;
  Outcome outcome;
  Pending pending;
};
__device__ __noinline__ RareResult execute_rare(const View& view, u32 registers, u32 team, u64 lane, u32 at, u32 nzcv,
                                                u64 retired, Operands o) {
  Interpreter cpu{view, registers, team, (u32)(lane % kTeam), lane, at, nzcv, retired};
  Outcome outcome = execute_semantics<true>(o.row & ~kRareBit, cpu, o);
  return {cpu.copy_address, cpu.target, cpu.nzcv, outcome, cpu.pending};
}

MYR_FN Outcome execute(Interpreter& cpu, const Operands& o) {
  if (MYR_LIKELY(!(o.row & kRareBit))) return execute_semantics<false>(o.row, cpu, o);
  RareResult result =
      execute_rare(cpu.view, cpu.registers, cpu.team, cpu.lane, cpu.at, cpu.nzcv, cpu.retired(), o);
  cpu.nzcv = result.nzcv;
  cpu.target = result.target;
  cpu.copy_address = result.copy_address;
  cpu.pending = result.pending;
  return result.outcome;
}

/// Decodes the word at an offset that the predecoded image does not serve. Row 0 with kind kNotCode: a fault was
/// recorded.
__device__ __noinline__ Operands fetch_slow(const View& view, u32 team, u64 lane, u32 at) {
  Operands none = {};
  none.kind = kNotCode;
  u64 pc = at == Interpreter::kOutside ? view.state[kPlanePc * view.lanes + lane] : view.window_begin + at;
  FaultCode fault = FaultCode::unmapped;
  if (pc & 3) {
    fault = FaultCode::alignment;
  } else if (at != Interpreter::kOutside) {
    PagedMemory<kTeam> memory = memory_of(view, team, (u32)(lane % kTeam));
    u32 entry = entry_of_lane(memory, memory.table[at >> kPageBits]);
    fault = permission_fault(entry, Access::execute);
    if (fault == FaultCode::none) {
      Operands o = decode(view.decode, *(const volatile u32*)memory.locate(entry, at & (kPageSize - 1)));
      o.kind = view.rows[o.row].kind;
      o.row = view.rows[o.row].row;
      return o;
    }
  }
  view.stops[lane] = {StopCode::fault, fault, 0, 0, pc};
  return none;
}

/// The predecoded word at an offset, or one that asks for fetch_slow. `code_bytes` is 0 for a team with code of its own.
/// One word more than the code may be asked for.
MYR_FN Operands fetch(const View& view, u32 at, u32 code_bytes) {
  u32 offset = at - view.code_begin;
  uint4 raw = make_uint4(kNotCode, 0, 0, 0);
  if (MYR_LIKELY(offset < code_bytes)) raw = __ldg((const uint4*)view.code + (offset >> 2));
  Operands o;
  o.kind = (u16)raw.x;
  o.row = (u16)(raw.x >> 16);
  o.rd = (u8)raw.y;
  o.rn = (u8)(raw.y >> 8);
  o.rm = (u8)(raw.y >> 16);
  o.ra = (u8)(raw.y >> 24);
  o.imm = raw.z | (u64)raw.w << 32;
  return o;
}

/// Runs one lane until it has called or returned, is to wait for something, or has used up `cpu.left`.
MYR_FN void run_lane(Interpreter& cpu, u32 code_bytes) {
  Operands o = fetch(cpu.view, cpu.at, code_bytes);
  while (cpu.left != 0) {
    // The next word in sequence is on its way while this one runs.
    Operands following = fetch(cpu.view, cpu.at + 4, code_bytes);
    Outcome outcome = execute(cpu, o);
    if (MYR_UNLIKELY(outcome == Outcome::stop)) {
      if (cpu.pending != Pending::refetch) break;
      o = fetch_slow(cpu.view, cpu.team, cpu.lane, cpu.at);
      cpu.pending = o.kind == kNotCode ? Pending::stopped : Pending::none;
      if (cpu.pending == Pending::stopped) break;
      continue;
    }
    cpu.left--;
    const u16 flow = o.kind;
    if (outcome == Outcome::branch) {
      cpu.at = cpu.target;
      if (flow >= (u16)Flow::call) break;
      o = fetch(cpu.view, cpu.at, code_bytes);
    } else {
      cpu.at += 4;
      o = following;
    }
  }
}

__global__ void __launch_bounds__(kWarps * kTeam, 6) run_kernel(const __grid_constant__ View view) {
  extern __shared__ u64 shared[];
  const u32 warp = threadIdx.x / kTeam, lane_in_team = threadIdx.x % kTeam;
  const u32 team = blockIdx.x * kWarps + warp;
  if (team >= view.teams) return;
  const u64 lane = (u64)team * kTeam + lane_in_team;
  const bool exists = lane < view.lanes;
  bool alive = exists && view.stops[lane].code == StopCode::none;
  if (__ballot_sync(kAll, alive) == 0) return;

  const u32 column = (u32)__cvta_generic_to_shared(shared) + (warp * kSlotCount * kTeam + lane_in_team) * 8;
  Interpreter cpu{view, column, team, lane_in_team, lane};
  const u64 source = exists ? lane : (u64)team * kTeam;
  for (u32 slot = 0; slot <= kSlotSP; slot++) cpu.set_r(slot, view.state[slot * view.lanes + source]);
  cpu.set_r(kSlotZero, 0);
  cpu.nzcv = (u32)view.state[kPlaneNzcv * view.lanes + source];
  u64 retired = view.state[kPlaneInstructions * view.lanes + source];
  const u64 limit = view.state[kPlaneLimit * view.lanes + source];
  {
    u64 offset = view.state[kPlanePc * view.lanes + source] - view.window_begin;
    bool inside = offset < view.page_count << kPageBits && (offset & 3) == 0;
    cpu.at = inside ? (u32)offset : Interpreter::kOutside;
  }
  const bool was_alive = alive;
  bool parked = true;  // at a call or return, waiting for the others
  u32 code_bytes = view.own_code[team] != 0 ? 0 : view.code_bytes;

  for (;;) {
    __syncwarp();
    if (alive && retired >= limit) {
      view.stops[lane] = {StopCode::budget, FaultCode::none, 0, 0, 0};
      alive = false;
    }
    if (*(const volatile u32*)view.cancel != 0 && alive) {
      view.stops[lane] = {StopCode::cancelled, FaultCode::none, 0, 0, 0};
      alive = false;
    }
    const u32 live = __ballot_sync(kAll, alive);
    if (live == 0) break;
    // When all have come to a call or return: those go on that are deepest in the stack, and of those the ones at the
    // lowest pc. All of them, if they are at one place.
    if (__all_sync(kAll, parked || !alive)) {
      u32 first_at = __shfl_sync(kAll, cpu.at, __ffs(live) - 1);
      bool chosen = alive && cpu.at == first_at;
      if (__ballot_sync(kAll, chosen) != live) {
        u32 depth = alive ? (u32)(cpu.r(kSlotSP) >> 4) : kAll;
        u32 deepest = warp_min(depth);  // by all 32 threads, so never behind a condition
        bool candidate = alive && depth == deepest;
        u32 lowest = warp_min(candidate ? cpu.at : kAll);
        chosen = candidate && cpu.at == lowest;
      }
      parked = !chosen;
    }
    cpu.pending = Pending::none;
    if (alive && !parked) {
      const u64 remaining = limit - retired;
      cpu.left = remaining < kQuantum ? (u32)remaining : kQuantum;
      cpu.retires_at_zero = retired + cpu.left;
      run_lane(cpu, code_bytes);
      parked = cpu.pending == Pending::none && cpu.left != 0;
      retired = cpu.retires_at_zero - cpu.left;
      if (cpu.pending == Pending::stopped) {
        alive = false;
        if (view.stops[lane].code == StopCode::syscall) {
          retired++;
          cpu.at += 4;
        }
      }
    }
    __syncwarp();
    u32 wanting = __ballot_sync(kAll, cpu.pending == Pending::copy_page);
    while (wanting != 0) {
      u64 address = __shfl_sync(kAll, cpu.copy_address, __ffs(wanting) - 1);
      u64 page = memory_of(view, team, 0).page_of(address);
      bool mine = cpu.pending == Pending::copy_page && memory_of(view, team, 0).page_of(cpu.copy_address) == page;
      CopyOutcome copied = copy_team_page(view, team, lane_in_team, page);
      if (mine) {
        if (copied == CopyOutcome::out_of_memory) {
          view.stops[lane] = {StopCode::out_of_memory, FaultCode::none, 0, 0, 0};
          alive = false;
        }
        cpu.pending = Pending::none;
      }
      if (copied == CopyOutcome::copied_code) code_bytes = 0;
      wanting = __ballot_sync(kAll, cpu.pending == Pending::copy_page);
    }
  }

  if (!was_alive) return;
  for (u32 slot = 0; slot <= kSlotSP; slot++) view.state[slot * view.lanes + lane] = cpu.r(slot);
  view.state[kPlaneNzcv * view.lanes + lane] = cpu.nzcv;
  view.state[kPlaneInstructions * view.lanes + lane] = retired;
  if (cpu.at != Interpreter::kOutside) view.state[kPlanePc * view.lanes + lane] = view.window_begin + cpu.at;
}

}  // namespace

void launch_run(const View& view, cudaStream_t stream) {
  constexpr u32 bytes = kWarps * kSlotCount * kTeam * sizeof(u64);
  run_kernel<<<(view.teams + kWarps - 1) / kWarps, kWarps * kTeam, bytes, stream>>>(view);
}

}  // namespace myriarm::cuda
