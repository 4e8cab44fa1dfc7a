// SPDX-License-Identifier: Apache-2.0
#include "translate/llvm/compiler.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <stdexcept>

#include "translate/llvm/build_region.h"
#include "translate/llvm/errors.h"
#include "translate/llvm/module.h"

namespace myriarm::translate {

// The optimiser's work: every row is inlined, and what remains is straight code over machine registers. More passes than
// these cost more time than they gain (docs/design/translation.md).
#if LLVM_VERSION_MAJOR >= 18
#define MYR_COMBINE "instcombine<no-verify-fixpoint>"
#else
#define MYR_COMBINE "instcombine"
#endif
const char* const kCompilerOptions =
    "sroa,early-cse<memssa>," MYR_COMBINE ",simplifycfg,jump-threading,gvn," MYR_COMBINE ",adce,simplifycfg";

namespace {

void set_constant(llvm::Module& module, const char* name, u64 value) {
  llvm::GlobalVariable* global = module.getNamedGlobal(name);
  if (global == nullptr) return;
  global->setInitializer(llvm::ConstantInt::get(global->getValueType(), value));
  global->setConstant(true);
  global->setVisibility(llvm::GlobalValue::DefaultVisibility);
  global->setLinkage(llvm::GlobalValue::InternalLinkage);
}

u64 value_of_constant(llvm::Module& module, const char* name) {
  llvm::GlobalVariable* global = module.getNamedGlobal(name);
  if (global != nullptr) check(global->materialize());
  if (global == nullptr || !global->hasInitializer()) throw std::runtime_error("the bitcode does not say its sizes");
  return llvm::cast<llvm::ConstantInt>(global->getInitializer())->getZExtValue();
}

/// What a constant refers to, itself included.
void add_globals(const llvm::Constant* constant, llvm::SmallPtrSetImpl<const llvm::Constant*>& seen,
                 std::vector<llvm::GlobalValue*>& found) {
  if (!seen.insert(constant).second) return;
  if (auto* global = llvm::dyn_cast<llvm::GlobalValue>(constant)) {
    found.push_back(const_cast<llvm::GlobalValue*>(global));
    return;
  }
  for (const llvm::Use& use : constant->operands()) {
    if (auto* part = llvm::dyn_cast<llvm::Constant>(use.get())) add_globals(part, seen, found);
  }
}

}  // namespace

RegionCompiler::RegionCompiler(llvm::orc::JITTargetMachineBuilder target)
    : machine_(value_of(target.createTargetMachine())),
      rows_(value_of(llvm::getLazyBitcodeModule(
          llvm::MemoryBufferRef(llvm::StringRef(reinterpret_cast<const char*>(kMyriarmRowsBegin),
                                                static_cast<size_t>(kMyriarmRowsEnd - kMyriarmRowsBegin)),
                                "rows"),
          context_))) {
  rows_->setDataLayout(machine_->createDataLayout());
  check(rows_->materializeMetadata());
  cpu_size_ = value_of_constant(*rows_, "myriarm_cpu_size");
  set_constant(*rows_, "_ZN7myriarm14kMachineHasFmaE", machine_->getTargetFeatureString().contains("+fma,") ? 1 : 0);

  llvm::PassBuilder builder(machine_.get());
  builder.registerModuleAnalyses(modules_);
  builder.registerCGSCCAnalyses(components_);
  builder.registerFunctionAnalyses(functions_);
  builder.registerLoopAnalyses(loops_);
  builder.crossRegisterProxies(loops_, functions_, components_, modules_);
  check(builder.parsePassPipeline(passes_, kCompilerOptions));
}

void RegionCompiler::set_processor(llvm::Function& function) const {
  function.removeFnAttr("tune-cpu");
  function.addFnAttr("target-cpu", machine_->getTargetCPU());
  function.addFnAttr("target-features", machine_->getTargetFeatureString());
}

bool RegionCompiler::read(llvm::Function& function) {
  if (!read_.insert(&function).second) return false;
  check(function.materialize());
  set_processor(function);
  return true;
}

void RegionCompiler::inline_rows(llvm::Function& region) {
  std::vector<llvm::CallBase*> calls;
  for (llvm::Instruction& at : llvm::instructions(region)) {
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&at)) calls.push_back(call);
  }
  for (llvm::CallBase* call : calls) {
    llvm::Function* row = call->getCalledFunction();
    if (row == nullptr || !row->hasFnAttribute(llvm::Attribute::AlwaysInline)) continue;
    read(*row);
    llvm::InlineFunctionInfo info;
    const llvm::InlineResult result = llvm::InlineFunction(*call, info, /*MergeAttributes=*/true);
    if (!result.isSuccess()) {
      throw std::runtime_error(std::string("LLVM cannot inline a row: ") + result.getFailureReason());
    }
  }
}

void RegionCompiler::optimise(llvm::Function& function) {
  passes_.run(function, functions_);
  functions_.clear(function, function.getName());
}

std::unique_ptr<llvm::Module> RegionCompiler::module_with(llvm::Function& region) {
  auto module = std::make_unique<llvm::Module>("region", context_);
  module->setTargetTriple(rows_->getTargetTriple());
  module->setDataLayout(rows_->getDataLayout());
  llvm::ValueToValueMapTy copies;
  llvm::SmallPtrSet<const llvm::Constant*, 32> seen;
  std::vector<llvm::GlobalValue*> found;
  std::vector<std::pair<llvm::Function*, llvm::Function*>> bodies;
  std::vector<std::pair<llvm::GlobalVariable*, llvm::GlobalVariable*>> values;
  add_globals(&region, seen, found);
  for (size_t i = 0; i < found.size(); i++) {
    if (auto* function = llvm::dyn_cast<llvm::Function>(found[i])) {
      const bool has_body = !function->isDeclaration();
      auto* copy = llvm::Function::Create(
          function->getFunctionType(),
          has_body && function != &region ? llvm::GlobalValue::InternalLinkage : llvm::GlobalValue::ExternalLinkage,
          function->getName(), *module);
      copies[function] = copy;
      if (!has_body) {
        copy->copyAttributesFrom(function);
        continue;
      }
      if (function != &region && read(*function)) optimise(*function);
      bodies.emplace_back(function, copy);
      for (const llvm::Instruction& at : llvm::instructions(*function)) {
        for (const llvm::Use& use : at.operands()) {
          if (auto* constant = llvm::dyn_cast<llvm::Constant>(use.get())) add_globals(constant, seen, found);
        }
      }
    } else if (auto* value = llvm::dyn_cast<llvm::GlobalVariable>(found[i])) {
      if (!value->hasInitializer()) throw std::runtime_error("the bitcode has an undefined variable");
      auto* copy = new llvm::GlobalVariable(*module, value->getValueType(), value->isConstant(),
                                            llvm::GlobalValue::InternalLinkage, nullptr, value->getName());
      copy->copyAttributesFrom(value);
      copy->setVisibility(llvm::GlobalValue::DefaultVisibility);
      copy->setComdat(nullptr);
      copies[value] = copy;
      values.emplace_back(value, copy);
      add_globals(value->getInitializer(), seen, found);
    } else {
      throw std::runtime_error("the bitcode has an alias");
    }
  }
  for (const auto& [value, copy] : values) copy->setInitializer(llvm::MapValue(value->getInitializer(), copies));
  for (const auto& [function, copy] : bodies) {
    auto parameter = copy->arg_begin();
    for (const llvm::Argument& argument : function->args()) copies[&argument] = &*parameter++;
    llvm::SmallVector<llvm::ReturnInst*, 8> returns;
    llvm::CloneFunctionInto(copy, function, copies, llvm::CloneFunctionChangeType::DifferentModule, returns);
    copy->setVisibility(llvm::GlobalValue::DefaultVisibility);
    copy->setComdat(nullptr);
  }
  return module;
}

llvm::SmallVector<char, 0> RegionCompiler::object_of(const Shape& shape) {
  compiled_++;
  llvm::Function* region = build_region(*rows_, *rows_, cpu_size_, shape, kRegionName);
  set_processor(*region);
  std::string mistakes;
  llvm::raw_string_ostream out(mistakes);
  if (llvm::verifyFunction(*region, &out)) throw std::runtime_error("LLVM refuses the region: " + mistakes);
  inline_rows(*region);
  optimise(*region);
  const std::unique_ptr<llvm::Module> module = module_with(*region);
  region->eraseFromParent();

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
#if LLVM_VERSION_MAJOR >= 18
  constexpr auto kObject = llvm::CodeGenFileType::ObjectFile;
#else
  constexpr auto kObject = llvm::CGFT_ObjectFile;
#endif
  if (machine_->addPassesToEmitFile(passes, stream, nullptr, kObject)) {
    throw std::runtime_error("LLVM makes no object code for this host");
  }
  passes.run(*module);
  return object;
}

}  // namespace myriarm::translate
