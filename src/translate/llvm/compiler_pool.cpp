// SPDX-License-Identifier: Apache-2.0
#include "translate/llvm/compiler_pool.h"

#include "translate/llvm/guard.h"

namespace myriarm::translate {
namespace {

/// A compiler keeps something of each region, so it is made anew now and then.
constexpr unsigned kMostOfOneCompiler = 64;

}  // namespace

void CompilerPool::use(llvm::function_ref<void(RegionCompiler&)> work) {
  std::unique_ptr<RegionCompiler> compiler = take();
  try {
    run_guarded([&] {
      if (compiler == nullptr) compiler = std::make_unique<RegionCompiler>(machine_, kind_, finding_);
      work(*compiler);
    });
  } catch (const LlvmFailed&) {
    (void)compiler.release();  // nobody knows its state: to destroy it could fail again
    throw;
  }
  std::lock_guard lock(mutex_);
  if (compiler->compiled() < kMostOfOneCompiler) compilers_.push_back(std::move(compiler));
}

std::unique_ptr<RegionCompiler> CompilerPool::take() {
  std::lock_guard lock(mutex_);
  if (compilers_.empty()) return nullptr;
  std::unique_ptr<RegionCompiler> compiler = std::move(compilers_.back());
  compilers_.pop_back();
  return compiler;
}

}  // namespace myriarm::translate
