// SPDX-License-Identifier: Apache-2.0
// What a floating-point operation is told and what it leaves behind: FPCR, and the cumulative exception bits of
// FPSR. Everything in core/fp is integer arithmetic on the bits of numbers; no operation of the machine underneath
// is used. Functions carry the names of the manual's pseudocode; N is the number's width: 16, 32 or 64 bits.
#pragma once

#include "core/cpu.h"

namespace myriarm {

/// Bits of FPSR.
enum FPExc : u32 {
  FPExc_InvalidOp = 1,
  FPExc_DivideByZero = 2,
  FPExc_Overflow = 4,
  FPExc_Underflow = 8,
  FPExc_Inexact = 16,
  FPExc_InputDenorm = 128,
  FPExc_Saturation = 1u << 27,  // QC, of AdvSIMD
};

/// Bits of FPCR. RMode is bits 23:22.
enum FpcrBit : u32 {
  kFpcrFZ16 = 1u << 19,
  kFpcrFZ = 1u << 24,
  kFpcrDN = 1u << 25,
  kFpcrAHP = 1u << 26,
};

/// The first four are the values of FPCR.RMode.
enum class FPRounding : u8 { tie_even, pos_inf, neg_inf, zero, tie_away, odd };

/// Made once an instruction. exceptions: the bits of FPSR that were raised so far.
struct FpContext {
  u32 fpcr;
  u32 exceptions;
};

MYR_FN FPRounding FPRoundingMode(const FpContext& ctx) { return (FPRounding)(ctx.fpcr >> 22 & 3); }

/// Traps are not implemented, so that an exception is a bit in FPSR.
MYR_FN void FPProcessException(FpContext& ctx, u32 exception) { ctx.exceptions |= exception; }

template <class Cpu>
MYR_FN FpContext fp_context(Cpu& cpu) {
  return {(u32)cpu.system(SystemField::fpcr), 0};
}

/// Leaves the exceptions in FPSR.
template <class Cpu>
MYR_FN void fp_finish(Cpu& cpu, const FpContext& ctx) {
  if (ctx.exceptions != 0) cpu.set_system(SystemField::fpsr, cpu.system(SystemField::fpsr) | ctx.exceptions);
}

}  // namespace myriarm
