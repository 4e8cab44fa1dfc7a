// SPDX-License-Identifier: Apache-2.0
#include "translate/llvm/narrow_words.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include <vector>

#include "core/portable.h"

namespace myriarm::translate {
namespace {

constexpr u64 kWord = 0xFFFFFFFF;

/// Whether only the lower half of what an instruction gives is used.
bool is_used_as_word(const llvm::Instruction& at) {
  using namespace llvm::PatternMatch;
  return !at.use_empty() && llvm::all_of(at.users(), [](const llvm::User* user) {
    if (const auto* trunc = llvm::dyn_cast<llvm::TruncInst>(user)) return trunc->getType()->getIntegerBitWidth() <= 32;
    return match(user, m_And(m_Value(), m_SpecificInt(kWord)));
  });
}

bool has_empty_upper_half(const llvm::Value* value, const llvm::DataLayout& layout) {
  return llvm::computeKnownBits(value, layout).countMinLeadingZeros() >= 32;
}

/// The value of an operation of 64 bits in 32, if that needs nothing but the lower halves of what it computes with; else null.
llvm::Value* as_word(llvm::IRBuilder<>& ir, const llvm::Instruction& at) {
  auto half = [&](unsigned operand) { return ir.CreateTrunc(at.getOperand(operand), ir.getInt32Ty()); };
  switch (at.getOpcode()) {
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
    case llvm::Instruction::Mul:
    case llvm::Instruction::And:
    case llvm::Instruction::Or:
    case llvm::Instruction::Xor:
      return ir.CreateBinOp(llvm::cast<llvm::BinaryOperator>(at).getOpcode(), half(0), half(1));
    case llvm::Instruction::Select: return ir.CreateSelect(at.getOperand(0), half(1), half(2));
    default: return nullptr;
  }
}

/// Operations of 64 bits become such of 32 where only the lower half of their result is used, or the upper one is 0. LLVM makes them
/// so where one instruction uses them; the result of a W register's addition is used by the next one and, with an upper half of
/// 0, at the region's end.
void narrow_operations(llvm::Function& function, const llvm::DataLayout& layout) {
  std::vector<llvm::Instruction*> wide;
  for (llvm::Instruction& at : llvm::instructions(function)) {
    if (at.getType()->isIntegerTy(64)) wide.push_back(&at);
  }
  llvm::IRBuilder<> ir(function.getContext());
  // The last first: an operation that uses another must be narrow before.
  for (auto place = wide.rbegin(); place != wide.rend(); ++place) {
    llvm::Instruction* at = *place;
    if (!is_used_as_word(*at) && !has_empty_upper_half(at, layout)) continue;
    ir.SetInsertPoint(at);
    llvm::Value* word = as_word(ir, *at);
    if (word == nullptr) continue;
    at->replaceAllUsesWith(ir.CreateZExt(word, at->getType()));
    at->eraseFromParent();
  }
}

}  // namespace

void narrow_words(llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  llvm::SmallPtrSet<const llvm::Value*, 16> narrow;
  std::vector<llvm::PHINode*> all;
  for (llvm::Instruction& at : llvm::instructions(function)) {
    auto* phi = llvm::dyn_cast<llvm::PHINode>(&at);
    if (phi == nullptr || !phi->getType()->isIntegerTy(64)) continue;
    all.push_back(phi);
    narrow.insert(phi);
  }
  // Taken for narrow until one of their values is not, since in a loop they are each other's values.
  auto is_narrow = [&](const llvm::Value* value) {
    return narrow.contains(value) || has_empty_upper_half(value, layout);
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::PHINode* phi : all) {
      if (!narrow.contains(phi) || llvm::all_of(phi->incoming_values(), is_narrow)) continue;
      narrow.erase(phi);
      changed = true;
    }
  }
  llvm::IRBuilder<> ir(function.getContext());
  for (llvm::PHINode* phi : all) {
    if (!narrow.contains(phi)) continue;
    ir.SetInsertPoint(phi);
    llvm::PHINode* word = ir.CreatePHI(ir.getInt32Ty(), phi->getNumIncomingValues());
    for (unsigned i = 0; i < phi->getNumIncomingValues(); i++) {
      llvm::BasicBlock* from = phi->getIncomingBlock(i);
      ir.SetInsertPoint(from->getTerminator());
      const int before = word->getBasicBlockIndex(from);  // a switch may come from one block twice
      word->addIncoming(before < 0 ? ir.CreateTrunc(phi->getIncomingValue(i), ir.getInt32Ty())
                                   : word->getIncomingValue(static_cast<unsigned>(before)),
                        from);
    }
    ir.SetInsertPoint(phi->getParent()->getFirstNonPHI());
    phi->replaceAllUsesWith(ir.CreateZExt(word, phi->getType()));
    phi->eraseFromParent();
  }
  narrow_operations(function, layout);
}

}  // namespace myriarm::translate
