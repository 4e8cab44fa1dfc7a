// SPDX-License-Identifier: Apache-2.0
// Load-exclusive and store-exclusive. The monitor remembers the address, the size and the value that was read. A
// store-exclusive succeeds if its address and size are the same and memory still holds that value. As in QEMU, this
// does not notice a value that was changed and changed back, and it costs nothing in plain stores.
//
// The manual allows a store-exclusive to check the monitor first or for faults first. Here, as in QEMU, the monitor is
// first: if that check fails, there is no access and no fault. If it succeeds, the address is aligned, because the
// load-exclusive checked an address of the same size.
#pragma once

#include "core/cpu.h"
#include "core/integer/load_store.h"

namespace myriarm {

/// The address that the monitor keeps: without its tag, so it is never kMonitorOpen.
MYR_FN u64 monitor_address(u64 address) { return untagged(address); }

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

/// The last step of store-exclusives: clears the monitor in both cases. rm: the status register, 0 for success.
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

/// LDXP, LDAXP of two kBits registers. rd: Rt, ra: Rt2; if both are the same register, it gets Rt2's value.
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
