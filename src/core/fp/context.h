// SPDX-License-Identifier: Apache-2.0
// The input and output of floating-point operations besides numbers: FPCR, and the cumulative exception bits of FPSR.
// Except for native.h, core/fp computes with integer arithmetic on the bits of numbers and uses no floating point of
// the host. Functions have the names of the manual's pseudocode; N is the width of a number: 16, 32 or 64 bits.
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
  FPExc_Saturation = 1u << 27,  // QC, set by saturating AdvSIMD instructions
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

/// Made once for each instruction. exceptions: the FPSR bits raised so far. Functions called with this type are the
/// reference; core/fp/native.h has overrides for another type of context.
struct FpContext {
  u32 fpcr;
  u32 exceptions;
};

MYR_FN FPRounding FPRoundingMode(const FpContext& ctx) { return (FPRounding)(ctx.fpcr >> 22 & 3); }

/// Traps are not implemented, so an exception only sets a bit of FPSR.
MYR_FN void FPProcessException(FpContext& ctx, u32 exception) { ctx.exceptions |= exception; }

MYR_FN void fp_begin(FpContext& ctx, u64 fpcr, u64) {
  ctx.fpcr = (u32)fpcr;
  ctx.exceptions = 0;
}

/// A context of the type that the engine has chosen: with overrides, or the reference.
template <class Cpu>
MYR_FN typename Cpu::Fp fp_context(Cpu& cpu) {
  typename Cpu::Fp ctx;
  fp_begin(ctx, cpu.system(SystemField::fpcr), cpu.system(SystemField::fpsr));
  return ctx;
}

/// Adds the exceptions to FPSR, before any result is written. Returns false if an override did not apply: then the
/// instruction changes nothing, and the engine runs it again without overrides.
template <class Cpu>
MYR_FN bool fp_finish(Cpu& cpu, const FpContext& ctx) {
  if (ctx.exceptions != 0) cpu.set_system(SystemField::fpsr, cpu.system(SystemField::fpsr) | ctx.exceptions);
  return true;
}

}  // namespace myriarm
