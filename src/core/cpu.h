// SPDX-License-Identifier: Apache-2.0
// What the semantics need of an engine: the Cpu policy, as a concept that each engine asserts of its class, and the
// small helpers that every instruction family shares. Semantics are function templates over the policy.
#pragma once

#include "core/memory.h"
#include "core/operands.h"
#include "core/portable.h"
#include "core/stop.h"

namespace myriarm {

/// PSTATE condition flags.
struct Flags {
  bool n, z, c, v;
};

/// Flags as a 4-bit number, N in bit 3, as the manual prints nzcv.
MYR_FN u32 pack_flags(Flags f) { return (u32)f.n << 3 | (u32)f.z << 2 | (u32)f.c << 1 | (u32)f.v; }
MYR_FN Flags unpack_flags(u32 nzcv) { return {(nzcv & 8) != 0, (nzcv & 4) != 0, (nzcv & 2) != 0, (nzcv & 1) != 0}; }

/// Lane state that few instructions use. Each field is one array over all lanes.
enum class SystemField : u8 {
  tpidr,  // TPIDR_EL0
  fpcr,
  fpsr,
  monitor,       // local exclusive monitor: address without its tag, or kMonitorOpen
  monitor_size,  // bytes marked
  monitor_low,   // what the exclusive load read
  monitor_high,
  count,
};
constexpr u64 kMonitorOpen = ~(u64)0;

namespace detail {
template <class A, class B>
inline constexpr bool kSame = false;
template <class A>
inline constexpr bool kSame<A, A> = true;
template <class A, class B>
concept Is = kSame<A, B>;
}  // namespace detail

/// The Cpu policy. An engine has a class with these members, and runs a row by calling its semantics with an object of
/// that class.
template <class C>
concept Cpu = requires(C& cpu, const C& seen, u32 slot, u32 half, u64 value, i64 offset, u32 size) {
  /// General register by Slot: 0 to 30 X, 31 SP; 32 reads as zero, 33 takes a result that is thrown away. Results of 32
  /// bits are written zero-extended.
  { seen.r(slot) } -> detail::Is<u64>;
  cpu.set_r(slot, value);
  /// 64-bit halves of the SIMD&FP registers; half 0 is the lower one.
  { seen.v(slot, half) } -> detail::Is<u64>;
  cpu.set_v(slot, half, value);
  /// PSTATE.NZCV. An engine that keeps it as one number has packed_flags() too: see KeepsPackedFlags.
  { seen.flags() } -> detail::Is<Flags>;
  cpu.set_flags(Flags{});
  /// The lane's rarely used state.
  { seen.system(SystemField::fpcr) } -> detail::Is<u64>;
  cpu.set_system(SystemField::fpcr, value);
  /// The address of this instruction, and how many have retired before it.
  { seen.pc() } -> detail::Is<u64>;
  { seen.retired() } -> detail::Is<u64>;

  /// Continues at pc() + offset, or at an address; returns Outcome::branch. A bad address faults when it is fetched.
  { cpu.branch_relative(offset) } -> detail::Is<Outcome>;
  { cpu.branch_to(value) } -> detail::Is<Outcome>;
  /// Records a stop, a fault at an address, or that this instruction is undefined; returns Outcome::stop.
  { cpu.stop(StopCode::halt, size, value) } -> detail::Is<Outcome>;
  { cpu.fault(FaultCode::read, value) } -> detail::Is<Outcome>;
  { cpu.undefined() } -> detail::Is<Outcome>;

  /// The lane's PagedMemory, for load() and store() of core/memory.h, and the functions that these call for an access
  /// that is not simple: see core/slow_access.h. False: the instruction is abandoned, and the engine has recorded why.
  seen.memory().entry(value);
  { cpu.load_slow(value, size) } -> detail::Is<SlowLoad>;
  { cpu.store_slow(value, value, size) } -> detail::Is<bool>;
  { cpu.store_pair_slow(value, value, value, size) } -> detail::Is<bool>;

  /// The context of floating-point operations: FpContext for the reference, or NativeFpContext of core/fp/native.h.
  typename C::Fp;
  /// Abandons the instruction, so that it runs again with a policy that does not give up; returns false. Only contexts
  /// and slow accesses of a policy that gives up call it.
  { cpu.give_up() } -> detail::Is<bool>;
};

/// A policy that keeps NZCV as the number that pack_flags() makes.
template <class C>
concept KeepsPackedFlags = requires(const C& seen) {
  { seen.packed_flags() } -> detail::Is<u32>;
};

/// ConditionHolds() of the manual: cond is the 4-bit field.
MYR_FN constexpr bool condition_holds(u32 cond, Flags f) {
  bool result = false;
  switch (cond >> 1) {
    case 0: result = f.z; break;
    case 1: result = f.c; break;
    case 2: result = f.n; break;
    case 3: result = f.v; break;
    case 4: result = f.c && !f.z; break;
    case 5: result = f.n == f.v; break;
    case 6: result = f.n == f.v && !f.z; break;
    default: return true;
  }
  return result != ((cond & 1) != 0);
}

/// Truth tables of four conditions, 16 bits each: bit nzcv of table i says whether the condition 2 * (first + i) holds.
constexpr u64 condition_parts(u32 first) {
  u64 parts = 0;
  for (u32 part = 0; part < 4; part++) {
    for (u32 nzcv = 0; nzcv < 16; nzcv++) {
      Flags f = {(nzcv & 8) != 0, (nzcv & 4) != 0, (nzcv & 2) != 0, (nzcv & 1) != 0};
      parts |= (u64)condition_holds((first + part) * 2, f) << (part * 16 + nzcv);
    }
  }
  return parts;
}

/// condition_holds() without a branch, for an engine that keeps NZCV packed and learns the condition as it runs.
MYR_FN bool condition_holds_packed(u32 cond, u32 nzcv) {
  constexpr u64 kLow = condition_parts(0), kHigh = condition_parts(4);
  u64 parts = (cond & 8) ? kHigh : kLow;
  u32 holds = (u32)(parts >> ((cond & 6) * 8 + nzcv)) & 1;
  return (holds ^ (cond & 1 & (u32)(cond < 14))) != 0;
}

/// A policy that keeps what NZCV results from, and tells a condition from that: for code in which the compiler sees where
/// the flags were set. It has set_flags_of<kWidth, AddSub>(operand1, operand2) and set_flags_of_logical<kWidth>(result).
template <class C>
concept KeepsFlagSource = requires(const C& seen, u32 cond) {
  { seen.holds(cond) } -> detail::Is<bool>;
};

/// Whether the condition of an instruction holds, computed in the way that suits the engine.
template <class Cpu>
MYR_FN bool condition(Cpu& cpu, u32 cond) {
  if constexpr (KeepsFlagSource<Cpu>) {
    return cpu.holds(cond);
  } else if constexpr (KeepsPackedFlags<Cpu>) {
    return condition_holds_packed(cond, cpu.packed_flags());
  } else {
    return condition_holds(cond, cpu.flags());
  }
}

/// Reads a register as a kWidth-bit operand (32 or 64), zero-extended.
template <int kWidth, class Cpu>
MYR_FN u64 read(Cpu& cpu, u32 slot) {
  static_assert(kWidth == 32 || kWidth == 64, "general registers are 32 or 64 bits wide");
  return kWidth == 64 ? cpu.r(slot) : (u64)(u32)cpu.r(slot);
}

/// Writes a kWidth-bit result, zero-extended.
template <int kWidth, class Cpu>
MYR_FN void write(Cpu& cpu, u32 slot, u64 value) {
  cpu.set_r(slot, kWidth == 64 ? value : (u64)(u32)value);
}

}  // namespace myriarm
