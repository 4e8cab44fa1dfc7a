// SPDX-License-Identifier: Apache-2.0
#include "translate/llvm/signed_shifts.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include <vector>

#include "translate/llvm/written_ptx.h"

namespace myriarm::translate {
namespace {

/// A value that may become a conjunction when LLVM selects instructions.
bool is_of_bits(const llvm::Value* value) {
  using namespace llvm::PatternMatch;
  return match(value, m_BitwiseLogic(m_Value(), m_Value())) || match(value, m_Shift(m_Value(), m_Value())) ||
         match(value, m_Select(m_Value(), m_Value(), m_Value()));
}

/// Only shifts by a constant are selected as extractions. That of a shift to the left of something else extends a sign: LLVM selects it
/// rightly, and as one instruction.
bool may_be_wrong(const llvm::Instruction& at) {
  using namespace llvm::PatternMatch;
  llvm::Value* shifted = nullptr;
  if (!match(&at, m_AShr(m_Value(shifted), m_ConstantInt()))) return false;
  llvm::Value* value = nullptr;
  if (match(shifted, m_Shl(m_Value(value), m_ConstantInt()))) return is_of_bits(value);
  return true;
}

}  // namespace

void write_signed_shifts(llvm::Function& function) {
  std::vector<llvm::Instruction*> found;
  for (llvm::Instruction& at : llvm::instructions(function)) {
    const bool is_whole = at.getType()->isIntegerTy(32) || at.getType()->isIntegerTy(64);
    if (is_whole && may_be_wrong(at)) found.push_back(&at);
  }
  for (llvm::Instruction* shift : found) {
    llvm::IRBuilder<> ir(shift);
    const auto* by = llvm::cast<llvm::ConstantInt>(shift->getOperand(1));
    llvm::Value* const operands[] = {shift->getOperand(0), ir.getInt32(static_cast<unsigned>(by->getZExtValue()))};
    const bool is_word = shift->getType()->isIntegerTy(32);
    llvm::Value* written = is_word ? written_ptx(ir, shift->getType(), "shr.s32 $0, $1, $2;", "=r,r,n", operands)
                                   : written_ptx(ir, shift->getType(), "shr.s64 $0, $1, $2;", "=l,l,n", operands);
    shift->replaceAllUsesWith(written);
    shift->eraseFromParent();
  }
}

}  // namespace myriarm::translate
