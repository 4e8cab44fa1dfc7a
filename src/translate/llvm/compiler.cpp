// SPDX-License-Identifier: Apache-2.0
#include "translate/llvm/compiler.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <stdexcept>

#include "isa/row_info.h"
#include "translate/device_region.h"
#include "translate/llvm/errors.h"
#include "translate/llvm/integer_pipe.h"
#include "translate/llvm/module.h"
#include "translate/llvm/narrow_words.h"
#include "translate/llvm/signed_shifts.h"

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

// The same, once it is known which addresses are in shared and which in global memory: accesses to one cannot change the
// other, and need no look at the address.
const char* const kDeviceOptions = "sroa,infer-address-spaces,early-cse<memssa>," MYR_COMBINE;

// What follows for a GPU, as if for no machine: jumps are not threaded where lanes may part, and an access that is refused would then
// meet the one that is not and part from it again, with the registers of both. Last, a register that an instruction sets if it is not refused
// has one value on the way on and the other on the way out, instead of a choice on both.
const char* const kThreadOptions =
    "simplifycfg,jump-threading,gvn," MYR_COMBINE ",jump-threading,correlated-propagation,adce,simplifycfg";

// Behind narrow_words().
const char* const kNarrowedOptions = MYR_COMBINE ",gvn,adce";

// For a row with a loop over registers: only without the loop are they known, and the object of the policy becomes machine
// registers.
const char* const kUnrollOptions = "loop-unroll<O3;no-runtime;no-partial;no-peeling;no-profile-peeling>";

llvm::MemoryBufferRef bitcode_of(RegionKind kind) {
  const u8 *begin = kMyriarmRowsBegin, *end = kMyriarmRowsEnd;
#if MYRIARM_WITH_NVPTX
  if (kind == RegionKind::device) begin = kMyriarmDeviceRowsBegin, end = kMyriarmDeviceRowsEnd;
#endif
  (void)kind;
  return {llvm::StringRef(reinterpret_cast<const char*>(begin), static_cast<size_t>(end - begin)), "rows"};
}

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

/// A constant that set_constant() has made: no variable of it is left.
bool is_number(const llvm::GlobalValue& global) {
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&global);
  return variable != nullptr && variable->isConstant() && variable->hasInitializer() &&
         llvm::isa<llvm::ConstantInt>(variable->getInitializer());
}

bool uses_stack(const llvm::Function& function) {
  for (const llvm::Instruction& at : function.getEntryBlock()) {
    if (llvm::isa<llvm::AllocaInst>(at)) return true;
  }
  return false;
}

/// On a GPU nobody else accesses the memory of a lane while a region runs, so that its accesses need not be volatile. They are
/// those through generic pointers; `others`: and so need those to registers of the lane.
void let_accesses_move(llvm::Function& region, bool others) {
  for (llvm::Instruction& at : llvm::instructions(region)) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&at);
    auto* store = llvm::dyn_cast<llvm::StoreInst>(&at);
    if (load != nullptr && (others || load->getPointerAddressSpace() == 0)) load->setVolatile(false);
    if (store != nullptr && (others || store->getPointerAddressSpace() == 0)) store->setVolatile(false);
  }
}

/// The machine's, but with registers of 32 bits alone: else the passes compute with W registers in 64.
std::string layout_of_words(std::string layout) {
  constexpr std::string_view kBoth = "-n16:32:64", kWords = "-n16:32";
  const size_t at = layout.find(kBoth);
  if (at != std::string::npos) layout.replace(at, kBoth.size(), kWords);
  return layout;
}

/// Beside vector registers it does not pay: n-body had 959 instead of 1,000 G on an H200.
bool computes_with_words(const Shape& shape, RegionKind kind) {
  return kind == RegionKind::device && (shape.effects.reads_v | shape.effects.writes_v) == 0;
}

}  // namespace

RegionCompiler::RegionCompiler(const MakeMachine& machine, RegionKind kind, Finding finding)
    : kind_(kind),
      finding_(finding),
      machine_(machine()),
      rows_(value_of(llvm::getLazyBitcodeModule(bitcode_of(kind), context_))) {
  rows_->setDataLayout(machine_->createDataLayout());
  check(rows_->materializeMetadata());
  cpu_size_ = value_of_constant(*rows_, "myriarm_cpu_size");
  set_constant(*rows_, "_ZN7myriarm14kMachineHasFmaE", machine_->getTargetFeatureString().contains("+fma,") ? 1 : 0);
  set_constant(*rows_, "_ZN7myriarm9translate12kUsesWindowsE", finding == Finding::windows ? 1 : 0);
  set_constant(*rows_, "_ZN7myriarm9translate12kLanesDifferE", finding == Finding::by_lane ? 1 : 0);

  llvm::PassBuilder builder(machine_.get()), builder_for_none;
  of_machine_.add(builder);
  of_none_.add(builder_for_none);
  check(builder.parsePassPipeline(passes_, kind == RegionKind::device ? kDeviceOptions : kCompilerOptions));
  check(builder.parsePassPipeline(thread_, kThreadOptions));
  check(builder.parsePassPipeline(narrowed_, kNarrowedOptions));
  check(builder.parsePassPipeline(unroll_, kUnrollOptions));
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

bool RegionCompiler::is_refused(const Instruction& at) {
  return kind_ == RegionKind::device && (at.effects.reads_count || !is_self_contained(at.operands.row));
}

bool RegionCompiler::is_self_contained(u16 row) {
  const auto [known, is_new] = self_contained_.try_emplace(row, true);
  llvm::Function* function = rows_->getFunction("myriarm_row_" + std::string(kRowInfos[row].name));
  if (!is_new || function == nullptr) return known->second;
  read(*function);
  for (const llvm::Instruction& at : llvm::instructions(*function)) {
    for (const llvm::Use& use : at.operands()) {
      auto* constant = llvm::dyn_cast<llvm::Constant>(use.get());
      if (constant == nullptr) continue;
      llvm::SmallPtrSet<const llvm::Constant*, 4> seen;
      std::vector<llvm::GlobalValue*> found;
      add_globals(constant, seen, found);
      for (const llvm::GlobalValue* global : found) {
        const auto* called = llvm::dyn_cast<llvm::Function>(global);
        const bool is_there = called != nullptr && (called->isIntrinsic() || called->getName() == kFindPageName);
        if (!is_number(*global) && !is_there) known->second = false;
      }
    }
  }
  return known->second;
}

void RegionCompiler::Analyses::add(llvm::PassBuilder& builder) {
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
}

void RegionCompiler::run(llvm::FunctionPassManager& passes, llvm::Function& function, Analyses& analyses) {
  passes.run(function, analyses.functions);
  analyses.functions.clear(function, function.getName());
}

void RegionCompiler::optimise(llvm::Function& function) {
  run(passes_, function, of_machine_);
  if (kind_ != RegionKind::device) return;
  if (uses_stack(function)) {
    run(unroll_, function, of_machine_);
    run(passes_, function, of_machine_);
  }
  run(thread_, function, of_none_);
}

std::unique_ptr<llvm::Module> RegionCompiler::module_with(llvm::Function& region) {
  auto module = std::make_unique<llvm::Module>("region", context_);
  module->setTargetTriple(rows_->getTargetTriple());
  module->setDataLayout(machine_->createDataLayout());
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

std::unique_ptr<llvm::Module> RegionCompiler::module_of(const Shape& shape, const std::string& name) {
  compiled_++;
  llvm::Function* region = build_region(*rows_, *rows_, cpu_size_, shape, kind_, finding_, name);
  set_processor(*region);
  std::string mistakes;
  llvm::raw_string_ostream out(mistakes);
  if (llvm::verifyFunction(*region, &out)) throw std::runtime_error("LLVM refuses the region: " + mistakes);
  inline_rows(*region);
  if (kind_ == RegionKind::device) let_accesses_move(*region, false);
  const llvm::DataLayout layout = machine_->createDataLayout();
  if (computes_with_words(shape, kind_)) {
    rows_->setDataLayout(layout_of_words(layout.getStringRepresentation()));
    optimise(*region);
    narrow_words(*region);
    run(narrowed_, *region, of_none_);
    rows_->setDataLayout(layout);
  } else {
    optimise(*region);
  }
  if (kind_ == RegionKind::device) {
    // The code generator's choices, made with machine registers in mind, need no such hint.
    let_accesses_move(*region, true);
    spare_integer_pipe(*region);
    write_signed_shifts(*region);
  }
  std::unique_ptr<llvm::Module> module = module_with(*region);
  region->eraseFromParent();
  return module;
}

llvm::SmallVector<char, 0> RegionCompiler::code_of(const Shape& shape, const std::string& name) {
  const std::unique_ptr<llvm::Module> module = module_of(shape, name);
  return emit(*module);
}

llvm::SmallVector<char, 0> RegionCompiler::emit(llvm::Module& module) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
#if LLVM_VERSION_MAJOR >= 18
  constexpr auto kObject = llvm::CodeGenFileType::ObjectFile, kText = llvm::CodeGenFileType::AssemblyFile;
#else
  constexpr auto kObject = llvm::CGFT_ObjectFile, kText = llvm::CGFT_AssemblyFile;
#endif
  if (machine_->addPassesToEmitFile(passes, stream, nullptr, kind_ == RegionKind::device ? kText : kObject)) {
    throw std::runtime_error("LLVM makes no code for this processor");
  }
  passes.run(module);
  return object;
}

}  // namespace myriarm::translate
