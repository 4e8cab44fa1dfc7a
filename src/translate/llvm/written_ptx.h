// SPDX-License-Identifier: Apache-2.0
// Operations of a region for NVIDIA GPUs that are written as PTX, so that LLVM neither changes them nor looks into them.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>

#include <vector>

namespace myriarm::translate {

/// `text` and `operands`: as in inline assembly. tests/translate/device_code.cpp knows every text.
inline llvm::Value* written_ptx(llvm::IRBuilder<>& ir, llvm::Type* type, const char* text, const char* operands,
                                llvm::ArrayRef<llvm::Value*> values) {
  std::vector<llvm::Type*> types;
  for (const llvm::Value* value : values) types.push_back(value->getType());
  auto* function = llvm::FunctionType::get(type, types, false);
  return ir.CreateCall(llvm::InlineAsm::get(function, text, operands, /*hasSideEffects=*/false), values);
}

}  // namespace myriarm::translate
