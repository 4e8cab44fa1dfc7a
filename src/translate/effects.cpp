// SPDX-License-Identifier: Apache-2.0
#include "translate/effects.h"

#include "isa/row_functions.h"
#include "isa/row_info.h"

namespace myriarm::translate {
namespace {

/// The Cpu policy that records. Registers and memory read as `fill`, the flags as its lowest bits.
struct Recorder {
  Effects& effects;
  u64 fill;
  bool stopped = false;

  using Fp = FpContext;
  bool give_up() { return false; }

  u64 r(u32 slot) const { return slot == kSlotZero ? 0 : fill; }
  void set_r(u32 slot, u64) {
    if (slot <= kSlotSP) effects.writes_r |= u64{1} << slot;
  }
  Flags flags() const { return unpack_flags(static_cast<u32>(fill) & 15); }
  void set_flags(Flags) { effects.writes_flags = true; }
  u64 pc() const { return 0x10000; }
  u64 retired() const {
    effects.reads_count = true;
    return 0;
  }
  u64 system(SystemField field) const { return field == SystemField::fpcr || field == SystemField::fpsr ? 0 : fill; }
  void set_system(SystemField field, u64) { effects.writes_system |= 1u << static_cast<u32>(field); }
  u64 v(u32, u32) const { return fill; }
  void set_v(u32 n, u32 half, u64) { effects.writes_v |= u64{1} << (2 * n + half); }

  PagedMemory<1> memory() const { return {nullptr, nullptr, 0, 0, 0}; }  // without pages every access is a slow one
  SlowLoad load_slow(u64, u32) { return {fill, true}; }
  bool store_slow(u64, u64, u32) { return true; }
  bool store_pair_slow(u64, u64, u64, u32) { return true; }

  Outcome branch_relative(i64) { return Outcome::branch; }
  Outcome branch_to(u64) { return Outcome::branch; }
  Outcome stop(StopCode, u32, u64) { return end(); }
  Outcome fault(FaultCode, u64) { return end(); }
  Outcome undefined() { return end(); }
  Outcome end() {
    stopped = true;
    return Outcome::stop;
  }
};
static_assert(Cpu<Recorder>);

// A result may depend on what is read: a page that is crossed, a comparison that fails, an alignment that faults.
constexpr u64 kFills[] = {
    0, 16, ~u64{0}, 0x0123456789ABCDE0, 0xFEDCBA9876543215, 0x8000000000000006, 0x7FF000000000100A};

}  // namespace

Effects effects_of(const Operands& operands) {
  Effects effects;
  bool always_stops = true;
  for (const u64 fill : kFills) {
    Recorder cpu{effects, fill};
    kRowFunctions<Recorder>[operands.row](cpu, operands);
    always_stops = always_stops && cpu.stopped;
  }
  effects.always_stops = always_stops;
  // Whether an operation raises an exception or saturates depends on its operands and on FPCR, in too many ways to try.
  const RowFamily family = kRowInfos[operands.row].family;
  if (family == RowFamily::floating_point || family == RowFamily::simd) {
    effects.writes_system |= 1u << static_cast<u32>(SystemField::fpsr);
  }
  return effects;
}

}  // namespace myriarm::translate
