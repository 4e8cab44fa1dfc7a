// SPDX-License-Identifier: Apache-2.0
// LLVM (19.1.7, NVPTXDAGToDAGISel::tryBFE()) selects an arithmetic shift to the right of a conjunction as an unsigned extraction of
// bits, also where the mask has the sign bit: of `(x & sign) >> 63` it makes 1 and not -1. LLVM's pull request 130862 mends it.
#pragma once

#include <llvm/IR/Function.h>

namespace myriarm::translate {

/// Of a region for NVIDIA GPUs that is otherwise ready: writes as PTX the arithmetic shifts that LLVM could select wrongly.
void write_signed_shifts(llvm::Function& function);

}  // namespace myriarm::translate
