// SPDX-License-Identifier: Apache-2.0
// Comparisons.
#pragma once

#include "core/fp/arithmetic.h"

namespace myriarm {

/// The flags that FCMP sets, or with signal_nans FCMPE.
template <int N>
MYR_OUTLINE Flags FPCompare(u64 op1, u64 op2, bool signal_nans, FpContext& ctx) {
  FpNumber a = FPUnpack<N>(op1, ctx), b = FPUnpack<N>(op2, ctx);
  if (is_nan(a.type) || is_nan(b.type)) {
    if (signal_nans || a.type == FPType::signalling_nan || b.type == FPType::signalling_nan) {
      FPProcessException(ctx, FPExc_InvalidOp);
    }
    return {false, false, true, true};
  }
  int order = compare_numbers(a, b);
  return {order < 0, order == 0, order >= 0, false};
}

// Of two numbers; false if either is a NaN.

template <int N, class Ctx>
MYR_FN bool FPCompareEQ(u64 op1, u64 op2, Ctx& ctx) {
  return FPCompare<N>(op1, op2, false, ctx).z;
}
template <int N, class Ctx>
MYR_FN bool FPCompareGE(u64 op1, u64 op2, Ctx& ctx) {
  Flags flags = FPCompare<N>(op1, op2, true, ctx);
  return flags.c && !flags.v;
}
template <int N, class Ctx>
MYR_FN bool FPCompareGT(u64 op1, u64 op2, Ctx& ctx) {
  Flags flags = FPCompare<N>(op1, op2, true, ctx);
  return flags.c && !flags.v && !flags.z;
}

}  // namespace myriarm
