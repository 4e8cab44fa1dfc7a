// SPDX-License-Identifier: Apache-2.0
// What an instruction reads and writes. Nothing is listed by hand: the row's semantics run with a Cpu policy that records.
#pragma once

#include "core/cpu.h"
#include "translate/flag_source.h"

namespace myriarm::translate {

struct Effects {
  u64 writes_r = 0;  // bit slot: general registers and SP
  u64 writes_v = 0;  // bit 2 * n + half: halves of SIMD&FP registers
  /// Of these, what it writes whenever it retires; and all that it may read.
  u64 always_writes_r = 0, always_writes_v = 0;
  u64 reads_r = 0, reads_v = 0;
  u64 zeroes_v = 0;  // upper halves of vector registers that become 0 whenever it retires
  bool loads = false, stores = false;
  u32 access_size = 0;  // of the parts of what it loads or stores, the largest
  /// If it accesses `parts` of that size side by side, from what a register holds plus `offset` on, or becomes that register plus
  /// `step`: the register. Else kNoBase.
  static constexpr u32 kNoBase = ~0u;
  u32 base = kNoBase;
  u32 parts = 0;
  i64 offset = 0;
  bool steps = false;
  i64 step = 0;
  u32 writes_system = 0;  // bit SystemField
  bool writes_flags = false;
  FlagKind flags_become = FlagKind::packed;  // what writes them makes a source of this kind
  bool reads_flags = false;                  // the flags themselves
  bool reads_condition = false;              // whether this condition holds
  u32 condition = 0;
  bool reads_count = false;   // of retired instructions
  bool always_stops = false;  // SVC, BRK, HLT, undefined words: never translated
};

/// Adds what may happen in `from` to `to`; what always happens stays as it is.
void add_effects(Effects& to, const Effects& from);

/// The effects of a decoded instruction, whatever registers and memory hold.
Effects effects_of(const Operands& operands);

}  // namespace myriarm::translate
