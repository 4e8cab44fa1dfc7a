// SPDX-License-Identifier: Apache-2.0
// From a region's shape to object code. What LLVM would make anew for each region (the rows' module, the target machine,
// the passes) is kept for the next one, since it takes as long as some twenty instructions of the guest.
#pragma once

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <set>

#include "translate/shape.h"

namespace myriarm::translate {

/// The function of a region in its object code.
constexpr const char* kRegionName = "region";

/// One thread at a time uses it. If LLVM fails in it, it must neither be used again nor destroyed; if object_of() throws
/// something else, it must not be used again.
class RegionCompiler {
 public:
  explicit RegionCompiler(llvm::orc::JITTargetMachineBuilder target);
  RegionCompiler(const RegionCompiler&) = delete;
  llvm::SmallVector<char, 0> object_of(const Shape& shape);
  /// How many regions it has compiled. What they had in common stays in memory, and grows.
  unsigned compiled() const { return compiled_; }

 private:
  void set_processor(llvm::Function& function) const;
  /// Reads the body of a function of rows_. False: it was read before.
  bool read(llvm::Function& function);
  void inline_rows(llvm::Function& region);
  void optimise(llvm::Function& function);
  /// A module with a copy of the region, of the functions that it still calls, and of the constants that they use.
  std::unique_ptr<llvm::Module> module_with(llvm::Function& region);

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<llvm::Module> rows_;  // functions are read when a region first needs them
  u64 cpu_size_ = 0;
  std::set<const llvm::Function*> read_;
  unsigned compiled_ = 0;

  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
  llvm::FunctionPassManager passes_;
};

/// The passes, as a part of the key of a region's code.
extern const char* const kCompilerOptions;

}  // namespace myriarm::translate
