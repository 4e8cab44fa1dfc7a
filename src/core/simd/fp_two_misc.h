// SPDX-License-Identifier: Apache-2.0
// AdvSIMD floating point, two-register miscellaneous: an operation on each element of one register, and the same on
// scalars. A comparison with zero is one with a register of zeros; a conversion to or from integers is one of
// fixed-point numbers without fraction bits.
#pragma once

#include "core/fp/scalar.h"
#include "core/simd/fp_operations.h"

namespace myriarm {

template <class Op, class Cpu>
MYR_FN Outcome fp_vector_two(Cpu& cpu, const Operands& o) {
  return fp_vector_operation<Op>(cpu, o, 0, 0);
}
template <class Op, class Cpu>
MYR_FN Outcome fp_scalar_two(Cpu& cpu, const Operands& o) {
  return fp_scalar_operation<Op>(cpu, o, 0);
}

/// Conversions to and from fixed point. offset: fraction bits.
template <class Op, class Cpu>
MYR_FN Outcome fp_vector_fixed(Cpu& cpu, const Operands& o) {
  u64 fbits = replicate_element((u64)(u32)o.offset, arrangement_size(o));  // at most 64: fits into any element
  return fp_vector_operation<Op>(cpu, o, fbits, fbits);
}
template <class Op, class Cpu>
MYR_FN Outcome fp_scalar_fixed(Cpu& cpu, const Operands& o) {
  return fp_scalar_operation<Op>(cpu, o, (u64)(u32)o.offset);
}

/// FABS, FNEG: they change only the sign bit.
template <FpSign kOp, class Cpu>
MYR_FN Outcome fp_vector_sign(Cpu& cpu, const Operands& o) {
  u64 tops = element_of(arrangement_size(o)).tops;
  u64 low = cpu.v(o.rn, 0), high = cpu.v(o.rn, 1);
  write_vector(cpu, o.rd, arrangement_q(o), kOp == FpSign::clear ? low & ~tops : low ^ tops,
               kOp == FpSign::clear ? high & ~tops : high ^ tops);
  return Outcome::next;
}

/// FCVTN, and FCVTXN, which rounds to odd: converts to half the width.
template <bool kRoundToOdd, class Cpu>
MYR_FN Outcome fp_vector_narrow(Cpu& cpu, const Operands& o) {
  auto ctx = fp_context(cpu);
  FPRounding rounding = kRoundToOdd ? FPRounding::odd : FPRoundingMode(ctx);
  u64 result = 0;
  for (u32 half = 0; half < 2; half++) {
    u64 n = cpu.v(o.rn, half), narrow;
    if (kRoundToOdd || arrangement_size(o) == 2) {
      narrow = FPConvert<64, 32>(n, rounding, ctx);
    } else {
      narrow = FPConvert<32, 16>((u32)n, rounding, ctx) | FPConvert<32, 16>(n >> 32, rounding, ctx) << 16;
    }
    result |= narrow << (half * 32);
  }
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  write_part(cpu, o.rd, arrangement_q(o), result);
  return Outcome::next;
}
/// FCVTXN (scalar).
template <class Cpu>
MYR_FN Outcome fp_scalar_narrow_to_odd(Cpu& cpu, const Operands& o) {
  auto ctx = fp_context(cpu);
  u64 result = FPConvert<64, 32>(cpu.v(o.rn, 0), FPRounding::odd, ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  write_fp(cpu, o.rd, result);
  return Outcome::next;
}
/// FCVTL: converts to twice the width, which is exact.
template <class Cpu>
MYR_FN Outcome fp_vector_widen(Cpu& cpu, const Operands& o) {
  auto ctx = fp_context(cpu);
  u64 n = cpu.v(o.rn, arrangement_q(o));
  u64 wide[2];
  for (u32 half = 0; half < 2; half++) {
    u64 source = n >> (half * 32) & 0xFFFFFFFFu;
    if (arrangement_size(o) == 2) {
      wide[half] = FPConvert<32, 64>(source, FPRounding::tie_even, ctx);
    } else {
      wide[half] = FPConvert<16, 32>(source & 0xFFFF, FPRounding::tie_even, ctx) |
                   FPConvert<16, 32>(source >> 16, FPRounding::tie_even, ctx) << 32;
    }
  }
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  cpu.set_v(o.rd, 0, wide[0]);
  cpu.set_v(o.rd, 1, wide[1]);
  return Outcome::next;
}

}  // namespace myriarm
