// SPDX-License-Identifier: Apache-2.0
// The compilers of one translator, of which each thread that translates takes one.
#pragma once

#include <mutex>
#include <vector>

#include "translate/llvm/compiler.h"

namespace myriarm::translate {

class CompilerPool {
 public:
  CompilerPool(MakeMachine machine, RegionKind kind, Finding finding = Finding::plain)
      : machine_(std::move(machine)), kind_(kind), finding_(finding) {}
  /// Runs `work` with a compiler, under run_guarded(). Any thread may call it; calls may run at the same time.
  void use(llvm::function_ref<void(RegionCompiler&)> work);

 private:
  /// Null: there is none.
  std::unique_ptr<RegionCompiler> take();

  const MakeMachine machine_;
  const RegionKind kind_;
  const Finding finding_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<RegionCompiler>> compilers_;  // that no thread uses now
};

}  // namespace myriarm::translate
