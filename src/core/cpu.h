// SPDX-License-Identifier: Apache-2.0
// What the semantics ask of an engine: the Cpu policy. Each engine (CPU interpreter, CUDA interpreter,
// translated code) has a class with these members; semantics are function templates over it. This file
// holds the contract and the small helpers that every instruction family shares.
//
//   u64  r(slot)                     general register by Slot: 0 to 30 X, 31 SP, 32 zero
//   void set_r(slot, u64)            slot 33 discards; 32-bit results are written zero-extended
//   Flags flags()                    PSTATE.NZCV
//   void set_flags(Flags)
//   u64  pc()                        address of this instruction
//   Outcome branch_relative(i64)     continue at pc() + offset; returns Outcome::branch
//   Outcome branch_to(u64)           continue at an address; returns Outcome::branch (a bad one faults when fetched)
//   Outcome stop(StopCode, u32 detail, u64 address)   records a stop; returns Outcome::stop
//   Outcome fault(FaultCode, u64 address)             records a fault; returns Outcome::stop
//   Outcome undefined()              this instruction is undefined: records the stop with its word
//   u64  retired()                   instructions retired before this one
//   u64  system(SystemField)         the lane's rarely used state, below
//   void set_system(SystemField, u64)
//   u64  v(n, half), set_v(n, half, u64)   64-bit halves of the SIMD&FP registers, 0 is the lower
//   const PagedMemory<team>& memory()
//   SlowLoad load_slow(address, size)      the whole story: crossing, permissions, frames
//   bool store_slow(address, value, size)  of size 0: writes nothing, true if the byte at the address may be written
//   bool store_pair_slow(address, first, second, size)
// and where it overrides floating-point arithmetic (core/fp/native.h):
//   using Fp = NativeFpContext<gives up>
//   bool give_up()                   the instruction is to be run again, by a policy that does not; false
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

/// Lane state that few instructions touch; one array across lanes for each.
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

/// Bits 0 to 15 of part cond >> 1: for which nzcv the condition holds that is cond with bit 0 clear. Made from
/// condition_holds(), four parts a number.
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

/// condition_holds() without a branch, for an engine that keeps NZCV packed and meets conditions as data.
MYR_FN bool condition_holds_packed(u32 cond, u32 nzcv) {
  constexpr u64 kLow = condition_parts(0), kHigh = condition_parts(4);
  u64 parts = (cond & 8) ? kHigh : kLow;
  u32 holds = (u32)(parts >> ((cond & 6) * 8 + nzcv)) & 1;
  return (holds ^ (cond & 1 & (u32)(cond < 14))) != 0;
}

/// The condition of an instruction, in the way that suits the engine.
template <class Cpu>
MYR_FN bool condition(Cpu& cpu, u32 cond) {
  if constexpr (requires { cpu.packed_flags(); }) {
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
