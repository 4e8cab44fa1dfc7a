// SPDX-License-Identifier: Apache-2.0
// Builds LLVM IR of a region: a function that calls the rows' bitcode with constant operands. No row is known here.
#pragma once

#include <llvm/IR/Module.h>

#include "translate/shape.h"

namespace myriarm::translate {

/// Adds a function RegionFunction of this name to `module`. `rows` declares the functions of host_rows.cpp.
llvm::Function* build_region(llvm::Module& module, const llvm::Module& rows, u64 cpu_size, const Shape& shape,
                             const std::string& name);

}  // namespace myriarm::translate
