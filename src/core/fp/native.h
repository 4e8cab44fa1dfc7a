// SPDX-License-Identifier: Apache-2.0
// Overrides of this folder's functions that use the floating point of the host or GPU; the type of the context chooses
// them. They apply only where result and exceptions are certain to be those of the reference.
// docs/design/native-arithmetic.md has the argument, and tests/fp compares both. There are none for half precision,
// which not every machine has.
#pragma once

#include "core/fp/compare.h"
#include "core/fp/convert.h"
#include "core/fp/divide.h"
#include "core/fp/fused.h"

namespace myriarm {

/// kGivesUp says what an override does where it does not apply: it sets `missed`, and the engine runs the instruction
/// again with the reference; or it calls the reference itself. Functions without an override are those of the
/// reference.
template <bool kGivesUp>
struct NativeFpContext : FpContext {
  bool inexact;  // FPSR.IXC is set, so raising Inexact changes nothing
  bool nearest;  // the machine rounds as FPCR.RMode says
  bool rounds;   // inexact and nearest
  bool flushes;  // FPCR.FZ: denormal operands are zeros, and set FPSR.IDC
  bool missed;
};

template <bool kGivesUp>
MYR_FN void fp_begin(NativeFpContext<kGivesUp>& ctx, u64 fpcr, u64 fpsr) {
  fp_begin((FpContext&)ctx, fpcr, fpsr);
  ctx.inexact = (fpsr & FPExc_Inexact) != 0;
  ctx.nearest = kMachineRounds && FPRoundingMode(ctx) == FPRounding::tie_even;
  ctx.rounds = ctx.nearest && ctx.inexact;
  ctx.flushes = (fpcr & kFpcrFZ) != 0;
  ctx.missed = false;
}

template <class Cpu, bool kGivesUp>
MYR_FN bool fp_finish(Cpu& cpu, const NativeFpContext<kGivesUp>& ctx) {
  if constexpr (kGivesUp) {
    if (MYR_UNLIKELY(ctx.missed)) return cpu.give_up();
  }
  return fp_finish(cpu, (const FpContext&)ctx);
}

namespace native {

template <int N>
MYR_FN typename MachineNumber<N>::type number(u64 bits) {
  return bit_cast<typename MachineNumber<N>::type>((typename MachineNumber<N>::bits)bits);
}
MYR_FN u64 bits(float number) { return bit_cast<u32>(number); }
MYR_FN u64 bits(double number) { return bit_cast<u64>(number); }

template <int N>
MYR_FN bool is_zero(u64 x) {
  return (x & (FpFormat<N>::kSign - 1)) == 0;
}
template <int N>
MYR_FN u32 biased_exponent(u64 x) {
  return (u32)(x >> FpFormat<N>::kFractionBits) & FpFormat<N>::kExponentMask;
}
template <int N>
MYR_FN bool is_normal(u64 x) {
  return biased_exponent<N>(x) - 1 < FpFormat<N>::kExponentMask - 1;
}
template <int N>
MYR_FN bool is_zero_or_normal(u64 x) {
  return MYR_LIKELY(is_normal<N>(x)) || is_zero<N>(x);
}
/// Whether a result is at least twice the smallest normal number; then it was normal before rounding, too.
template <int N>
MYR_FN bool is_safely_normal(u64 x) {
  return biased_exponent<N>(x) - 2 < FpFormat<N>::kExponentMask - 2;
}

/// Whether overrides of operations that round can apply. While IXC is not set, that needs a proof that the result is
/// exact. Contexts with kGivesUp do not try such proofs, to keep their code short.
template <bool kGivesUp>
MYR_FN bool may_apply(const NativeFpContext<kGivesUp>& ctx) {
  return MYR_LIKELY(ctx.rounds) || (!kGivesUp && ctx.nearest);
}

// The proofs compute the rounding error exactly and test whether it is zero. They may reject a result that is exact.

/// Whether result is exactly op1 + op2, by Knuth's two-sum: the sum minus each operand gives back the other.
template <int N>
MYR_FN bool sum_is_exact(u64 op1, u64 op2, u64 result) {
  auto a = number<N>(op1), b = number<N>(op2), sum = number<N>(result);
  auto b_taken = machine_add(sum, -a), a_taken = machine_add(sum, -b_taken);
  return a == a_taken && b == b_taken;
}
/// Whether product is exactly op1 * op2. Rejects small products, where the lowest bit of the exact one may underflow.
template <int N>
MYR_FN bool product_is_exact(u64 op1, u64 op2, u64 product) {
  return machine_has_fma() && biased_exponent<N>(product) > FpFormat<N>::kFractionBits + 2 &&
         machine_fma(number<N>(op1), number<N>(op2), -number<N>(product)) == 0;
}

/// Whether an integer of M bits fits into the fraction of an N-bit number.
template <int M, int N>
MYR_FN bool is_exact_integer(u64 integer, bool is_unsigned) {
  if (M == 32) integer = is_unsigned ? (u64)(u32)integer : (u64)(i64)(i32)(u32)integer;
  if (!is_unsigned && (i64)integer < 0) integer = 0 - integer;
  return integer <= (u64)2 << FpFormat<N>::kFractionBits;
}
/// Whether the product is exact by itself, and then the sum.
template <int N>
MYR_FN bool fused_is_exact(u64 addend, u64 op1, u64 op2, u64 result) {
  u64 product = bits(machine_multiply(number<N>(op1), number<N>(op2)));
  bool zero = is_zero<N>(op1) || is_zero<N>(op2);
  return is_zero_or_normal<N>(product) && (zero || product_is_exact<N>(op1, op2, product)) &&
         sum_is_exact<N>(product, addend, result);
}

/// Contexts that give up say so at the end of an instruction, once for all its operations: where lanes may part at each branch, an
/// operation is computed in any case, and what its result tells is its condition. That is enough while FPCR does not flush: an
/// operand that is no finite number leaves none, and denormal operands are numbers as others.
template <bool kGivesUp>
constexpr bool kWithoutBranches = kGivesUp&& MYR_LANES_PART;

MYR_FN bool both(bool a, bool b) { return ((u32)a & (u32)b) != 0; }
MYR_FN bool either(bool a, bool b) { return ((u32)a | (u32)b) != 0; }
template <bool kGivesUp>
MYR_FN bool result_tells(const NativeFpContext<kGivesUp>& ctx) {
  return both(ctx.rounds, !ctx.flushes);
}
// Few instructions on a GPU, which takes several for an integer of 64 bits: of the upper word without its sign, and comparisons of numbers.
template <int N>
MYR_FN u32 upper_word(u64 x) {
  return (u32)(x >> (N - 32)) << 1;
}
template <int N>
constexpr u32 kUpperExponentMask = (u32)FpFormat<N>::kExponentMask << (N == 64 ? 21 : 24);
template <int N>
constexpr u32 kUpperExponentOf2 = 2u << (N == 64 ? 21 : 24);
template <int N>
MYR_FN bool has_finite_word(u64 x) {
  return upper_word<N>(x) < kUpperExponentMask<N>;
}
/// is_safely_normal().
template <int N>
MYR_FN bool has_safely_normal_word(u64 x) {
  return upper_word<N>(x) - kUpperExponentOf2<N> < kUpperExponentMask<N> - kUpperExponentOf2<N>;
}
template <class Number>
MYR_FN bool is_zero_number(Number number) {
  return number == 0;
}

/// Where nothing is rounded: no operand is a NaN, and a denormal one raises no exception.
template <class Number, bool kGivesUp>
MYR_FN bool operands_fit(Number a, Number b, const NativeFpContext<kGivesUp>& ctx) {
  return both(both(a == a, b == b), !ctx.flushes);
}

/// For an override that does not apply and must not call the reference.
template <bool kGivesUp>
MYR_FN u64 give_up(NativeFpContext<kGivesUp>& ctx) {
  ctx.missed = true;
  return 0;
}

/// `result`, if the override applies. Else the context notes that it does not.
template <bool kGivesUp>
MYR_FN u64 result_if(bool applies, u64 result, NativeFpContext<kGivesUp>& ctx) {
  ctx.missed |= !applies;
  return result;
}

/// op1 + op2. A sum below the smallest normal number is exact, so a result of exactly that number is safe.
template <int N, bool kGivesUp>
MYR_FN bool add(u64 op1, u64 op2, const NativeFpContext<kGivesUp>& ctx, u64& result) {
  result = bits(machine_add(number<N>(op1), number<N>(op2)));
  return MYR_LIKELY(may_apply(ctx) && is_zero_or_normal<N>(op1) && is_zero_or_normal<N>(op2) &&
                    is_zero_or_normal<N>(result)) &&
         (MYR_LIKELY(ctx.rounds) || sum_is_exact<N>(op1, op2, result));
}
template <int N, bool kGivesUp>
MYR_FN u64 add_without_branches(u64 op1, u64 op2, NativeFpContext<kGivesUp>& ctx) {
  const auto sum = machine_add(number<N>(op1), number<N>(op2));
  return result_if(both(result_tells(ctx), has_finite_word<N>(bits(sum))), bits(sum), ctx);
}

}  // namespace native

template <int N, bool kGivesUp>
MYR_FN u64 FPAdd(u64 op1, u64 op2, NativeFpContext<kGivesUp>& ctx) {
  u64 result;
  if constexpr (N != 16 && native::kWithoutBranches<kGivesUp>) {
    return native::add_without_branches<N>(op1, op2, ctx);
  } else if constexpr (N != 16) {
    if (native::add<N>(op1, op2, ctx, result)) return result;
  }
  if (kGivesUp) return native::give_up(ctx);
  return FPAdd<N>(op1, op2, (FpContext&)ctx);
}
/// The negation would change the sign of a NaN, so NaNs are left to the reference.
template <int N, bool kGivesUp>
MYR_FN u64 FPSub(u64 op1, u64 op2, NativeFpContext<kGivesUp>& ctx) {
  u64 result;
  if constexpr (N != 16 && native::kWithoutBranches<kGivesUp>) {
    return native::add_without_branches<N>(op1, FPNeg<N>(op2), ctx);
  } else if constexpr (N != 16) {
    if (native::add<N>(op1, FPNeg<N>(op2), ctx, result)) return result;
  }
  if (kGivesUp) return native::give_up(ctx);
  return FPSub<N>(op1, op2, (FpContext&)ctx);
}

template <int N, bool kGivesUp>
MYR_FN u64 FPMul(u64 op1, u64 op2, NativeFpContext<kGivesUp>& ctx) {
  if constexpr (N != 16) {
    using namespace native;
    if constexpr (kWithoutBranches<kGivesUp>) {
      const auto a = number<N>(op1), b = number<N>(op2), product = machine_multiply(a, b);
      const bool zeros = both(is_zero_number(product), either(is_zero_number(a), is_zero_number(b)));
      return result_if(both(result_tells(ctx), either(has_safely_normal_word<N>(bits(product)), zeros)), bits(product),
                       ctx);
    }
    u64 result = bits(machine_multiply(number<N>(op1), number<N>(op2)));
    if (MYR_LIKELY(may_apply(ctx) && is_zero_or_normal<N>(op1) && is_zero_or_normal<N>(op2))) {
      if (MYR_LIKELY(is_safely_normal<N>(result))) {
        if (MYR_LIKELY(ctx.rounds) || product_is_exact<N>(op1, op2, result)) return result;
      } else if (is_zero<N>(op1) || is_zero<N>(op2)) {
        return result;
      }
    }
  }
  if (kGivesUp) return native::give_up(ctx);
  return FPMul<N>(op1, op2, (FpContext&)ctx);
}

template <int N, bool kGivesUp>
MYR_FN u64 FPDiv(u64 op1, u64 op2, NativeFpContext<kGivesUp>& ctx) {
  if constexpr (N != 16) {
    using namespace native;
    if constexpr (kWithoutBranches<kGivesUp>) {
      const auto a = number<N>(op1), quotient = machine_divide(a, number<N>(op2));
      const bool zeros = both(is_zero_number(quotient), is_zero_number(a));
      return result_if(both(result_tells(ctx), either(has_safely_normal_word<N>(bits(quotient)), zeros)),
                       bits(quotient), ctx);
    }
    if (MYR_LIKELY(may_apply(ctx) && is_zero_or_normal<N>(op1) && is_normal<N>(op2))) {
      u64 result = bits(machine_divide(number<N>(op1), number<N>(op2)));
      if (MYR_LIKELY(is_safely_normal<N>(result))) {
        if (MYR_LIKELY(ctx.rounds) || product_is_exact<N>(result, op2, op1)) return result;
      } else if (is_zero<N>(op1)) {
        return result;
      }
    }
  }
  if (kGivesUp) return native::give_up(ctx);
  return FPDiv<N>(op1, op2, (FpContext&)ctx);
}

/// The root of a normal number is far above the smallest normal number.
template <int N, bool kGivesUp>
MYR_FN u64 FPSqrt(u64 op, NativeFpContext<kGivesUp>& ctx) {
  if constexpr (N != 16) {
    using namespace native;
    if constexpr (kWithoutBranches<kGivesUp>) {
      const auto root = machine_sqrt(number<N>(op));
      return result_if(both(result_tells(ctx), has_finite_word<N>(bits(root))), bits(root), ctx);
    }
    bool positive = is_normal<N>(op) && (op & FpFormat<N>::kSign) == 0;
    if (MYR_LIKELY(may_apply(ctx) && positive)) {
      u64 result = bits(machine_sqrt(number<N>(op)));
      if (MYR_LIKELY(ctx.rounds) || product_is_exact<N>(result, result, op)) return result;
    }
  }
  if (kGivesUp) return native::give_up(ctx);
  return FPSqrt<N>(op, (FpContext&)ctx);
}

template <int N, bool kGivesUp>
MYR_FN u64 FPMulAdd(u64 addend, u64 op1, u64 op2, NativeFpContext<kGivesUp>& ctx) {
  if constexpr (N != 16) {
    using namespace native;
    if constexpr (kWithoutBranches<kGivesUp>) {
      const auto a = number<N>(op1), b = number<N>(op2), c = number<N>(addend), sum = machine_fma(a, b, c);
      const bool zeros =
          both(both(is_zero_number(sum), is_zero_number(c)), either(is_zero_number(a), is_zero_number(b)));
      const bool holds = either(has_safely_normal_word<N>(bits(sum)), zeros);
      return result_if(both(both(result_tells(ctx), machine_has_fma()), holds), bits(sum), ctx);
    }
    if (MYR_LIKELY(may_apply(ctx) && machine_has_fma() && is_zero_or_normal<N>(addend) && is_zero_or_normal<N>(op1) &&
                   is_zero_or_normal<N>(op2))) {
      u64 result = bits(machine_fma(number<N>(op1), number<N>(op2), number<N>(addend)));
      if (MYR_LIKELY(is_safely_normal<N>(result))) {
        if (MYR_LIKELY(ctx.rounds) || fused_is_exact<N>(addend, op1, op2, result)) return result;
      }
      // Only zeros: the machine gives the result the sign that IEEE 754 requires.
      if (is_zero<N>(addend) && (is_zero<N>(op1) || is_zero<N>(op2))) return result;
    }
  }
  if (kGivesUp) return native::give_up(ctx);
  return FPMulAdd<N>(addend, op1, op2, (FpContext&)ctx);
}

/// Comparisons do not round.
template <int N, bool kGivesUp>
MYR_FN Flags FPCompare(u64 op1, u64 op2, bool signal_nans, NativeFpContext<kGivesUp>& ctx) {
  if constexpr (N != 16) {
    using namespace native;
    const auto a = number<N>(op1), b = number<N>(op2);
    if constexpr (kWithoutBranches<kGivesUp>) {
      ctx.missed |= !operands_fit(a, b, ctx);
      return {a < b, a == b, a >= b, false};
    }
    if (MYR_LIKELY(is_zero_or_normal<N>(op1) && is_zero_or_normal<N>(op2))) return {a < b, a == b, a >= b, false};
  }
  if (kGivesUp) {
    native::give_up(ctx);
    return {};
  }
  return FPCompare<N>(op1, op2, signal_nans, (FpContext&)ctx);
}
template <int N, bool kMin, bool kNumber, bool kGivesUp>
MYR_FN u64 larger_or_smaller(u64 op1, u64 op2, NativeFpContext<kGivesUp>& ctx) {
  if constexpr (N != 16) {
    using namespace native;
    const auto a = number<N>(op1), b = number<N>(op2);
    const bool first = kMin ? a < b : a > b;
    if constexpr (kWithoutBranches<kGivesUp>) {
      // Numbers that are equal have the same bits, or are zeros.
      const u64 of_equals = kMin ? op1 | op2 : op1 & op2;
      return result_if(operands_fit(a, b, ctx), a == b ? of_equals : first ? op1 : op2, ctx);
    }
    if (MYR_LIKELY(is_zero_or_normal<N>(op1) && is_zero_or_normal<N>(op2))) {
      if (is_zero<N>(op1) && is_zero<N>(op2)) return kMin ? op1 | op2 : op1 & op2;
      return first ? op1 : op2;
    }
  }
  if (kGivesUp) return native::give_up(ctx);
  return larger_or_smaller<N, kMin, kNumber>(op1, op2, (FpContext&)ctx);
}

/// Converts between single and double precision. The conversion to double is exact.
template <int N, int M, bool kGivesUp>
MYR_FN u64 FPConvert(u64 op, FPRounding rounding, NativeFpContext<kGivesUp>& ctx) {
  using namespace native;
  if constexpr (kWithoutBranches<kGivesUp> && N == 32 && M == 64) {
    const auto number = native::number<N>(op);
    return result_if(operands_fit(number, number, ctx), bits((double)number), ctx);
  } else if constexpr (kWithoutBranches<kGivesUp> && N == 64 && M == 32) {
    const auto number = native::number<N>(op);
    const auto result = (float)number;
    const bool zeros = both(is_zero_number(result), is_zero_number(number));
    const bool holds = both(rounding == FPRounding::tie_even, either(has_safely_normal_word<M>(bits(result)), zeros));
    return result_if(both(result_tells(ctx), holds), bits(result), ctx);
  } else if constexpr (N == 32 && M == 64) {
    if (MYR_LIKELY(is_zero_or_normal<N>(op))) return bits((double)number<N>(op));
  } else if constexpr (N == 64 && M == 32) {
    if (MYR_LIKELY(may_apply(ctx) && rounding == FPRounding::tie_even && is_zero_or_normal<N>(op))) {
      u64 result = bits((float)number<N>(op));
      if (MYR_LIKELY(is_safely_normal<M>(result))) {
        if (MYR_LIKELY(ctx.rounds) || bits((double)number<M>(result)) == op) return result;
      } else if (is_zero<N>(op)) {
        return result;
      }
    }
  }
  if (kGivesUp) return native::give_up(ctx);
  return FPConvert<N, M>(op, rounding, (FpContext&)ctx);
}

/// Converts to an integer, toward zero, if the value is in its range.
template <int N, int M, bool kGivesUp>
MYR_FN u64 FPToFixed(u64 op, u32 fbits, bool is_unsigned, FPRounding rounding, NativeFpContext<kGivesUp>& ctx) {
  if constexpr (N != 16) {
    using namespace native;
    constexpr u32 kBias = (u32)(1 - FpFormat<N>::kMinimumExponent);
    const u32 magnitude_bits = is_unsigned && M < 64 ? M : M - 1;
    if constexpr (kWithoutBranches<kGivesUp>) {
      const auto number = native::number<N>(op);
      const auto end = native::number<N>((u64)(kBias + magnitude_bits) << FpFormat<N>::kFractionBits);
      const bool in_range = both(both(number > -end, number < end), either(!is_unsigned, number >= 0));
      const auto taken = in_range ? number : 0;
      const i64 integer = (i64)taken;
      const bool exact = either(ctx.inexact, (decltype(taken))integer == taken);
      const bool truncates = both(fbits == 0, rounding == FPRounding::zero);
      return result_if(both(both(truncates, !ctx.flushes), both(in_range, exact)), (u64)integer & ~(u64)0 >> (64 - M),
                       ctx);
    }
    if (MYR_LIKELY(fbits == 0 && rounding == FPRounding::zero && is_zero_or_normal<N>(op) &&
                   biased_exponent<N>(op) < kBias + magnitude_bits &&
                   !(is_unsigned && (op & FpFormat<N>::kSign) != 0))) {
      i64 integer = (i64)number<N>(op);
      bool exact = (typename MachineNumber<N>::type)integer == number<N>(op);
      if (MYR_LIKELY(ctx.inexact || exact)) return (u64)integer & ~(u64)0 >> (64 - M);
    }
  }
  if (kGivesUp) return native::give_up(ctx);
  return FPToFixed<N, M>(op, fbits, is_unsigned, rounding, (FpContext&)ctx);
}

/// Converts from an integer. 32 bits fit into double precision.
template <int M, int N, bool kGivesUp>
MYR_FN u64 FixedToFP(u64 op, u32 fbits, bool is_unsigned, FPRounding rounding, NativeFpContext<kGivesUp>& ctx) {
  if constexpr (N != 16 && M != 16) {
    using namespace native;
    const bool rounds = ctx.rounds && rounding == FPRounding::tie_even;
    if (MYR_LIKELY(fbits == 0 &&
                   ((M == 32 && N == 64) || rounds || (!kGivesUp && is_exact_integer<M, N>(op, is_unsigned))))) {
      using Number = typename MachineNumber<N>::type;
      if (M == 32) return bits(is_unsigned ? (Number)(u32)op : (Number)(i32)(u32)op);
      return bits(is_unsigned ? (Number)op : (Number)(i64)op);
    }
  }
  if (kGivesUp) return native::give_up(ctx);
  return FixedToFP<M, N>(op, fbits, is_unsigned, rounding, (FpContext&)ctx);
}

}  // namespace myriarm
