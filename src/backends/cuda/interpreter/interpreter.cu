// SPDX-License-Identifier: Apache-2.0
// The CUDA interpreter: one warp runs one team of 32 lanes, from the state arrays to the last stop, in one launch.
// General registers are in shared memory. Lanes diverge as threads of a warp do; the kernel brings them together at
// calls and returns: docs/design/meeting-at-calls.md.
#include "backends/cuda/launch.h"
#include "backends/cuda/row_numbers.h"
#include "backends/cuda/team_run.cuh"
#include "core/semantics.h"
#include "isa/control_flow.h"
#include "isa/decoder.h"

namespace myriarm::cuda {
namespace {

constexpr u32 kWarps = 4;  // of a block
/// Blocks for each SM: six fill its shared memory, and leave 80 registers for each thread. A fleet that does not fill
/// the device is faster with more registers and fewer blocks.
constexpr u32 kManyBlocks = 6, kFewBlocks = 3;
/// The slot after a lane's general registers in shared memory: FPCR, and FPSR in the upper half.
constexpr u32 kSlotFp = kSlotCount;
/// The slot for Interpreter::left and `at` during a call out of the fast path, in kernels with few registers: values
/// that stay live across a call would be in local memory all the time.
constexpr u32 kSlotPlace = kSlotCount + 1;
constexpr u32 kSharedSlots = kSlotCount + 2;
constexpr u32 kNone = 0xFFFFFFFFu;  // greater than any offset or depth
/// The most instructions that a lane runs before the warp comes together to check whether its batch has ended and
/// whether to publish its progress. kSlowQuantum is for teams that are slow, since they decode as they run or have flat
/// memory, and their lanes may run one after the other.
constexpr u32 kQuantum = 1u << 14, kSlowQuantum = 1u << 10;
/// The least of the members' values. All members must call it at once, so never inside a condition on one lane.
__device__ inline u32 least(u32 members, u32 value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_min_sync(members, value);
#else
  // Members are the lowest lanes of the warp; values from lanes beyond them are ignored.
  for (int step = 16; step > 0; step /= 2) {
    u32 other = __shfl_down_sync(members, value, step);
    if ((threadIdx.x % kTeam) + step < __popc(members) && other < value) value = other;
  }
  return __shfl_sync(members, value, 0);
#endif
}

/// Stands for a pc that is not in the window, or not a multiple of 4; the pc itself is in the state array.
constexpr u32 kOutside = 0xFFFFFFFCu;

/// The Cpu policy on the device. `kFast`: an access that is not simple gives up, and the instruction is run again out
/// of line. The fast path therefore calls nothing, and its state stays in registers.
template <bool kFast>
struct Interpreter {
  const View& view;
  u32 registers;  // address in shared memory of this lane's column: slot s is s * kTeam * 8 bytes further
  u32* table;     // the team's page table
  u32 lane;
  u32 lane_offset;  // see PagedMemory
  u32 at = 0;       // pc as an offset in the window
  u32 next = 0;     // offset of the next instruction
  u32 nzcv = 0;
  u64 retires_at_zero = 0;  // the count of retired instructions when `left` is 0
  u32 left = 0;             // instructions until the quantum ends
  Pending pending = Pending::none;

  // In assembly, so that an access takes one multiply-add and one instruction: the compiler would rebuild a generic
  // pointer each time.
  MYR_FN u64 r(u32 slot) const {
    u64 value;
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(value) : "r"(registers + slot * (kTeam * 8)));
    return value;
  }
  MYR_FN void set_r(u32 slot, u64 value) {
    asm volatile("st.shared.u64 [%0], %1;" ::"r"(registers + slot * (kTeam * 8)), "l"(value));
  }
  MYR_FN Flags flags() const { return unpack_flags(nzcv); }
  MYR_FN u32 packed_flags() const { return nzcv; }
  MYR_FN void set_flags(Flags flags) { nzcv = pack_flags(flags); }
  MYR_FN u64 pc() const { return view.window_begin + at; }
  MYR_FN u64 retired() const { return retires_at_zero - left; }
  MYR_FN static bool is_fp(SystemField field) { return field == SystemField::fpcr || field == SystemField::fpsr; }
  MYR_FN u32 fp_field(SystemField field) const {
    return registers + kSlotFp * (kTeam * 8) + (field == SystemField::fpsr ? 4 : 0);
  }
  MYR_FN void save_place() const {
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(registers + kSlotPlace * (kTeam * 8)), "r"(left), "r"(at));
  }
  MYR_FN void restore_place() {
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(left), "=r"(at) : "r"(registers + kSlotPlace * (kTeam * 8)));
  }
  MYR_FN u64* plane(SystemField field) const { return view.state + plane_of(field) * view.lanes + lane; }
  MYR_FN u64 system(SystemField field) const {
    if (!is_fp(field)) return *plane(field);
    u32 value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(fp_field(field)));
    return value;
  }
  MYR_FN void set_system(SystemField field, u64 value) {
    if (!is_fp(field)) {
      *plane(field) = value;
    } else {
      asm volatile("st.shared.u32 [%0], %1;" ::"r"(fp_field(field)), "r"((u32)value));
    }
  }
  /// In assembly, so that the compiler keeps no part of the address in registers from one instruction to the next.
  MYR_FN u64* vector_half(u32 n, u32 half) const {
    u64 address;
    asm("{\n.reg .u64 column;\nmad.wide.u32 column, %1, 8, %2;\nmad.wide.u32 %0, %3, %4, column;\n}"
        : "=l"(address)
        : "r"(lane), "l"(view.vectors), "r"(half * 32 + n), "r"(view.plane_bytes));
    return (u64*)address;
  }
  MYR_FN u64 v(u32 n, u32 half) const { return *vector_half(n, half); }
  MYR_FN void set_v(u32 n, u32 half, u64 value) { *vector_half(n, half) = value; }

  MYR_FN u32 team() const { return team_of(lane); }
  MYR_FN PagedMemory<kTeam> memory() const {
    return {view.frames, table, view.first_page, view.page_count, place_of(lane), view.granule_step, lane_offset};
  }
  using Fp = NativeFpContext<kFast>;
  MYR_FN bool give_up() {
    pending = Pending::out_of_line;
    return false;
  }
  MYR_FN bool finish(SlowResult result) {
    pending = pending_of(view, lane, result);
    return pending == Pending::none;
  }
  MYR_FN SlowLoad load_slow(u64 address, u32 size) {
    if constexpr (kFast) return {0, give_up()};
    SlowResult result = team_load(view, lane, address, size);
    return {result.value, finish(result)};
  }
  MYR_FN bool store_slow(u64 address, u64 value, u32 size) {
    if constexpr (kFast) return give_up();
    return finish(team_store(view, lane, address, value, 0, size));
  }
  MYR_FN bool store_pair_slow(u64 address, u64 first, u64 second, u32 size) {
    if constexpr (kFast) return give_up();
    const PairBytes bytes = bytes_of_pair(first, second, size);
    return finish(team_store(view, lane, address, bytes.low, bytes.high, bytes.size));
  }

  MYR_FN Outcome branch_relative(i64 offset) {
    next = at + (u32)offset;
    if (kFast) return Outcome::branch;  // the predecoder has checked the target
    // The 32-bit offset of a target outside the window may have wrapped, so that the 64-bit one is checked.
    u64 whole = (u64)at + (u64)offset;
    if (whole >= view.page_count << kPageBits) return branch_outside(view.window_begin + whole);
    return Outcome::branch;
  }
  MYR_FN Outcome branch_to(u64 address) {
    u64 offset = address - view.window_begin;
    if (offset >= view.page_count << kPageBits || (address & 3)) return branch_outside(address);
    next = (u32)offset;
    return Outcome::branch;
  }
  /// The branch itself retires; the fetch at its target faults, unless the budget ends before it.
  MYR_FN Outcome branch_outside(u64 address) {
    next = kOutside;
    view.state[kPlanePc * view.lanes + lane] = address;
    return Outcome::branch;
  }
  MYR_FN Outcome stop(StopCode code, u32 detail, u64 address) {
    view.stops[lane] = stop_record(code, detail, address);
    pending = Pending::stopped;
    return Outcome::stop;
  }
  MYR_FN Outcome fault(FaultCode fault, u64 address) {
    view.stops[lane] = fault_record(fault, address);
    pending = Pending::stopped;
    return Outcome::stop;
  }
  MYR_FN Outcome undefined() {
    if constexpr (kFast) return give_up(), Outcome::stop;
    return stop(StopCode::undefined, 0, fetched_word(view, lane, pc()));
  }
};
static_assert(Cpu<Interpreter<true>> && Cpu<Interpreter<false>>);

template <bool kRare>
constexpr bool serves(u32 row) {
  return serves_its_semantics(row) && kRareRows.has[row] == kRare;
}

MYR_FN bool not_predecoded(const Operands& o) { return o.kind == kKindOutOfLine && o.row == kRowNotPredecoded; }

/// Decodes the word at an offset that has no predecoded word. Returns kRowNotPredecoded if the fetch faults, which it
/// records.
__device__ __noinline__ Operands fetch_slow(const View& view, u32 lane, u32 at) {
  Operands none = {};
  none.kind = kKindOutOfLine;
  none.row = kRowNotPredecoded;
  u64 pc = at == kOutside ? view.state[kPlanePc * view.lanes + lane] : view.window_begin + at;
  TeamMemory memory(view, lane);
  u32 entry;
  const FaultCode fault = fetch_fault(memory, pc, entry);
  if (fault != FaultCode::none) {
    view.stops[lane] = fetch_fault_record(fault, pc);
    return none;
  }
  Operands o = decode(view.decode, read_once<u32>(memory.locate(entry, at & (kPageSize - 1))));
  const DeviceRow device = view.rows[o.row];
  o.kind = device.kind;
  o.row = device.row;
  return o;
}

// A row gets a case number that no instruction has if it is not the first with its semantics, or belongs to the other
// switch.
#define MYR_CASE(name, semantics, rare, number)                                               \
  case serves<rare>(kRow_##name) ? (number):                                                  \
    0x4000 + kRow_##name : if constexpr (serves<rare>(kRow_##name)) return semantics(cpu, o); \
    else __builtin_unreachable();
#define GROUP(name, title)
#define UNDEFINED(name, bits, reason)

template <class Cpu>
MYR_FN Outcome execute_rare(Cpu& cpu, const Operands& o) {
  switch (o.row) {
#define A64(name, syntax, bits, form, semantics, feature) \
  MYR_CASE(name, semantics, true, kFirstRareRow + kSemantics.id[kRow_##name] - 1)
#include "isa/a64.inc"
#undef A64
    default: __builtin_unreachable();  // device_rows() makes no other
  }
}

template <class Cpu>
MYR_FN Outcome execute(Cpu& cpu, const Operands& o) {
  switch (o.kind) {
#define A64(name, syntax, bits, form, semantics, feature) \
  MYR_CASE(name, semantics, false, kFirstKind + kSemantics.id[kRow_##name] - 1)
#include "isa/a64.inc"
#undef A64
    case kKindOutOfLine: cpu.pending = Pending::out_of_line; return Outcome::stop;
    default: __builtin_unreachable();
  }
}
#undef GROUP
#undef UNDEFINED
#undef MYR_CASE

/// What execute_out_of_line() returns: all that the instruction may have changed in Interpreter.
struct Result {
  u32 next;
  u32 nzcv;
  Outcome outcome;
  Pending pending;
  bool ends_turn;
};
__device__ __noinline__ Result execute_out_of_line(const View& view, u32 registers, u32* table, u32 lane, u32 at,
                                                   u32 nzcv, u64 retired, Operands o) {
  const u32 lane_offset = (u32)(place_of(lane) * view.lane_step);
  Interpreter<false> cpu{view, registers, table, lane, lane_offset, at, at + 4, nzcv, retired};
  if (not_predecoded(o)) {
    o = fetch_slow(view, lane, at);
    if (not_predecoded(o)) return {at, nzcv, Outcome::stop, Pending::stopped, false};
  }
  const bool common = o.kind != kKindOutOfLine;
  Outcome outcome = common ? execute(cpu, o) : o.row == kRowNotImplemented ? cpu.undefined() : execute_rare(cpu, o);
  return {cpu.next, cpu.nzcv, outcome, cpu.pending, common && (o.row & kRowCallOrReturn) != 0};
}

/// The predecoded words that a team runs; none, if it decodes as it runs. In a fleet of one program (kSeveral is false)
/// they are at one address for all teams, which takes no register.
template <bool kSeveral>
struct Code {
  const View& view;
  const Operands* own_words;  // of the team's program: kRowNotPredecoded, then its words
  u32 bytes;                  // of guest code: a predecoded word is four times as long
  u32 skip;                   // with kSeveral: what to add to an offset in the window for one in own_words

  MYR_FN void find(u32 team) {
    if (kSeveral) own_words = view.code + (u64)view.team_program[team] * (view.code_words + 1);
    bytes = *(const volatile u8*)&view.own_code[team] != 0 ? 0 : view.code_words * 4;
  }

  /// The word at an offset of the window. Does not branch: where there is none it returns word 0, which runs out of
  /// line.
  MYR_FN uint4 fetch(u32 at) const {
    const Operands* words = kSeveral ? own_words : view.code;
    u32 offset = kSeveral ? at + skip : at - view.code_begin + 4;
    return __ldg((const uint4*)((const u8*)words + (u64)(offset <= bytes ? offset : 0) * 4));
  }
  MYR_FN static Operands operands(uint4 raw) {
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
};

/// Runs one lane until it has run a call or a return, something is pending, or it has used up `cpu.left`, which must
/// not be 0. Every branch in this function costs a warp that runs alone some twenty cycles: see
/// docs/design/cuda-interpreter.md. kLean: there are few registers, see kSlotPlace.
template <bool kLean, bool kSeveral>
MYR_FN void run_lane(Interpreter<true>& cpu, Code<kSeveral>& code) {
  bool goes_on;
  do {
    const Operands o = Code<kSeveral>::operands(code.fetch(cpu.at));
    cpu.next = cpu.at + 4;
    bool ends_turn = (o.row & kRowCallOrReturn) != 0;
    if (MYR_UNLIKELY(execute(cpu, o) == Outcome::stop)) {
      if (cpu.pending != Pending::out_of_line) return;
      if (kLean) cpu.save_place();
      Result result =
          execute_out_of_line(cpu.view, cpu.registers, cpu.table, cpu.lane, cpu.at, cpu.nzcv, cpu.retired(), o);
      if (kLean) {
        cpu.restore_place();
        code.find(team_of(cpu.lane));
      }
      cpu.pending = result.pending;
      cpu.nzcv = result.nzcv;
      if (result.outcome == Outcome::stop) return;
      cpu.next = result.next;
      ends_turn = result.ends_turn;
    }
    cpu.left--;
    cpu.at = cpu.next;
    if ((o.row & kRowFoldedBranch) != 0 && cpu.left != 0) {
      Operands branch;
      branch.aux = (u32)(o.row >> 10) & 15;
      branch.offset = (i32)((u32)o.row << 22) >> 20;
      cpu.next = cpu.at + 4;
      branch_conditional(cpu, branch);
      cpu.left--;
      cpu.at = cpu.next;
    }
    goes_on = !ends_turn && cpu.left != 0;
  } while (goes_on);
}

template <u32 kBlocks, bool kSeveral>
__global__ void __launch_bounds__(kWarps* kTeam, kBlocks) run_kernel(const __grid_constant__ View view) {
  extern __shared__ u64 shared[];
  const u32 warp = threadIdx.x / kTeam, lane_in_team = threadIdx.x % kTeam;
  const u32 team = blockIdx.x * kWarps + warp;
  if (team >= view.teams) return;
  const u32 lane = (u32)lane_at(team, lane_in_team);
  // Threads without a lane leave: if they waited, they would slow the others down.
  const u32 members = __ballot_sync(0xFFFFFFFFu, lane < view.lanes);
  if (lane >= view.lanes) return;
  const LaneBounds bounds = begin_lane(view, lane);
  const u64 end = bounds.end;
  bool alive = bounds.alive;
  if (__ballot_sync(members, alive) == 0) return;

  const u32 column = (u32)__cvta_generic_to_shared(shared) + (warp * kSharedSlots * kTeam + lane_in_team) * 8;
  Interpreter<true> cpu{view, column, table_of(view, team, lane_in_team), lane, (u32)(lane_in_team * view.lane_step)};
  for (u32 slot = 0; slot <= kSlotSP; slot++) cpu.set_r(slot, view.state[slot * view.lanes + lane]);
  cpu.set_r(kSlotZero, 0);
  // The host may have written more bits than these registers have, through an ArrayView.
  cpu.set_system(SystemField::fpcr, view.state[kPlaneFpcr * view.lanes + lane] & kFpcrMask);
  cpu.set_system(SystemField::fpsr, view.state[kPlaneFpsr * view.lanes + lane] & kFpsrMask);
  cpu.nzcv = (u32)view.state[kPlaneNzcv * view.lanes + lane] & 15;
  {
    u64 offset = view.state[kPlanePc * view.lanes + lane] - view.window_begin;
    bool inside = offset < view.page_count << kPageBits && (offset & 3) == 0;
    cpu.at = inside ? (u32)offset : kOutside;
  }
  const bool was_alive = alive;
  bool waits = true;  // at a call or return, waiting for the others
  Code<kSeveral> code{view, nullptr, 0, 0};
  code.find(team);
  // The shuffle hides from the compiler that this is a constant: it would load a constant again for each instruction.
  code.skip = __shfl_sync(members, 4 - view.code_begin, 0);
  u32 reported = (u32)clock() - kReportCycles;
  cpu.retires_at_zero = view.state[kPlaneInstructions * view.lanes + lane];

  for (;;) {
    __syncwarp(members);
    const bool used_up = alive && cpu.left == 0;
    if (__any_sync(members, used_up || (u32)clock() - reported >= kReportCycles)) {
      if (used_up && cpu.retired() >= end) {
        view.stops[lane] = stop_record(StopCode::budget);
        alive = false;
      }
      if (__any_sync(members, (u32)clock() - reported >= kReportCycles)) {
        reported = (u32)clock();
        if (was_alive) publish(view, lane, cpu.retired(), alive ? StopCode::none : view.stops[lane].code);
        if (__any_sync(members, sees_cancel(view)) && alive) {
          view.stops[lane] = stop_record(StopCode::cancelled);
          alive = false;
        }
      }
    }
    const u32 live = __ballot_sync(members, alive);
    if (live == 0) break;
    // Once all lanes that are alive wait at a call or return: if they are at one pc, all go on. Else those deepest in
    // the stack go on, and of these only the ones at the lowest pc.
    if (__all_sync(members, waits || !alive)) {
      u32 first_at = __shfl_sync(members, cpu.at, __ffs(live) - 1);
      bool chosen = alive && cpu.at == first_at;
      if (__ballot_sync(members, chosen) != live) {
        u32 depth = alive ? (u32)(cpu.r(kSlotSP) >> 4) : kNone;
        u32 deepest = least(members, depth);  // all members call it, so never inside a condition
        bool candidate = alive && depth == deepest;
        u32 lowest = least(members, candidate ? cpu.at : kNone);
        chosen = candidate && cpu.at == lowest;
      }
      waits = !chosen;
    }
    cpu.pending = Pending::none;
    if (alive && !waits) {
      // A new quantum each time, so that lanes that go on together also stop together.
      const u32 quantum = code.bytes != 0 && !is_flat(view) ? kQuantum : kSlowQuantum;
      const u64 retired = cpu.retired(), remaining = end - retired;
      cpu.left = remaining < quantum ? (u32)remaining : quantum;
      cpu.retires_at_zero = retired + cpu.left;
      run_lane<kBlocks == kManyBlocks>(cpu, code);
      waits = cpu.pending == Pending::none && cpu.left != 0;
      if (cpu.pending == Pending::stopped) {
        alive = false;
        if (retires_as_it_stops(view.stops[lane].code)) {
          cpu.retires_at_zero++;
          cpu.at += 4;
        }
      }
    }
    __syncwarp(members);
    if (copy_pending_pages(view, team, members, cpu.pending, alive)) code.bytes = 0;
  }

  const u64 retired = cpu.retired();
  end_lane(view, members, lane, was_alive, retired);
  if (!was_alive) return;
  for (u32 slot = 0; slot <= kSlotSP; slot++) view.state[slot * view.lanes + lane] = cpu.r(slot);
  view.state[kPlaneNzcv * view.lanes + lane] = cpu.nzcv;
  view.state[kPlaneFpcr * view.lanes + lane] = cpu.system(SystemField::fpcr);
  view.state[kPlaneFpsr * view.lanes + lane] = cpu.system(SystemField::fpsr);
  if (cpu.at != kOutside) view.state[kPlanePc * view.lanes + lane] = view.window_begin + cpu.at;
}

}  // namespace

Launch interpreter_launch(const View& view, u32 multiprocessors) {
  const u32 blocks = (view.teams + kWarps - 1) / kWarps;
  const bool few = blocks <= multiprocessors * kFewBlocks;
  // A fleet that does not fill the device has registers to spare: one kernel serves any number of programs.
  const void* kernel = few                 ? (const void*)run_kernel<kFewBlocks, true>
                       : view.programs > 1 ? (const void*)run_kernel<kManyBlocks, true>
                                           : (const void*)run_kernel<kManyBlocks, false>;
  return {kernel, blocks, kWarps * kTeam, kWarps * kSharedSlots * kTeam * (u32)sizeof(u64)};
}

}  // namespace myriarm::cuda
