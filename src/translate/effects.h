// SPDX-License-Identifier: Apache-2.0
// What an instruction reads and writes. Nothing is listed by hand: the row's semantics run with a Cpu policy that records.
#pragma once

#include "core/cpu.h"

namespace myriarm::translate {

struct Effects {
  u64 writes_r = 0;       // bit slot: general registers and SP
  u64 writes_v = 0;       // bit 2 * n + half: halves of SIMD&FP registers
  u32 writes_system = 0;  // bit SystemField
  bool writes_flags = false;
  bool reads_count = false;   // of retired instructions
  bool always_stops = false;  // SVC, BRK, HLT, undefined words: never translated
};

/// The effects of a decoded instruction, whatever registers and memory hold.
Effects effects_of(const Operands& operands);

}  // namespace myriarm::translate
