// SPDX-License-Identifier: Apache-2.0
// Scalar floating-point instructions. N is the width of the numbers, M that of a second format or an integer. A result
// clears the rest of its register.
#pragma once

#include "core/fp/arithmetic.h"
#include "core/fp/compare.h"
#include "core/fp/convert.h"
#include "core/fp/divide.h"
#include "core/fp/fused.h"
#include "core/fp/native.h"

namespace myriarm {

template <int N, class Cpu>
MYR_FN u64 read_fp(Cpu& cpu, u32 n) {
  return cpu.v(n, 0) & FpFormat<N>::kMask;
}
/// value has zeros above its N bits.
template <class Cpu>
MYR_FN void write_fp(Cpu& cpu, u32 n, u64 value) {
  cpu.set_v(n, 0, value);
  cpu.set_v(n, 1, 0);
}

/// FMOV (register), FABS, FNEG: they change only the sign bit.
enum class FpSign : u8 { keep, clear, flip };

template <int N, FpSign kOp, class Cpu>
MYR_FN Outcome fp_sign(Cpu& cpu, const Operands& o) {
  u64 value = read_fp<N>(cpu, o.rn);
  write_fp(cpu, o.rd, kOp == FpSign::keep ? value : kOp == FpSign::clear ? FPAbs<N>(value) : FPNeg<N>(value));
  return Outcome::next;
}

/// FMOV (immediate). imm: the number.
template <class Cpu>
MYR_FN Outcome fp_move_imm(Cpu& cpu, const Operands& o) {
  write_fp(cpu, o.rd, o.imm);
  return Outcome::next;
}

/// FMOV (general) of N bits; W registers are read and written as such.
template <int N, class Cpu>
MYR_FN Outcome fp_move_to_general(Cpu& cpu, const Operands& o) {
  cpu.set_r(o.rd, read_fp<N>(cpu, o.rn));
  return Outcome::next;
}
template <int N, class Cpu>
MYR_FN Outcome fp_move_from_general(Cpu& cpu, const Operands& o) {
  write_fp(cpu, o.rd, cpu.r(o.rn) & FpFormat<N>::kMask);
  return Outcome::next;
}
/// FMOV of the upper half of a SIMD&FP register, to and from an X register.
template <class Cpu>
MYR_FN Outcome fp_move_top_to_general(Cpu& cpu, const Operands& o) {
  cpu.set_r(o.rd, cpu.v(o.rn, 1));
  return Outcome::next;
}
template <class Cpu>
MYR_FN Outcome fp_move_top_from_general(Cpu& cpu, const Operands& o) {
  cpu.set_v(o.rd, 1, cpu.r(o.rn));
  return Outcome::next;
}

template <int N, class Cpu>
MYR_FN Outcome fp_sqrt(Cpu& cpu, const Operands& o) {
  auto ctx = fp_context(cpu);
  u64 result = FPSqrt<N>(read_fp<N>(cpu, o.rn), ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  write_fp(cpu, o.rd, result);
  return Outcome::next;
}

/// FCVT from N bits to M.
template <int N, int M, class Cpu>
MYR_FN Outcome fp_convert(Cpu& cpu, const Operands& o) {
  auto ctx = fp_context(cpu);
  u64 result = FPConvert<N, M>(read_fp<N>(cpu, o.rn), FPRoundingMode(ctx), ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  write_fp(cpu, o.rd, result);
  return Outcome::next;
}

/// FRINTN, FRINTP, FRINTM, FRINTZ, FRINTA.
template <int N, FPRounding kRounding, class Cpu>
MYR_FN Outcome fp_round_int(Cpu& cpu, const Operands& o) {
  auto ctx = fp_context(cpu);
  u64 result = FPRoundInt<N>(read_fp<N>(cpu, o.rn), kRounding, false, ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  write_fp(cpu, o.rd, result);
  return Outcome::next;
}
/// FRINTI, and with kExact FRINTX, which raises Inexact.
template <int N, bool kExact, class Cpu>
MYR_FN Outcome fp_round_int_current(Cpu& cpu, const Operands& o) {
  auto ctx = fp_context(cpu);
  u64 result = FPRoundInt<N>(read_fp<N>(cpu, o.rn), FPRoundingMode(ctx), kExact, ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  write_fp(cpu, o.rd, result);
  return Outcome::next;
}

/// Operations with two sources. nmul: the product with its sign flipped, even if it is a NaN.
enum class FpBinary : u8 { add, sub, mul, nmul, div, max, min, maxnm, minnm };

template <int N, FpBinary kOp, class Ctx>
MYR_FN u64 fp_binary_result(u64 op1, u64 op2, Ctx& ctx) {
  switch (kOp) {
    case FpBinary::add: return FPAdd<N>(op1, op2, ctx);
    case FpBinary::sub: return FPSub<N>(op1, op2, ctx);
    case FpBinary::mul: return FPMul<N>(op1, op2, ctx);
    case FpBinary::nmul: return FPNeg<N>(FPMul<N>(op1, op2, ctx));
    case FpBinary::div: return FPDiv<N>(op1, op2, ctx);
    case FpBinary::max: return FPMax<N>(op1, op2, ctx);
    case FpBinary::min: return FPMin<N>(op1, op2, ctx);
    case FpBinary::maxnm: return FPMaxNum<N>(op1, op2, ctx);
    default: return FPMinNum<N>(op1, op2, ctx);
  }
}

/// FADD to FNMUL.
template <int N, FpBinary kOp, class Cpu>
MYR_FN Outcome fp_binary(Cpu& cpu, const Operands& o) {
  auto ctx = fp_context(cpu);
  u64 result = fp_binary_result<N, kOp>(read_fp<N>(cpu, o.rn), read_fp<N>(cpu, o.rm), ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  write_fp(cpu, o.rd, result);
  return Outcome::next;
}

/// FMADD, FMSUB (the product negated), FNMADD (both), FNMSUB (the addend negated). ra: the addend.
template <int N, bool kNegateAddend, bool kNegateProduct, class Cpu>
MYR_FN Outcome fp_multiply_add(Cpu& cpu, const Operands& o) {
  auto ctx = fp_context(cpu);
  u64 addend = read_fp<N>(cpu, o.ra), op1 = read_fp<N>(cpu, o.rn);
  if (kNegateAddend) addend = FPNeg<N>(addend);
  if (kNegateProduct) op1 = FPNeg<N>(op1);
  u64 result = FPMulAdd<N>(addend, op1, read_fp<N>(cpu, o.rm), ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  write_fp(cpu, o.rd, result);
  return Outcome::next;
}

/// FCMP, FCMPE.
template <int N, bool kSignalNans, class Cpu>
MYR_FN Outcome fp_compare(Cpu& cpu, const Operands& o) {
  auto ctx = fp_context(cpu);
  Flags flags = FPCompare<N>(read_fp<N>(cpu, o.rn), read_fp<N>(cpu, o.rm), kSignalNans, ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  cpu.set_flags(flags);
  return Outcome::next;
}
template <int N, bool kSignalNans, class Cpu>
MYR_FN Outcome fp_compare_zero(Cpu& cpu, const Operands& o) {
  auto ctx = fp_context(cpu);
  Flags flags = FPCompare<N>(read_fp<N>(cpu, o.rn), 0, kSignalNans, ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  cpu.set_flags(flags);
  return Outcome::next;
}

/// FCCMP, FCCMPE. aux: cond, offset: nzcv if the condition fails.
template <int N, bool kSignalNans, class Cpu>
MYR_FN Outcome fp_conditional_compare(Cpu& cpu, const Operands& o) {
  if (condition(cpu, o.aux)) return fp_compare<N, kSignalNans>(cpu, o);
  cpu.set_flags(unpack_flags((u32)o.offset));
  return Outcome::next;
}

/// FCSEL. aux: cond.
template <int N, class Cpu>
MYR_FN Outcome fp_conditional_select(Cpu& cpu, const Operands& o) {
  write_fp(cpu, o.rd, read_fp<N>(cpu, condition(cpu, o.aux) ? o.rn : o.rm));
  return Outcome::next;
}

/// FCVTNS to FCVTZU: an N-bit number as an M-bit integer.
template <int N, int M, FPRounding kRounding, bool kUnsigned, class Cpu>
MYR_FN Outcome fp_to_integer(Cpu& cpu, const Operands& o) {
  auto ctx = fp_context(cpu);
  u64 result = FPToFixed<N, M>(read_fp<N>(cpu, o.rn), 0, kUnsigned, kRounding, ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  cpu.set_r(o.rd, result);
  return Outcome::next;
}
/// FCVTZS, FCVTZU (fixed-point). imm: fraction bits.
template <int N, int M, bool kUnsigned, class Cpu>
MYR_FN Outcome fp_to_fixed(Cpu& cpu, const Operands& o) {
  auto ctx = fp_context(cpu);
  u64 result = FPToFixed<N, M>(read_fp<N>(cpu, o.rn), (u32)o.imm, kUnsigned, FPRounding::zero, ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  cpu.set_r(o.rd, result);
  return Outcome::next;
}
/// FJCVTZS. Sets Z if the result is exactly the number's value.
template <class Cpu>
MYR_FN Outcome fp_to_integer_js(Cpu& cpu, const Operands& o) {
  auto ctx = fp_context(cpu);
  bool z;
  u32 result = FPToFixedJS(read_fp<64>(cpu, o.rn), ctx, z);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  cpu.set_r(o.rd, result);
  cpu.set_flags({false, z, false, false});
  return Outcome::next;
}

/// SCVTF, UCVTF: an M-bit integer, or fixed-point number of fbits fraction bits, as an N-bit number.
template <int M, int N, bool kUnsigned, class Cpu>
MYR_FN Outcome fp_from_general(Cpu& cpu, const Operands& o, u32 fbits) {
  auto ctx = fp_context(cpu);
  u64 result = FixedToFP<M, N>(cpu.r(o.rn), fbits, kUnsigned, FPRoundingMode(ctx), ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  write_fp(cpu, o.rd, result);
  return Outcome::next;
}
template <int M, int N, bool kUnsigned, class Cpu>
MYR_FN Outcome fp_from_integer(Cpu& cpu, const Operands& o) {
  return fp_from_general<M, N, kUnsigned>(cpu, o, 0);
}
/// imm: fraction bits.
template <int M, int N, bool kUnsigned, class Cpu>
MYR_FN Outcome fp_from_fixed(Cpu& cpu, const Operands& o) {
  return fp_from_general<M, N, kUnsigned>(cpu, o, (u32)o.imm);
}

}  // namespace myriarm
