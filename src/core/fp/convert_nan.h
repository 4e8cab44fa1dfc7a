// SPDX-License-Identifier: Apache-2.0
// Conversion of NaNs between formats.
#pragma once

#include "core/fp/unpack.h"

namespace myriarm {

/// Converts an N-bit NaN to a quiet M-bit NaN with as many upper bits of its payload as fit.
template <int N, int M>
MYR_FN u64 FPConvertNaN(u64 op) {
  u64 fraction = (op & FpFormat<N>::kFractionMask) << (63 - FpFormat<N>::kFractionBits);
  return FPZero<M>((op & FpFormat<N>::kSign) != 0) | FPDefaultNaN<M>() | fraction >> (63 - FpFormat<M>::kFractionBits);
}

}  // namespace myriarm
