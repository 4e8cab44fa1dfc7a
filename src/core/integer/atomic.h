// SPDX-License-Identifier: Apache-2.0
// The Large System Extensions: read-modify-write in one instruction. Acquire and release variants are the same
// function (see access_ordered). The store comes before any register is written, so that a refused store changes
// nothing. As the manual's WnR says, the fault of a location that cannot be read is a read fault, else a write fault.
#pragma once

#include "core/cpu.h"
#include "core/integer/load_store.h"

namespace myriarm {

enum class Atomic : u8 { add, clear, exclusive_or, set, signed_max, signed_min, unsigned_max, unsigned_min, swap };

/// The value that an operation stores.
template <Atomic kOp, int kBits>
MYR_FN Unsigned<kBits> atomic_result(Unsigned<kBits> memory, Unsigned<kBits> operand) {
  bool less = (kOp == Atomic::signed_max || kOp == Atomic::signed_min) ? (Signed<kBits>)memory < (Signed<kBits>)operand
                                                                       : memory < operand;
  switch (kOp) {
    case Atomic::add: return (Unsigned<kBits>)(memory + operand);
    case Atomic::clear: return (Unsigned<kBits>)(memory & ~operand);
    case Atomic::exclusive_or: return (Unsigned<kBits>)(memory ^ operand);
    case Atomic::set: return (Unsigned<kBits>)(memory | operand);
    case Atomic::signed_max:
    case Atomic::unsigned_max: return less ? operand : memory;
    case Atomic::signed_min:
    case Atomic::unsigned_min: return less ? memory : operand;
    default: return operand;
  }
}

/// LDADD and the like, SWP. rm: Rs, rd: Rt, which gets the old value of memory.
template <int kBits, Atomic kOp, class Cpu>
MYR_FN Outcome atomic_update(Cpu& cpu, const Operands& o) {
  u64 address = cpu.r(o.rn);
  if (MYR_UNLIKELY(!is_aligned<kBits / 8>(address))) return cpu.fault(FaultCode::alignment, address);
  Unsigned<kBits> old;
  if (!load(cpu, address, old)) return Outcome::stop;
  if (!store(cpu, address, atomic_result<kOp, kBits>(old, (Unsigned<kBits>)cpu.r(o.rm)))) return Outcome::stop;
  cpu.set_r(o.rd, old);
  return Outcome::next;
}

/// CAS. rm: Rs as a source, ra: Rs as a destination, rd: Rt. Without a match it stores the old value again: the manual
/// allows that, and a read-only page then faults in both cases, as in QEMU.
template <int kBits, class Cpu>
MYR_FN Outcome compare_and_swap(Cpu& cpu, const Operands& o) {
  u64 address = cpu.r(o.rn);
  if (MYR_UNLIKELY(!is_aligned<kBits / 8>(address))) return cpu.fault(FaultCode::alignment, address);
  Unsigned<kBits> old;
  if (!load(cpu, address, old)) return Outcome::stop;
  bool match = old == (Unsigned<kBits>)cpu.r(o.rm);
  if (!store(cpu, address, match ? (Unsigned<kBits>)cpu.r(o.rd) : old)) return Outcome::stop;
  cpu.set_r(o.ra, old);
  return Outcome::next;
}

/// CASP. rm: Rs, rd: Rt (both even), ra: Rt + 1; aux: Rs + 1 as a source, and from bit 8 as a destination.
template <int kBits, class Cpu>
MYR_FN Outcome compare_and_swap_pair(Cpu& cpu, const Operands& o) {
  using T = Unsigned<kBits>;
  u64 address = cpu.r(o.rn);
  if (MYR_UNLIKELY(!is_aligned<kBits / 4>(address))) return cpu.fault(FaultCode::alignment, address);
  T first, second;
  if (!load_pair(cpu, address, first, second)) return Outcome::stop;
  bool match = first == (T)cpu.r(o.rm) && second == (T)cpu.r(o.aux & 0xff);
  T new_first = match ? (T)cpu.r(o.rd) : first;
  T new_second = match ? (T)cpu.r(o.ra) : second;
  if (!store_pair(cpu, address, new_first, new_second)) return Outcome::stop;
  cpu.set_r(o.rm, first);
  cpu.set_r(o.aux >> 8, second);
  return Outcome::next;
}

}  // namespace myriarm
