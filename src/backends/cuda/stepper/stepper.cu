// SPDX-License-Identifier: Apache-2.0
// The stepping engine on the device: each lane of a warp fetches a word, decodes it and calls its row's function, one
// instruction at a time. Registers stay in the state arrays, each row is a function out of line, floating point is the
// reference, and nothing is predecoded. Tests compare the interpreter with it.
#include "backends/cuda/launch.h"
#include "backends/cuda/process/serve.cuh"
#include "backends/cuda/start_kernel.cuh"
#include "core/semantics.h"
#include "isa/decoder.h"
#include "isa/semantics_ids.h"

namespace myriarm::cuda {
namespace {

constexpr u32 kWarps = 4;  // of a block
/// Instructions between two readings of the clock.
constexpr u32 kQuantum = 64;

/// The Cpu policy.
struct Stepper {
  const View& view;
  u32 lane;
  u64 address;  // of the instruction
  u64 count;    // of instructions retired before it
  u32 word = 0;
  u64 next = 0;
  Pending pending = Pending::none;

  using Fp = FpContext;
  MYR_FN bool give_up() { return false; }

  MYR_FN u64& plane(u32 number) const { return state_of(view, number, lane); }
  MYR_FN u64 r(u32 slot) const { return slot == kSlotZero ? 0 : plane(slot); }
  MYR_FN void set_r(u32 slot, u64 value) {
    if (slot != kSlotDiscard) plane(slot) = value;
  }
  MYR_FN u64& half_of(u32 n, u32 half) const { return view.vectors[(half * 32 + n) * view.lanes + lane]; }
  MYR_FN u64 v(u32 n, u32 half) const { return half_of(n, half); }
  MYR_FN void set_v(u32 n, u32 half, u64 value) { half_of(n, half) = value; }
  MYR_FN Flags flags() const { return unpack_flags((u32)plane(kPlaneNzcv)); }
  MYR_FN void set_flags(Flags flags) { plane(kPlaneNzcv) = pack_flags(flags); }
  MYR_FN u64 system(SystemField field) const { return plane(plane_of(field)); }
  MYR_FN void set_system(SystemField field, u64 value) { plane(plane_of(field)) = value; }
  MYR_FN u64 pc() const { return address; }
  MYR_FN u64 retired() const { return count; }

  MYR_FN PagedMemory<kTeam> memory() const { return memory_of(view, guest_table(view, lane), place_of(lane)); }
  MYR_FN bool finish(const SlowResult& result) {
    pending = pending_of(view, lane, result);
    return pending == Pending::none;
  }
  MYR_FN SlowLoad load_slow(u64 at, u32 size) {
    SlowResult result = team_load(view, lane, at, size);
    return {result.value, finish(result)};
  }
  MYR_FN bool store_slow(u64 at, u64 value, u32 size) { return finish(team_store(view, lane, at, value, 0, size)); }
  MYR_FN bool store_pair_slow(u64 at, u64 first, u64 second, u32 size) {
    const PairBytes bytes = bytes_of_pair(first, second, size);
    return finish(team_store(view, lane, at, bytes.low, bytes.high, bytes.size));
  }

  MYR_FN Outcome branch_relative(i64 offset) { return branch_to(address + (u64)offset); }
  MYR_FN Outcome branch_to(u64 target) {
    next = target;
    return Outcome::branch;
  }
  MYR_FN Outcome stop(StopCode code, u32 detail, u64 at) {
    view.stops[lane] = stop_record(code, detail, at);
    pending = Pending::stopped;
    return Outcome::stop;
  }
  MYR_FN Outcome fault(FaultCode fault, u64 at) {
    view.stops[lane] = fault_record(fault, at);
    pending = Pending::stopped;
    return Outcome::stop;
  }
  MYR_FN Outcome undefined() { return stop(StopCode::undefined, 0, word); }
};
static_assert(Cpu<Stepper>);

/// By row: the first row with the same semantics; 0 for none.
MYR_TABLE u16 kFirstRow[kRowCount] = {
    0,
#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature) kFirstWithSemantics.row[kRow_##name],
#define UNDEFINED(name, bits, reason) 0,
#include "isa/a64.inc"
#undef A64
#undef UNDEFINED
};

// Each row's semantics out of line. Only those of the first rows are called, and compiled.
#define UNDEFINED(name, bits, reason)
#define A64(name, syntax, bits, form, semantics, feature) \
  MYR_OUTLINE Outcome run_##name(Stepper& cpu, const Operands& o) { return semantics(cpu, o); }
#include "isa/a64.inc"
#undef A64

__device__ __noinline__ Outcome run_row(Stepper& cpu, const Operands& o) {
  switch (kFirstRow[o.row]) {
#define A64(name, syntax, bits, form, semantics, feature)                                               \
  case kFirstWithSemantics.row[kRow_##name] == kRow_##name ? (u32)kRow_##name:                          \
    0x10000u + kRow_##name                                                                              \
        : if constexpr (kFirstWithSemantics.row[kRow_##name] == kRow_##name) return run_##name(cpu, o); \
    else __builtin_unreachable();
#include "isa/a64.inc"
#undef A64
#undef GROUP
#undef UNDEFINED
    default: return cpu.undefined();
  }
}

/// Fetches, decodes and runs the instruction at the lane's pc. If it retires, pc and count advance.
__device__ __noinline__ void step(Stepper& cpu) {
  TeamMemory memory(cpu.view, cpu.lane);
  u32 entry;
  const FaultCode fault = fetch_fault(memory, cpu.address, entry);
  if (fault != FaultCode::none) {
    cpu.view.stops[cpu.lane] = fetch_fault_record(fault, cpu.address);
    cpu.pending = Pending::stopped;
    return;
  }
  cpu.word = read_once<u32>(memory.locate(entry, (u32)cpu.address & (kPageSize - 1)));
  cpu.next = cpu.address + 4;
  const Operands o = decode(cpu.view.decode, cpu.word);
  const bool stopped = run_row(cpu, o) == Outcome::stop;
  if (stopped && !(cpu.pending == Pending::stopped && retires_as_it_stops(cpu.view.stops[cpu.lane].code))) return;
  cpu.address = cpu.next;
  cpu.count++;
}

__global__ void __launch_bounds__(kWarps* kTeam) step_kernel(const __grid_constant__ View view) {
  const u32 team = blockIdx.x * kWarps + threadIdx.x / kTeam;
  if (team >= view.teams) return;
  const u32 lane = (u32)lane_at(team, threadIdx.x % kTeam);
  const u32 members = __ballot_sync(0xFFFFFFFFu, lane < view.lanes);
  if (lane >= view.lanes) return;
  const LaneBounds bounds = begin_lane<true>(view, lane);
  bool alive = bounds.alive;
  if (__ballot_sync(members, alive) == 0) return;
  Stepper cpu{view, lane, state_of(view, kPlanePc, lane), state_of(view, kPlaneInstructions, lane)};
  const Registers registers{view.state + lane, (u32)view.lanes, nullptr};
  u64 look_at = 0;
  const auto serve = [&](Wants wants) {
    if (!__any_sync(members, wants != Wants::nothing)) return;
    LanePlace place{cpu.address, cpu.count, (u32)cpu.plane(kPlaneNzcv)};
    const bool goes_on = serve_lanes(view, members, lane, registers, place, bounds.end, wants);
    if (wants == Wants::nothing) return;
    alive = goes_on;
    cpu.address = place.pc;
    cpu.count = place.retired;
    cpu.plane(kPlaneNzcv) = place.nzcv;
    look_at = next_look(view, lane, registers, place, bounds.end);
  };
  if (alive) {
    // The host may have written more bits than these registers have, through an ArrayView.
    cpu.plane(kPlaneNzcv) &= 15;
    cpu.plane(kPlaneFpcr) &= kFpcrMask;
    cpu.plane(kPlaneFpsr) &= kFpsrMask;
  }
  alive &= !bounds.calls;
  serve(bounds.calls ? Wants::call : Wants::nothing);
  u32 reported = (u32)clock() - kReportCycles;
  while (__any_sync(members, alive)) {
    if (__any_sync(members, (u32)clock() - reported >= kReportCycles)) {
      reported = (u32)clock();
      if (bounds.alive) publish(view, lane, cpu.count, alive ? StopCode::none : view.stops[lane].code);
      const u32 orders = __shfl_sync(members, current_orders<true>(view), 0) & (kCancelOrder | kHostOrder);
      if (orders != 0 && alive && cpu.count < bounds.end) {
        view.stops[lane] = stop_record((orders & kCancelOrder) ? StopCode::cancelled : StopCode::none);
        alive = false;
      }
    }
    for (u32 i = 0; i < kQuantum && __any_sync(members, alive); i++) {
      cpu.pending = Pending::none;
      const bool looks = alive && cpu.count >= look_at;
      if (looks && cpu.count >= bounds.end) {
        view.stops[lane] = stop_record(StopCode::budget);
        alive = false;
      }
      const bool process = process_of(view, team) != nullptr;
      if (looks && alive && !process) look_at = bounds.end;
      serve(looks && alive && process ? Wants::signals : Wants::nothing);
      if (alive && cpu.count < bounds.end) {  // a delivered signal counts
        step(cpu);
        if (cpu.pending == Pending::stopped) alive = false;
      }
      __syncwarp(members);
      copy_pending_pages<true>(view, team, members, cpu.pending, alive);
      const bool stopped = cpu.pending == Pending::stopped;
      serve(stopped && is_to_be_served(view, lane) ? Wants::call
            : stopped && is_signal(view, lane)     ? Wants::fault
                                                   : Wants::nothing);
    }
  }
  const u32 back = end_lane<true>(view, members, lane, bounds.alive, cpu.count);
  if (bounds.alive) cpu.plane(kPlanePc) = cpu.address - back;
}

}  // namespace

Launch stepper_launch(const View& view) {
  return {address_of(step_kernel), (view.teams + kWarps - 1) / kWarps, kWarps * kTeam, 0};
}

}  // namespace myriarm::cuda
