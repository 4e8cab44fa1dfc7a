// SPDX-License-Identifier: Apache-2.0
// The Cpu policy of stencils. Registers and immediates are symbols without a value, of which the compiler makes
// relocations; so one function is the code of an instruction whatever its operands are. Only clang compiles this, and only for
// x86-64.
#pragma once

#include "core/semantics.h"
#include "translate/flag_source.h"
#include "translate/lane_state.h"

extern "C" {
#define HOLE(name) extern const char hole_##name[];
#include "backends/cpu/translated/stencils/holes.inc"
#undef HOLE
extern const char hole_unsupported[];  // a stencil that needs this is not used
}

namespace myriarm::cpu {

using translate::FlagKind;
using translate::LaneState;

/// The value of a hole, of which the compiler knows nothing: of a symbol it would know that it is not null and that
/// it has at most 31 bits.
#define MYR_OPAQUE(instruction, type, name)                \
  [] {                                                     \
    type value;                                            \
    asm(instruction " $hole_" #name ", %0" : "=r"(value)); \
    return value;                                          \
  }()

// Register numbers that stand for holes: apart, so that a number computed from one is no hole.
constexpr u8 kHoleD = 64, kHoleN = 96, kHoleM = 128, kHoleA = 160;

struct StencilCpu : translate::FlagSource<1> {
  LaneState* lane;
  u64 count;
  u64 next = 0;
  bool condition_result;  // what the last condition was found to be
  bool missed = false;

  using Fp = NativeFpContext<true>;
  MYR_FN bool give_up() {
    missed = true;
    return false;
  }

  MYR_FN static u64 distance(u32 slot) {
    switch (slot) {
      case kHoleD: return (u64)hole_rd;
      case kHoleN: return (u64)hole_rn;
      case kHoleM: return (u64)hole_rm;
      case kHoleA: return (u64)hole_ra;
      default: return slot < kSlotCount ? slot * sizeof(u64) : (u64)hole_unsupported;
    }
  }
  MYR_FN static u64 v_distance(u32 n) {
    switch (n) {
      case kHoleD: return (u64)hole_vd;
      case kHoleN: return (u64)hole_vn;
      case kHoleM: return (u64)hole_vm;
      case kHoleA: return (u64)hole_va;
      default: return (u64)hole_unsupported;
    }
  }
  /// A field of the operands that is a number: the hole has eight times as much, as for registers.
  MYR_FN static u32 number(u8 field) {
    static_assert(sizeof(u64) == 8);
    return field == kHoleA ? MYR_OPAQUE("movl", u32, ra) / 8 : (u32)(u64)hole_unsupported;
  }
  MYR_FN u64 r(u32 slot) const {
    static_assert(__builtin_offsetof(LaneState, r) == 0, "register holes are distances from the LaneState");
    return *(const u64*)((const u8*)lane + distance(slot));
  }
  MYR_FN void set_r(u32 slot, u64 value) { *(u64*)((u8*)lane + distance(slot)) = value; }
  MYR_FN u64 v(u32 n, u32 half) const { return *(const u64*)((const u8*)lane->v + v_distance(n) + 8 * half); }
  MYR_FN void set_v(u32 n, u32 half, u64 value) { *(u64*)((u8*)lane->v + v_distance(n) + 8 * half) = value; }
  MYR_FN u64 system(SystemField field) const { return lane->system[(int)field]; }
  MYR_FN void set_system(SystemField field, u64 value) { lane->system[(int)field] = value; }
  MYR_FN u64 pc() const { return MYR_OPAQUE("movabsq", u64, pc); }
  MYR_FN u64 retired() const { return count + lane->region_limit + (u64)hole_retired; }

  /// Conditions are found by stencils of their own.
  MYR_FN bool holds(u32) const { return condition_result; }

  MYR_FN PagedMemory<1> memory() const { return lane->memory(); }
  MYR_FN bool readable(u64 address, u32 bytes, u8*& at) const { return lane->find_readable(address, bytes, at); }
  MYR_FN bool writable(u64 address, u32 bytes, u8*& at) const { return lane->find_writable(address, bytes, at); }
  MYR_FN SlowLoad load_slow(u64, u32) { return {0, give_up()}; }
  MYR_FN bool store_slow(u64, u64, u32) { return give_up(); }
  MYR_FN bool store_pair_slow(u64, u64, u64, u32) { return give_up(); }

  MYR_FN Outcome branch_relative(i64) { return Outcome::branch; }  // the translator knows the target
  MYR_FN Outcome branch_to(u64 address) {
    next = address;
    return Outcome::branch;
  }
  MYR_FN Outcome stop(StopCode, u32, u64) { return refuse(); }
  MYR_FN Outcome fault(FaultCode, u64) { return refuse(); }
  MYR_FN Outcome undefined() { return refuse(); }
  MYR_FN Outcome refuse() {
    give_up();
    return Outcome::stop;
  }
};
static_assert(Cpu<StencilCpu> && KeepsFlagSource<StencilCpu> && FindsPlaces<StencilCpu>);

}  // namespace myriarm::cpu
