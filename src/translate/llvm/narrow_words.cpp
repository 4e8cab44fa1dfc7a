// SPDX-License-Identifier: Apache-2.0
#include "translate/llvm/narrow_words.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace myriarm::translate {

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
    return narrow.contains(value) || llvm::computeKnownBits(value, layout).countMinLeadingZeros() >= 32;
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
}

}  // namespace myriarm::translate
