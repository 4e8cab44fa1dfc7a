// SPDX-License-Identifier: Apache-2.0
// A decoded instruction: the decoder writes it, the semantics read it. It has 16 bytes, so that a GPU fetches it with
// one vector load and a cache line of a CPU holds four.
#pragma once

#include "core/portable.h"

namespace myriarm {

/// Register slots. Register number 31 means different things in different instructions; the decoder replaces it by the
/// slot that is meant, so that engines need no test: SP, the zero register as a source, or a discarded result.
enum Slot : u8 {
  kSlotLR = 30,
  kSlotSP = 31,
  kSlotZero = 32,     // reads as 0; never written
  kSlotDiscard = 33,  // written; never read
  kSlotCount = 34,
};

/// The operands of one instruction. `rd` is the destination (Rt of a load or store), `rm` the second
/// source (Rs of exclusives and atomics), `ra` the third (Rt2 of pairs). SIMD&FP registers are plain 0 to 31.
/// `imm` is the immediate as the operation uses it: scaled, sign-extended, a bitmask expanded. An instruction
/// that needs two numbers uses `offset` and `aux` in its place; its decode form says what they hold.
struct Operands {
  u16 kind;  // what the engine dispatches on: a row, or a specialisation that the engine has chosen
  u16 row;   // row of the instruction table; kRowUndefined for a word that is no instruction
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

/// What the engine has to do after an instruction.
enum class Outcome : u8 {
  next,    // retired; continue at pc + 4
  branch,  // retired; continue at the address that was passed to the engine's branch function
  stop,    // a stop was recorded, or an access was refused and the instruction has not retired
};

}  // namespace myriarm
