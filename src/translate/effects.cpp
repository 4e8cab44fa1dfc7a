// SPDX-License-Identifier: Apache-2.0
#include "translate/effects.h"

#include <string_view>

#include "isa/row_functions.h"
#include "isa/row_info.h"

namespace myriarm::translate {
namespace {

/// The Cpu policy that records. Registers and memory read as `fill`, the flags as its lowest bits.
struct Recorder {
  Effects& effects;
  u64 fill;
  u32 base = Effects::kNoBase;  // the register that holds base_fill
  u64 base_fill = 0;
  bool stopped = false;
  u64 not_zero_v = 0;
  // What it accesses, as in Effects. Of several accesses, and of what `base` becomes:
  u64 address = 0, becomes = 0;
  u32 parts = 0, size_of_parts = 0;
  bool side_by_side = true, sets_base = false;

  using Fp = FpContext;
  bool give_up() { return false; }

  u64 r(u32 slot) const {
    if (slot <= kSlotSP) effects.reads_r |= u64{1} << slot;
    return slot == kSlotZero ? 0 : slot == base ? base_fill : fill;
  }
  void set_r(u32 slot, u64 value) {
    if (slot <= kSlotSP) effects.writes_r |= u64{1} << slot;
    if (slot != base) return;
    becomes = value;
    sets_base = true;
  }
  Flags flags() const {
    effects.reads_flags = true;
    return unpack_flags(static_cast<u32>(fill) & 15);
  }
  bool holds(u32 cond) const {
    effects.reads_condition = true;
    effects.condition = cond;
    return condition_holds(cond, unpack_flags(static_cast<u32>(fill) & 15));
  }
  void set_source(FlagKind kind, u64, u64) {
    effects.writes_flags = true;
    effects.flags_become = kind;
  }
  void set_flags(Flags) { set_source(FlagKind::packed, 0, 0); }
  template <int kWidth, AddSub kOp>
  void set_flags_of(u64, u64) {
    set_source(FlagSource<1>::kind_of<kWidth, kOp>(), 0, 0);
  }
  template <int kWidth>
  void set_flags_of_logical(u64) {
    set_source(FlagSource<1>::kind_of_logical<kWidth>(), 0, 0);
  }
  u64 pc() const { return 0x10000; }
  u64 retired() const {
    effects.reads_count = true;
    return 0;
  }
  u64 system(SystemField field) const { return field == SystemField::fpcr || field == SystemField::fpsr ? 0 : fill; }
  void set_system(SystemField field, u64) { effects.writes_system |= 1u << static_cast<u32>(field); }
  u64 v(u32 n, u32 half) const {
    effects.reads_v |= u64{1} << (2 * n + half);
    return fill;
  }
  void set_v(u32 n, u32 half, u64 value) {
    effects.writes_v |= u64{1} << (2 * n + half);
    if (value != 0) not_zero_v |= u64{1} << (2 * n + half);
  }

  PagedMemory<1> memory() const { return {nullptr, nullptr, 0, 0, 0}; }  // without pages every access is a slow one
  SlowLoad load_slow(u64 at, u32 size) {
    effects.loads = true;
    return {fill, accesses(at, 1, size)};
  }
  bool store_slow(u64 at, u64, u32 size) {
    effects.stores = true;
    return accesses(at, 1, size);
  }
  bool store_pair_slow(u64 at, u64, u64, u32 size) {
    effects.stores = true;
    return accesses(at, 2, size);
  }
  bool accesses(u64 at, u32 count, u32 size) {
    if (size > effects.access_size) effects.access_size = size;
    if (parts == 0) {
      address = at;
      size_of_parts = size;
    }
    side_by_side &= size != 0 && size == size_of_parts && at == address + u64{parts} * size;
    parts += count;
    return true;
  }

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
static_assert(Cpu<Recorder> && KeepsFlagSource<Recorder>);

/// What an instruction may read although it did not with any fill: a store-exclusive reads its data if the monitor allows it, and
/// a table is read where its indices point.
void add_hidden_reads(const Operands& o, Effects& effects) {
  constexpr u32 kMonitor = 1u << static_cast<u32>(SystemField::monitor);
  if (effects.writes_system & kMonitor) {
    for (const u32 slot : {o.rd, o.rn, o.rm, o.ra}) {
      for (const u32 each : {slot, slot + 1}) {
        if (each <= kSlotSP) effects.reads_r |= u64{1} << each;
      }
    }
  }
  const std::string_view name = kRowInfos[o.row].name;
  if (name.starts_with("TBL") || name.starts_with("TBX")) {
    for (const u32 first : {o.rd, o.rn, o.rm, o.ra}) {
      for (u32 n = first; n < first + 4u; n++) effects.reads_v |= u64{3} << (2 * (n % 32));
    }
  }
}

// A result may depend on what is read: a page that is crossed, a comparison that fails, an alignment that faults.
constexpr u64 kFills[] = {
    0, 16, ~u64{0}, 0x0123456789ABCDE0, 0xFEDCBA9876543215, 0x8000000000000006, 0x7FF000000000100A};

/// Which register an instruction accesses memory by, or adds to, if that is all there is to its address or to what becomes of it.
void find_base(const Operands& operands, Effects& effects) {
  if (operands.rn > kSlotSP || (effects.reads_r >> operands.rn & 1) == 0) return;
  bool first = true, accesses = true, steps = true;
  for (const u64 fill : kFills) {
    for (const u64 base_fill : {fill, fill + 0x3000}) {
      Effects once;
      Recorder cpu{once, fill, operands.rn, base_fill};
      kRowFunctions<Recorder>[operands.row](cpu, operands);
      if (cpu.stopped) continue;
      const i64 offset = static_cast<i64>(cpu.address - base_fill), step = static_cast<i64>(cpu.becomes - base_fill);
      if (first) {
        effects.parts = cpu.parts;
        effects.offset = offset;
        effects.step = step;
      }
      accesses &= cpu.parts != 0 && cpu.side_by_side && cpu.parts == effects.parts && offset == effects.offset;
      steps &= cpu.sets_base && step == effects.step;
      first = false;
    }
  }
  if (first || !(accesses || steps)) return;
  effects.base = operands.rn;
  effects.steps = steps;
  if (!accesses) effects.parts = 0;
}

}  // namespace

void add_effects(Effects& to, const Effects& from) {
  to.writes_r |= from.writes_r;
  to.writes_v |= from.writes_v;
  to.reads_r |= from.reads_r;
  to.reads_v |= from.reads_v;
  to.writes_system |= from.writes_system;
  to.loads |= from.loads;
  to.stores |= from.stores;
  to.access_size = to.access_size > from.access_size ? to.access_size : from.access_size;
  to.reads_count |= from.reads_count;
  to.reads_flags |= from.reads_flags;
  if (from.writes_flags) {
    to.writes_flags = true;
    to.flags_become = from.flags_become;
  }
  if (from.reads_condition) {
    to.reads_condition = true;
    to.condition = from.condition;
  }
}

Effects effects_of(const Operands& operands) {
  Effects effects;
  bool always_stops = true;
  u64 not_zero_v = 0;
  effects.always_writes_r = effects.always_writes_v = ~u64{0};
  for (const u64 fill : kFills) {
    Effects once;
    Recorder cpu{once, fill};
    kRowFunctions<Recorder>[operands.row](cpu, operands);
    always_stops = always_stops && cpu.stopped;
    add_effects(effects, once);
    not_zero_v |= cpu.not_zero_v;
    if (cpu.stopped) continue;
    effects.always_writes_r &= once.writes_r;
    effects.always_writes_v &= once.writes_v;
  }
  effects.always_stops = always_stops;
  if (!always_stops) find_base(operands, effects);
  // Operations on vectors compute upper halves, and those of equal operands may be 0 with every fill.
  const RowFamily family = kRowInfos[operands.row].family;
  const bool computes = family == RowFamily::simd || family == RowFamily::crypto;
  constexpr u64 kUpper = 0xAAAAAAAAAAAAAAAA;
  if (!computes || effects.reads_v == 0)
    effects.zeroes_v = effects.writes_v & effects.always_writes_v & ~not_zero_v & kUpper;
  add_hidden_reads(operands, effects);
  // Whether an operation raises an exception or saturates depends on its operands and on FPCR, in too many ways to try.
  if (family == RowFamily::floating_point || family == RowFamily::simd) {
    effects.writes_system |= 1u << static_cast<u32>(SystemField::fpsr);
  }
  return effects;
}

}  // namespace myriarm::translate
