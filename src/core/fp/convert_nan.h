// SPDX-License-Identifier: Apache-2.0
// NaNs in another format.
#pragma once

#include "core/fp/unpack.h"

namespace myriarm {

/// An N-bit NaN as a quiet M-bit one: what fits of its payload, from the top.
template <int N, int M>
MYR_FN u64 FPConvertNaN(u64 op) {
  u64 fraction = (op & FpFormat<N>::kFractionMask) << (63 - FpFormat<N>::kFractionBits);
  return FPZero<M>((op & FpFormat<N>::kSign) != 0) | FPDefaultNaN<M>() | fraction >> (63 - FpFormat<M>::kFractionBits);
}

}  // namespace myriarm
