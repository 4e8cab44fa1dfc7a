// SPDX-License-Identifier: Apache-2.0
// A multiprocessor executes additions, comparisons and logic of integers at half the rate of multiplications with addition, in
// loops that have nothing but those twice as slowly as it could.
#pragma once

#include <llvm/IR/Function.h>

namespace myriarm::translate {

/// Of a region for NVIDIA GPUs that is otherwise ready: in loops without memory the additions of constants to what lives through
/// them become multiplications by a register that is 1; a bit that chooses a word or 0 multiplies it; and tests of a bit take one
/// machine instruction.
void spare_integer_pipe(llvm::Function& function);

}  // namespace myriarm::translate
