// SPDX-License-Identifier: Apache-2.0
// Load-exclusive and store-exclusive. The monitor remembers address, size and what was read; a store-exclusive
// succeeds if it is to the same place and memory still holds those values. That is weaker than the manual's monitor
// in one way (a value changed and changed back is not noticed), as in QEMU, and needs no work in plain stores.
//
// The manual leaves open whether a store-exclusive looks at the monitor or for faults first. Here as in QEMU the
// monitor is first: where it fails there is no access and no fault, and where it holds the address is aligned, since
// the load-exclusive of the same size was.
#pragma once

#include "core/cpu.h"
#include "core/integer/load_store.h"

namespace myriarm {

/// What the monitor knows a place by: the address without its tag, so never kMonitorOpen.
MYR_FN u64 monitor_address(u64 address) { return (address << 8) >> 8; }

template <class Cpu>
MYR_FN void set_monitor(Cpu& cpu, u64 address, u32 bytes, u64 low, u64 high) {
  cpu.set_system(SystemField::monitor, monitor_address(address));
  cpu.set_system(SystemField::monitor_size, bytes);
  cpu.set_system(SystemField::monitor_low, low);
  cpu.set_system(SystemField::monitor_high, high);
}

template <class Cpu>
MYR_FN void open_monitor(Cpu& cpu) {
  cpu.set_system(SystemField::monitor, kMonitorOpen);
}

template <class Cpu>
MYR_FN bool monitor_marks(Cpu& cpu, u64 address, u32 bytes) {
  return cpu.system(SystemField::monitor) == monitor_address(address) && cpu.system(SystemField::monitor_size) == bytes;
}

/// The common end of the store-exclusives: the monitor opens whatever it said. rm: status, 0 for success.
template <class Cpu>
MYR_FN Outcome end_store_exclusive(Cpu& cpu, const Operands& o, bool stored) {
  open_monitor(cpu);
  cpu.set_r(o.rm, stored ? 0 : 1);
  return Outcome::next;
}

/// LDXR, LDAXR. rd: Rt.
template <int kBits, class Cpu>
MYR_FN Outcome load_exclusive(Cpu& cpu, const Operands& o) {
  u64 address = cpu.r(o.rn);
  if (MYR_UNLIKELY(!is_aligned<kBits / 8>(address))) return cpu.fault(FaultCode::alignment, address);
  Unsigned<kBits> value;
  if (!load(cpu, address, value)) return Outcome::stop;
  set_monitor(cpu, address, kBits / 8, value, 0);
  cpu.set_r(o.rd, value);
  return Outcome::next;
}

/// STXR, STLXR. rd: Rt, rm: Rs.
template <int kBits, class Cpu>
MYR_FN Outcome store_exclusive(Cpu& cpu, const Operands& o) {
  u64 address = cpu.r(o.rn);
  bool pass = monitor_marks(cpu, address, kBits / 8);
  if (pass) {
    Unsigned<kBits> now;
    if (!load(cpu, address, now)) return Outcome::stop;
    pass = now == cpu.system(SystemField::monitor_low);
    if (pass && !store(cpu, address, (Unsigned<kBits>)cpu.r(o.rd))) return Outcome::stop;
  }
  return end_store_exclusive(cpu, o, pass);
}

/// LDXP, LDAXP of two kBits registers. rd: Rt, ra: Rt2; where both are one register, Rt2's value stays.
template <int kBits, class Cpu>
MYR_FN Outcome load_exclusive_pair(Cpu& cpu, const Operands& o) {
  u64 address = cpu.r(o.rn);
  if (MYR_UNLIKELY(!is_aligned<kBits / 4>(address))) return cpu.fault(FaultCode::alignment, address);
  Unsigned<kBits> first, second;
  if (!load_pair(cpu, address, first, second)) return Outcome::stop;
  set_monitor(cpu, address, kBits / 4, first, second);
  cpu.set_r(o.rd, first);
  cpu.set_r(o.ra, second);
  return Outcome::next;
}

/// STXP, STLXP of two kBits registers. rd: Rt, ra: Rt2, rm: Rs.
template <int kBits, class Cpu>
MYR_FN Outcome store_exclusive_pair(Cpu& cpu, const Operands& o) {
  u64 address = cpu.r(o.rn);
  bool pass = monitor_marks(cpu, address, kBits / 4);
  if (pass) {
    Unsigned<kBits> first, second;
    if (!load_pair(cpu, address, first, second)) return Outcome::stop;
    pass = first == cpu.system(SystemField::monitor_low) && second == cpu.system(SystemField::monitor_high);
    if (pass && !store_pair(cpu, address, (Unsigned<kBits>)cpu.r(o.rd), (Unsigned<kBits>)cpu.r(o.ra))) {
      return Outcome::stop;
    }
  }
  return end_store_exclusive(cpu, o, pass);
}

}  // namespace myriarm
