// SPDX-License-Identifier: Apache-2.0
#include "translate/llvm/integer_pipe.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include <vector>

#include "translate/llvm/written_ptx.h"

namespace myriarm::translate {
namespace {

/// Other loops wait for memory, and have no machine register to spare for the one.
bool computes_alone(const llvm::Loop& loop) {
  return loop.isInnermost() && llvm::all_of(loop.blocks(), [](const llvm::BasicBlock* block) {
           return llvm::none_of(*block, [](const llvm::Instruction& at) {
             return llvm::isa<llvm::LoadInst>(at) || llvm::isa<llvm::StoreInst>(at);
           });
         });
}

/// Additions of a constant, in the loop, that a value which lives through the loop comes from.
void find_steps(const llvm::Loop& loop, llvm::SmallSetVector<llvm::Instruction*, 16>& found) {
  for (llvm::PHINode& phi : loop.getHeader()->phis()) {
    if (!phi.getType()->isIntegerTy(32)) continue;
    llvm::SmallPtrSet<llvm::Value*, 16> seen;
    std::vector<llvm::Value*> waiting = {&phi};
    while (!waiting.empty()) {
      auto* at = llvm::dyn_cast<llvm::Instruction>(waiting.back());
      waiting.pop_back();
      if (at == nullptr || !loop.contains(at) || !seen.insert(at).second) continue;
      if (auto* joined = llvm::dyn_cast<llvm::PHINode>(at)) {
        for (llvm::Value* incoming : joined->incoming_values()) waiting.push_back(incoming);
      } else if (at->getOpcode() == llvm::Instruction::Add && llvm::isa<llvm::ConstantInt>(at->getOperand(1))) {
        found.insert(at);
        waiting.push_back(at->getOperand(0));
      }
    }
  }
}

/// Behind a loop the value from before its last step is computed from the one after it, so that the loop need not keep both.
void use_after_loop(llvm::IRBuilder<>& ir, const llvm::DominatorTree& dominators, const llvm::Loop& loop,
                    llvm::Value* before, llvm::Value* after, llvm::Value* step) {
  if (!llvm::isa<llvm::PHINode>(before)) return;
  for (llvm::Use& use : llvm::make_early_inc_range(before->uses())) {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    llvm::Instruction* place = phi != nullptr ? phi->getIncomingBlock(use)->getTerminator() : user;
    if (loop.contains(place) ||
        !dominators.dominates(llvm::cast<llvm::Instruction>(after)->getParent(), place->getParent()))
      continue;
    ir.SetInsertPoint(place);
    use.set(ir.CreateSub(after, step));
  }
}

/// LLVM cannot see that it adds, so that it does not make one count of several either, of 64 bits at that, from which each is then
/// computed.
void count_by_multiplying(llvm::Function& function) {
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  llvm::SmallSetVector<llvm::Instruction*, 16> steps;
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (computes_alone(*loop)) find_steps(*loop, steps);
  }
  if (steps.empty()) return;
  llvm::IRBuilder<> ir(&*function.getEntryBlock().getFirstInsertionPt());
  // Launches have one dimension (driver_api.cpp). A compiler of PTX takes the register for any number.
  llvm::Value* one = written_ptx(ir, ir.getInt32Ty(), "mov.u32 $0, %nctaid.z;", "=r", {});
  for (llvm::Instruction* add : steps) {
    llvm::Value *before = add->getOperand(0), *step = add->getOperand(1);
    ir.SetInsertPoint(add);
    // Not one times the step: a compiler of PTX makes an addition of that.
    llvm::Value* after =
        written_ptx(ir, ir.getInt32Ty(), "mad.lo.s32 $0, $1, $2, $3;", "=r,r,r,n", {before, one, step});
    add->replaceAllUsesWith(after);
    use_after_loop(ir, dominators, *loops.getLoopFor(add->getParent()), before, after, step);
    add->eraseFromParent();
  }
}

/// Whether all that is used of a value is a word.
bool is_word(const llvm::Value& value) {
  if (value.getType()->isIntegerTy(32)) return true;
  return value.getType()->isIntegerTy(64) && llvm::all_of(value.users(), [](const llvm::User* user) {
           return llvm::isa<llvm::TruncInst>(user) && user->getType()->isIntegerTy(32);
         });
}

/// A bit of 0 or 1 that chooses between 0 and a word is their product.
void choose_by_multiplying(llvm::IRBuilder<>& ir, llvm::SelectInst& select, llvm::Value* bit, bool zero_is_first) {
  llvm::Value* none = zero_is_first ? select.getTrueValue() : select.getFalseValue();
  llvm::Value* word = zero_is_first ? select.getFalseValue() : select.getTrueValue();
  if (!llvm::PatternMatch::match(none, llvm::PatternMatch::m_Zero()) || !is_word(select)) return;
  ir.SetInsertPoint(&select);
  llvm::Value* product = ir.CreateMul(bit, ir.CreateTrunc(word, ir.getInt32Ty()));
  select.replaceAllUsesWith(ir.CreateZExt(product, select.getType()));
  select.eraseFromParent();
}

/// A condition that is the lowest bit of a word, compared with 0 or not.
struct BitTest {
  llvm::Instruction* test;
  llvm::Value* word;
  llvm::ICmpInst::Predicate predicate;
};
std::vector<BitTest> bit_tests(llvm::Function& function) {
  using namespace llvm::PatternMatch;
  std::vector<BitTest> found;
  for (llvm::Instruction& at : llvm::instructions(function)) {
    llvm::Value* word = nullptr;
    const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&at);
    if (compare != nullptr && compare->isEquality() && match(compare->getOperand(1), m_Zero()) &&
        match(compare->getOperand(0), m_And(m_Value(word), m_One())) && word->getType()->isIntegerTy()) {
      found.push_back({&at, word, compare->getPredicate()});
    } else if (at.getType()->isIntegerTy(1) && match(&at, m_Trunc(m_Value(word)))) {
      found.push_back({&at, word, llvm::ICmpInst::ICMP_NE});
    }
  }
  return found;
}

/// For such a condition LLVM writes a conjunction and a comparison with 1, which are two machine instructions. With 0 they are
/// one.
void test_bits_against_zero(llvm::Function& function) {
  llvm::IRBuilder<> ir(function.getContext());
  for (const auto& [test, word, predicate] : bit_tests(function)) {
    ir.SetInsertPoint(test);
    llvm::Value* bit =
        written_ptx(ir, ir.getInt32Ty(), "and.b32 $0, $1, 1;", "=r,r", {ir.CreateZExtOrTrunc(word, ir.getInt32Ty())});
    llvm::Value* condition = ir.CreateICmp(predicate, bit, ir.getInt32(0));
    test->replaceAllUsesWith(condition);
    test->eraseFromParent();
    for (llvm::User* user : llvm::make_early_inc_range(condition->users())) {
      auto* select = llvm::dyn_cast<llvm::SelectInst>(user);
      if (select == nullptr || select->getCondition() != condition) continue;
      choose_by_multiplying(ir, *select, bit, predicate == llvm::ICmpInst::ICMP_EQ);
    }
  }
}

}  // namespace

void spare_integer_pipe(llvm::Function& function) {
  count_by_multiplying(function);
  test_bits_against_zero(function);
}

}  // namespace myriarm::translate
