// SPDX-License-Identifier: Apache-2.0
// From a region's shape to object code, or to PTX for a GPU. What LLVM would make anew for each region (the rows' module, the target machine,
// the passes) is kept for the next one, since it takes as long as some twenty instructions of the guest.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "translate/llvm/build_region.h"

namespace myriarm::translate {

/// The function of a region in its object code.
constexpr const char* kRegionName = "region";

/// Makes the machine that code is for. Any thread may call it; calls may run at the same time.
using MakeMachine = std::function<std::unique_ptr<llvm::TargetMachine>()>;

/// One thread at a time uses it. If LLVM fails in it, it must neither be used again nor destroyed; if object_of() throws
/// something else, it must not be used again.
class RegionCompiler {
 public:
  RegionCompiler(const MakeMachine& machine, RegionKind kind, Finding finding = Finding::plain);
  RegionCompiler(const RegionCompiler&) = delete;
  /// Object code, or PTX, with a function of this name.
  llvm::SmallVector<char, 0> code_of(const Shape& shape, const std::string& name = kRegionName);
  /// The optimised region of which code_of() makes code. One for a GPU may have operations that are written as PTX.
  std::unique_ptr<llvm::Module> module_of(const Shape& shape, const std::string& name);
  /// Whether regions of this kind have no code for an instruction. On a GPU that is what reads the count of retired
  /// instructions, calls a function other than kFindPageName, or uses a variable.
  bool is_refused(const Instruction& at);
  /// How many regions it has compiled. What they had in common stays in memory, and grows.
  unsigned compiled() const { return compiled_; }

 private:
  void set_processor(llvm::Function& function) const;
  /// Reads the body of a function of rows_. False: it was read before.
  bool read(llvm::Function& function);
  void inline_rows(llvm::Function& region);
  void optimise(llvm::Function& function);
  /// Whether a row calls no function but kFindPageName, and uses no variable.
  bool is_self_contained(u16 row);
  llvm::SmallVector<char, 0> emit(llvm::Module& module);
  /// A module with a copy of the region, of the functions that it still calls, and of the constants that they use.
  std::unique_ptr<llvm::Module> module_with(llvm::Function& region);

  const RegionKind kind_;
  const Finding finding_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<llvm::Module> rows_;  // functions are read when a region first needs them
  u64 cpu_size_ = 0;
  std::set<const llvm::Function*> read_;
  std::map<u16, bool> self_contained_;  // by row, of those that were asked for
  unsigned compiled_ = 0;

  struct Analyses {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    void add(llvm::PassBuilder& builder);
  };
  static void run(llvm::FunctionPassManager& passes, llvm::Function& function, Analyses& analyses);
  Analyses of_machine_, of_none_;
  llvm::FunctionPassManager passes_, thread_, narrowed_, unroll_;
};

/// The passes, as a part of the key of a region's code.
extern const char* const kCompilerOptions;

}  // namespace myriarm::translate
