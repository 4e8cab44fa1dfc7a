// SPDX-License-Identifier: Apache-2.0
// What a floating-point operation is told and what it leaves behind: FPCR, and the cumulative exception bits of
// FPSR. All of core/fp but native.h is integer arithmetic on the bits of numbers; no floating point of the machine
// underneath is used. Functions carry the names of the manual's pseudocode; N is the number's width: 16, 32 or 64 bits.
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

/// Made once an instruction. exceptions: the bits of FPSR that were raised so far. Functions called with this are the
/// reference; core/fp/native.h has overrides for a context of its own.
struct FpContext {
  u32 fpcr;
  u32 exceptions;
};

MYR_FN FPRounding FPRoundingMode(const FpContext& ctx) { return (FPRounding)(ctx.fpcr >> 22 & 3); }

/// Traps are not implemented, so that an exception is a bit in FPSR.
MYR_FN void FPProcessException(FpContext& ctx, u32 exception) { ctx.exceptions |= exception; }

MYR_FN void fp_begin(FpContext& ctx, u64 fpcr, u64) {
  ctx.fpcr = (u32)fpcr;
  ctx.exceptions = 0;
}

namespace detail {
template <class Cpu>
struct FpOf {
  using type = FpContext;
};
template <class Cpu>
  requires requires { typename Cpu::Fp; }
struct FpOf<Cpu> {
  using type = typename Cpu::Fp;
};
}  // namespace detail

/// The context that the engine has chosen: with overrides, or the reference.
template <class Cpu>
MYR_FN typename detail::FpOf<Cpu>::type fp_context(Cpu& cpu) {
  typename detail::FpOf<Cpu>::type ctx;
  fp_begin(ctx, cpu.system(SystemField::fpcr), cpu.system(SystemField::fpsr));
  return ctx;
}

/// Leaves the exceptions in FPSR, before any result is written. False: the instruction is to change nothing, and the
/// engine runs it again without overrides.
template <class Cpu>
MYR_FN bool fp_finish(Cpu& cpu, const FpContext& ctx) {
  if (ctx.exceptions != 0) cpu.set_system(SystemField::fpsr, cpu.system(SystemField::fpsr) | ctx.exceptions);
  return true;
}

}  // namespace myriarm
