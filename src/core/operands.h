// SPDX-License-Identifier: Apache-2.0
// A decoded instruction: what the decoder leaves and the semantics read. 16 bytes, so that one
// vector load fetches it on a GPU and four fit a cache line on a CPU.
#pragma once

#include "core/portable.h"

namespace myriarm {

/// Register slots. The decoder turns the architecture's number 31 into the slot that the instruction
/// means by it, so that no engine asks again: SP, the zero register as a source, or a discarded result.
enum Slot : u8 {
  kSlotLR = 30,
  kSlotSP = 31,
  kSlotZero = 32,     // reads as 0, is never written
  kSlotDiscard = 33,  // is written, is never read
  kSlotCount = 34,
};

/// The operands of one instruction. `rd` is the destination (Rt of a load or store), `rm` the second
/// source (Rs of exclusives and atomics), `ra` the third (Rt2 of pairs). SIMD&FP registers are plain 0 to 31.
/// `imm` is the immediate as the operation uses it: scaled, sign-extended, a bitmask expanded. An instruction
/// that needs two numbers uses `offset` and `aux` in its place; its decode form says what they hold.
struct Operands {
  u16 kind;  // what the engine dispatches on: a row, or what the engine made of one
  u16 row;   // row of the instruction table; kRowUndefined for no instruction
  u8 rd, rn, rm, ra;
  union {
    u64 imm;
    struct {
      i32 offset;
      u32 aux;
    };
  };
};
static_assert(sizeof(Operands) == 16, "one vector load");

/// What an instruction asks of the engine that ran it.
enum class Outcome : u8 {
  next,    // retired; continue at pc + 4
  branch,  // retired; continue where the engine's branch function was told
  stop,    // not continuing: a stop was recorded, or memory was not accessible (the instruction has not retired)
};

}  // namespace myriarm
