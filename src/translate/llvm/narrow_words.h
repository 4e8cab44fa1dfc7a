// SPDX-License-Identifier: Apache-2.0
// Values that live through a loop in 64 bits though their upper halves are 0, as W registers do, get 32 bits: a GPU has no others, and
// moves and compares both halves else.
#pragma once

#include <llvm/IR/Function.h>

namespace myriarm::translate {

void narrow_words(llvm::Function& function);

}  // namespace myriarm::translate
