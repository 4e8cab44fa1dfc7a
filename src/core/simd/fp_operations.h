// SPDX-License-Identifier: Apache-2.0
// AdvSIMD floating point: the operations on elements. Each is a structure that the families in fp_three_same.h and
// similar files take as an argument. apply<N>(): a, b and d are the elements of Vn, Vm and Vd, N-bit numbers with zeros
// above; a family without Vm passes 0. Only the lowest N bits of a result are used.
#pragma once

#include "core/fp/compare.h"
#include "core/fp/convert.h"
#include "core/fp/divide.h"
#include "core/fp/estimate.h"
#include "core/fp/fused.h"
#include "core/fp/native.h"
#include "core/simd/vector.h"

namespace myriarm {
namespace fp {

// Arithmetic.

struct Plain {
  static constexpr bool kAccumulates = false;
};
/// Uses the element of Vd, too.
struct Accumulating {
  static constexpr bool kAccumulates = true;
};

struct Add : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return FPAdd<N>(a, b, ctx);
  }
};
struct Sub : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return FPSub<N>(a, b, ctx);
  }
};
struct AbsoluteDifference : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return FPAbs<N>(FPSub<N>(a, b, ctx));
  }
};
struct Mul : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return FPMul<N>(a, b, ctx);
  }
};
struct MulExtended : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return FPMulX<N>(a, b, ctx);
  }
};
struct Div : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return FPDiv<N>(a, b, ctx);
  }
};
struct MulAdd : Accumulating {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64 d, Ctx& ctx) {
    return FPMulAdd<N>(d, a, b, ctx);
  }
};
struct MulSub : Accumulating {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64 d, Ctx& ctx) {
    return FPMulAdd<N>(d, FPNeg<N>(a), b, ctx);
  }
};
struct RecipStep : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return FPRecipStepFused<N>(a, b, ctx);
  }
};
struct RSqrtStep : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return FPRSqrtStepFused<N>(a, b, ctx);
  }
};
struct Max : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return FPMax<N>(a, b, ctx);
  }
};
struct Min : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return FPMin<N>(a, b, ctx);
  }
};
struct MaxNumber : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return FPMaxNum<N>(a, b, ctx);
  }
};
struct MinNumber : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return FPMinNum<N>(a, b, ctx);
  }
};

// Comparison: the result is all ones or zero.

struct CompareEqual : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return 0 - (u64)FPCompareEQ<N>(a, b, ctx);
  }
};
struct CompareGreaterEqual : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return 0 - (u64)FPCompareGE<N>(a, b, ctx);
  }
};
struct CompareGreater : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return 0 - (u64)FPCompareGT<N>(a, b, ctx);
  }
};
/// With zero.
struct CompareLessEqual : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return 0 - (u64)FPCompareGE<N>(b, a, ctx);
  }
};
struct CompareLess : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return 0 - (u64)FPCompareGT<N>(b, a, ctx);
  }
};
/// FACGE, FACGT: compare magnitudes.
struct CompareAbsoluteGreaterEqual : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return 0 - (u64)FPCompareGE<N>(FPAbs<N>(a), FPAbs<N>(b), ctx);
  }
};
struct CompareAbsoluteGreater : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return 0 - (u64)FPCompareGT<N>(FPAbs<N>(a), FPAbs<N>(b), ctx);
  }
};

// One operand.

struct Sqrt : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64, u64, Ctx& ctx) {
    return FPSqrt<N>(a, ctx);
  }
};
struct RecipEstimate : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64, u64, Ctx& ctx) {
    return FPRecipEstimate<N>(a, ctx);
  }
};
struct RSqrtEstimate : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64, u64, Ctx& ctx) {
    return FPRSqrtEstimate<N>(a, ctx);
  }
};
struct RecipExponent : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64, u64, Ctx& ctx) {
    return FPRecpX<N>(a, ctx);
  }
};
/// FRINTN, FRINTP, FRINTM, FRINTZ, FRINTA.
template <FPRounding kRounding>
struct RoundInt : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64, u64, Ctx& ctx) {
    return FPRoundInt<N>(a, kRounding, false, ctx);
  }
};
/// FRINTI, and with kExact FRINTX, which raises Inexact.
template <bool kExact>
struct RoundIntCurrent : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64, u64, Ctx& ctx) {
    return FPRoundInt<N>(a, FPRoundingMode(ctx), kExact, ctx);
  }
};
/// FCVTNS to FCVTZU: converts to an integer, or a fixed-point number with b fraction bits, of the same width.
template <FPRounding kRounding, bool kUnsigned>
struct ToFixed : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return FPToFixed<N, N>(a, (u32)b, kUnsigned, kRounding, ctx);
  }
};
/// SCVTF, UCVTF: converts from an integer or a fixed-point number.
template <bool kUnsigned>
struct FromFixed : Plain {
  template <int N, class Ctx>
  MYR_FN static u64 apply(u64 a, u64 b, u64, Ctx& ctx) {
    return FixedToFP<N, N>(a, (u32)b, kUnsigned, FPRoundingMode(ctx), ctx);
  }
};

}  // namespace fp

/// Op on one element; size 1 is half precision, 2 single, 3 double.
template <class Op, class Ctx>
MYR_FN u64 fp_apply(u32 size, u64 a, u64 b, u64 d, Ctx& ctx) {
  switch (size) {
    case 1: return Op::template apply<16>(a, b, d, ctx);
    case 2: return Op::template apply<32>(a, b, d, ctx);
    default: return Op::template apply<64>(a, b, d, ctx);
  }
}
/// Op on each element of two halves.
template <class Op, int N, class Ctx>
MYR_FN u64 fp_map_elements_of(u64 n, u64 m, u64 d, Ctx& ctx) {
  u64 result = 0;
  for (u32 at = 0; at < 64; at += N) {
    u64 mask = ones(N);
    result |= (Op::template apply<N>(n >> at & mask, m >> at & mask, d >> at & mask, ctx) & mask) << at;
  }
  return result;
}
template <class Op, class Ctx>
MYR_FN u64 fp_map_elements_inline(u32 size, u64 n, u64 m, u64 d, Ctx& ctx) {
  switch (size) {
    case 1: return fp_map_elements_of<Op, 16>(n, m, d, ctx);
    case 2: return fp_map_elements_of<Op, 32>(n, m, d, ctx);
    default: return fp_map_elements_of<Op, 64>(n, m, d, ctx);
  }
}
template <class Op>
MYR_OUTLINE u64 fp_map_elements(u32 size, u64 n, u64 m, u64 d, FpContext& ctx) {
  return fp_map_elements_inline<Op>(size, n, m, d, ctx);
}
template <class Op, bool kGivesUp>
MYR_FN u64 fp_map_elements(u32 size, u64 n, u64 m, u64 d, NativeFpContext<kGivesUp>& ctx) {
  return fp_map_elements_inline<Op>(size, n, m, d, ctx);
}

/// Size of a scalar, from Operands::aux: log2 of its bytes, or 0 in rows that are for half precision only.
MYR_FN u32 fp_scalar_size(const Operands& o) { return o.aux == 0 ? 1 : o.aux; }

/// Op on vectors. The caller passes halves 0 and 1 of Vm, because Vm may be Vd.
template <class Op, class Cpu>
MYR_FN Outcome fp_vector_operation(Cpu& cpu, const Operands& o, u64 m0, u64 m1) {
  u32 size = arrangement_size(o);
  auto ctx = fp_context(cpu);
  u64 d0 = Op::kAccumulates ? cpu.v(o.rd, 0) : 0;
  u64 low = fp_map_elements<Op>(size, cpu.v(o.rn, 0), m0, d0, ctx), high = 0;
  if (arrangement_q(o)) {
    u64 d1 = Op::kAccumulates ? cpu.v(o.rd, 1) : 0;
    high = fp_map_elements<Op>(size, cpu.v(o.rn, 1), m1, d1, ctx);
  }
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  cpu.set_v(o.rd, 0, low);
  cpu.set_v(o.rd, 1, high);
  return Outcome::next;
}
/// Op on the lowest elements. The caller passes that of Vm.
template <class Op, class Cpu>
MYR_FN Outcome fp_scalar_operation(Cpu& cpu, const Operands& o, u64 m) {
  u32 size = fp_scalar_size(o);
  u64 mask = ones(element_bits(size));
  auto ctx = fp_context(cpu);
  u64 d = Op::kAccumulates ? cpu.v(o.rd, 0) & mask : 0;
  u64 result = fp_apply<Op>(size, cpu.v(o.rn, 0) & mask, m & mask, d, ctx);
  if (!fp_finish(cpu, ctx)) return Outcome::stop;
  write_scalar(cpu, o.rd, result, size);
  return Outcome::next;
}

}  // namespace myriarm
