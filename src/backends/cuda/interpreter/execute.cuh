// SPDX-License-Identifier: Apache-2.0
// How a lane executes one instruction: the Cpu policy of the CUDA interpreter, for the fast path and out of line, and
// the switches over the semantics. General registers are in shared memory. What is predecoded, and which lane runs when,
// is in run_kernel.cuh. Files that include this one compile for minutes: one for each kernel.
#pragma once

#include <type_traits>

#include "backends/cuda/interpreter/kernels.h"
#include "backends/cuda/row_numbers.h"
#include "backends/cuda/team_run.cuh"
#include "core/semantics.h"
#include "isa/control_flow.h"
#include "isa/decoder.h"

namespace myriarm::cuda {
namespace {

/// The slot after a lane's general registers in shared memory: FPCR, and FPSR in the upper half.
constexpr u32 kSlotFp = kSlotCount;
/// The slot for Interpreter::left and `at` during a call out of the fast path, in kernels with few registers: values
/// that stay live across a call would be in local memory all the time.
constexpr u32 kSlotPlace = kSlotCount + 1;
static_assert(kSlotPlace < kSharedSlots);

/// Stands for a pc that is not in the window, or not a multiple of 4; the pc itself is in the state array.
constexpr u32 kOutside = 0xFFFFFFFCu;

/// The pages of a lane, where the lanes of its team may differ in their permissions: an entry is the lane's own, which takes
/// one load more there.
struct OwnPages : PagedMemory<kTeam> {
  u32 permissions_offset;  // from the first byte of a frame to that of the lane's permissions
  MYR_FN u32 entry(u64 page) const {
    const u32 entry = PagedMemory::entry(page);
    // With branches, although ptxas makes such of loads with predicates too: what was computed before those for either load took
    // registers that 80 do not have, so that the kernels loaded from their stacks at 135 and 173 places, in place of 13 and 14.
    if (MYR_LIKELY((entry & kPageDiffer) == 0)) return entry;
    const u32 number = entry >> kPageFlagBits;
    if ((entry & kPageShared) == 0) {
      const u32 own = frames[((u64)number << kPageBits) + permissions_offset];
      return (entry & ~(u32)(kPagePermissions | kPageDiffer)) | (own & kPagePermissions);
    }
    return (table - kTableFront)[number * kSplitLanes + lane_in_team] + ((u32)page << kPageFlagBits);
  }
};

/// The Cpu policy on the device. `kFast`: an access that is not simple gives up, and the instruction is run again out
/// of line. The fast path therefore calls nothing, and its state stays in registers. `kOwnPages`: a page in which the
/// lanes of the team differ is simple too.
template <bool kFast, bool kOwnPages = false>
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

  MYR_FN u64 r(u32 slot) const { return load_shared64(registers + slot * (kTeam * 8)); }
  MYR_FN void set_r(u32 slot, u64 value) { store_shared64(registers + slot * (kTeam * 8), value); }
  MYR_FN Flags flags() const { return unpack_flags(nzcv); }
  MYR_FN u32 packed_flags() const { return nzcv; }
  MYR_FN void set_flags(Flags flags) { nzcv = pack_flags(flags); }
  MYR_FN u64 pc() const { return view.window_begin + at; }
  MYR_FN u64 retired() const { return retires_at_zero - left; }
  MYR_FN static bool is_fp(SystemField field) { return field == SystemField::fpcr || field == SystemField::fpsr; }
  MYR_FN u32 fp_field(SystemField field) const {
    return registers + kSlotFp * (kTeam * 8) + (field == SystemField::fpsr ? 4 : 0);
  }
  MYR_FN void save_place() const { store_shared_pair(registers + kSlotPlace * (kTeam * 8), left, at); }
  MYR_FN void restore_place() { load_shared_pair(registers + kSlotPlace * (kTeam * 8), left, at); }
  MYR_FN u64* plane(SystemField field) const { return view.state + plane_of(field) * view.lanes + lane; }
  MYR_FN u64 system(SystemField field) const {
    if (!is_fp(field)) return *plane(field);
    return load_shared32(fp_field(field));
  }
  MYR_FN void set_system(SystemField field, u64 value) {
    if (!is_fp(field)) {
      *plane(field) = value;
    } else {
      store_shared32(fp_field(field), (u32)value);
    }
  }
  MYR_FN u64* vector_half(u32 n, u32 half) const {
    return element_of(view.vectors, lane, half * 32 + n, view.plane_bytes);
  }
  MYR_FN u64 v(u32 n, u32 half) const { return *vector_half(n, half); }
  MYR_FN void set_v(u32 n, u32 half, u64 value) { *vector_half(n, half) = value; }

  MYR_FN u32 team() const { return team_of(lane); }
  using Pages = std::conditional_t<kOwnPages, OwnPages, PagedMemory<kTeam>>;
  MYR_FN Pages memory() const {
    const PagedMemory<kTeam> paged{view.frames,       table,      view.first_page, view.guest_pages, place_of(lane),
                                   view.granule_step, lane_offset};
    if constexpr (kOwnPages) {
      return OwnPages{paged, ((view.frame_units - 1) << kPageBits) + paged.lane_in_team};
    } else {
      return paged;
    }
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
    if (whole >= view.window_bytes) return branch_outside(view.window_begin + whole);
    return Outcome::branch;
  }
  MYR_FN Outcome branch_to(u64 address) {
    u64 offset = address - view.window_begin;
    if (offset >= view.window_bytes || (address & 3)) return branch_outside(address);
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
static_assert(Cpu<Interpreter<true>> && Cpu<Interpreter<true, true>> && Cpu<Interpreter<false>>);

template <bool kRare>
constexpr bool serves(u32 row) {
  return serves_its_semantics(row) && kRareRows.has[row] == kRare;
}

MYR_FN bool not_predecoded(const Operands& o) { return o.kind == kKindOutOfLine && o.row == kRowNotPredecoded; }

/// The predecoded word of `word`, without a folded branch. A guest runs the same few words again and again, and to decode
/// one takes longer than all the rest, so that the results are kept.
__device__ __noinline__ Operands decode_once(const View& view, u32 word) {
  DecodedWord* entry = view.decoded_words + entry_of_word(word);
  DecodedWord known;
  load_pair(entry->part, known.part[0], known.part[1]);
  load_pair(entry->part + 2, known.part[2], known.part[3]);
  if (known.is_of(word)) return known.operands();
  Operands o = decode(view.decode, word);
  const DeviceRow device = view.rows[o.row];
  o.kind = device.kind;
  o.row = device.row;
  known = decoded_word(word, o);
  store_pair(entry->part, known.part[0], known.part[1]);
  store_pair(entry->part + 2, known.part[2], known.part[3]);
  return o;
}

/// Decodes the word at an offset that has no predecoded word. Returns kRowNotPredecoded if the fetch faults, which it
/// records.
__device__ __noinline__ Operands fetch_slow(const View& view, u32 lane, u32 at) {
  const Operands none = not_predecoded_word();
  u64 pc = at == kOutside ? view.state[kPlanePc * view.lanes + lane] : view.window_begin + at;
  TeamMemory memory(view, lane);
  u32 entry;
  const FaultCode fault = fetch_fault(memory, pc, entry);
  if (fault != FaultCode::none) {
    view.stops[lane] = fetch_fault_record(fault, pc);
    return none;
  }
  // note_code() does the rest: what this function needs of registers is taken from those that run_kernel keeps during
  // execute_out_of_line().
  const u32 page = at >> kPageBits;
  u32& slot = code_slot(view, memory.table, page);
  if (slot != page + 1) {
    slot = page + 1;
    view.code_ran[memory.table] = 1;
  }
  // Only this lane and the host write to the word, and it needs no order with other memory: the L1 cache may have it.
  return decode_once(view, *(const u32*)memory.locate(entry, at & (kPageSize - 1)));
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

}  // namespace
}  // namespace myriarm::cuda
