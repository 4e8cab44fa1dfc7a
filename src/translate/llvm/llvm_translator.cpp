// SPDX-License-Identifier: Apache-2.0
// The translator with LLVM: rows' bitcode and IR in, machine code of this host out. A module of its own that
// translator.cpp loads when a program becomes hot, so that starting myriarm does not load LLVM.
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <time.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "translate/llvm/build_region.h"
#include "translate/llvm/guard.h"
#include "translate/llvm/module.h"
#include "translate/llvm/region_key.h"

namespace myriarm::translate {
namespace {

// The optimiser's work: every row is inlined, and what remains is straight code over machine registers. More passes than
// these cost more time than they gain (docs/design/translation.md).
#if LLVM_VERSION_MAJOR >= 18
constexpr const char* kPasses =
    "always-inline,function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,jump-threading,gvn,"
    "instcombine<no-verify-fixpoint>,adce,simplifycfg)";
constexpr auto kCodeGeneration = llvm::CodeGenOptLevel::Less;
#else
constexpr const char* kPasses =
    "always-inline,function(sroa,early-cse<memssa>,instcombine,simplifycfg,jump-threading,gvn,instcombine,adce,"
    "simplifycfg)";
constexpr auto kCodeGeneration = llvm::CodeGenOpt::Less;
#endif

template <class T>
T value_of(llvm::Expected<T> expected) {
  if (expected) return std::move(*expected);
  throw std::runtime_error(llvm::toString(expected.takeError()));
}
void check(llvm::Error error) {
  if (error) throw std::runtime_error(llvm::toString(std::move(error)));
}

double thread_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// The function of a region in its object code. Every region is linked by itself, so that its object code is the same in
/// all processes.
constexpr const char* kRegionName = "region";

/// Machine code in the JIT; removed with the last region that uses it.
struct Code {
  std::shared_ptr<llvm::orc::LLJIT> jit;
  llvm::orc::JITDylib& library;
  Code(std::shared_ptr<llvm::orc::LLJIT> of_jit, const std::string& name)
      : jit(std::move(of_jit)), library(jit->getExecutionSession().createBareJITDylib(name)) {
    llvm::orc::JITDylibSearchOrder order;
    jit->getMainJITDylib().withLinkOrderDo([&](const llvm::orc::JITDylibSearchOrder& main) { order = main; });
    library.setLinkOrder(std::move(order));
  }
  ~Code() { llvm::consumeError(jit->getExecutionSession().removeJITDylib(library)); }
};

class LlvmTranslator final : public Translator {
 public:
  LlvmTranslator(const SlowPaths& slow, std::shared_ptr<RegionStore> store) : store_(std::move(store)) {
    initialise_llvm();
    auto target = value_of(llvm::orc::JITTargetMachineBuilder::detectHost());
    target.setCodeGenOptLevel(kCodeGeneration);
    // Results depend on it: no operation of the guest is fused with another.
    target.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
    target.setCodeModel(llvm::CodeModel::Small);
    target.setRelocationModel(llvm::Reloc::PIC_);
    target_ = target;
    if (store_ != nullptr) keys_.emplace(target_, kPasses);
    jit_ = value_of(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(target).create());
    // What fails is thrown where it was asked for; LLVM would print it as well.
    jit_->getExecutionSession().setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
    auto address = [](auto* function) {
      return llvm::orc::ExecutorSymbolDef(llvm::orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported);
    };
    llvm::orc::SymbolMap symbols;
    symbols[jit_->mangleAndIntern("myriarm_load_slow")] = address(slow.load);
    symbols[jit_->mangleAndIntern("myriarm_store_slow")] = address(slow.store);
    symbols[jit_->mangleAndIntern("myriarm_store_pair_slow")] = address(slow.store_pair);
    check(jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
  }

  std::unique_ptr<Region> translate(u64 entry, const FetchWord& fetch, const RegionLimits& limits,
                                    std::string& why) override {
    const double begin = thread_seconds();
    try {
      Shape shape;
      if (!find_shape(entry, fetch, limits, shape, why)) return nullptr;
      auto region = std::make_unique<Region>();
      region->entries = shape.entries;
      region->instructions = shape.instructions;
      // Between two checks addresses only rise, so no instruction runs twice.
      region->longest_run = shape.instructions;
      const RegionKey key = keys_ ? keys_->key_of(shape) : RegionKey{};
      if (!load_kept(key, *region)) {
        const llvm::SmallVector<char, 0> object = compile(shape);
        load(object, *region);
        keep(key, shape, thread_seconds() - begin, object);
      }
      region->seconds = thread_seconds() - begin;
      return region;
    } catch (const std::exception& error) {
      why = error.what();
      return nullptr;
    }
  }

 private:
  /// LLVM's list of targets is not made for fleets that begin at the same time.
  static void initialise_llvm() {
    static std::once_flag once;
    std::call_once(once, [] {
      llvm::InitializeNativeTarget();
      llvm::InitializeNativeTargetAsmPrinter();
      llvm::InitializeNativeTargetAsmParser();
    });
  }
  bool load_kept(const RegionKey& key, Region& region) {
    if (store_ == nullptr) return false;
    const std::vector<u8> object = store_->find(key);
    if (object.empty()) return false;
    try {
      load({reinterpret_cast<const char*>(object.data()), object.size()}, region);
      region.is_from_store = true;
    } catch (const std::exception& error) {
      store_->reject(key, error.what());
    }
    return region.is_from_store;
  }
  void keep(const RegionKey& key, const Shape& shape, double seconds, llvm::ArrayRef<char> object) {
    if (store_ == nullptr) return;
    const RegionNote note = {shape.entries.front(), shape.instructions, seconds};
    store_->keep(key, note, {reinterpret_cast<const u8*>(object.data()), object.size()});
  }
  void load(llvm::ArrayRef<char> object, Region& region) {
    const std::string name = "region_" + std::to_string(next_name_.fetch_add(1));
    auto code = std::make_shared<Code>(jit_, name);
    check(
        jit_->addObjectFile(code->library, llvm::MemoryBuffer::getMemBufferCopy({object.data(), object.size()}, name)));
    region.run = value_of(jit_->lookup(code->library, kRegionName)).toPtr<RegionFunction>();
    region.code = std::move(code);
  }
  llvm::SmallVector<char, 0> compile(const Shape& shape) {
    llvm::SmallVector<char, 0> object;
    run_guarded([&] { object = object_of(shape); });
    return object;
  }
  /// Shares nothing with other translations, so that one may fail inside LLVM.
  llvm::SmallVector<char, 0> object_of(const Shape& shape) {
    llvm::LLVMContext context;
    auto machine = value_of(target_.createTargetMachine());
    auto rows = value_of(llvm::getLazyBitcodeModule(
        llvm::MemoryBufferRef(llvm::StringRef(reinterpret_cast<const char*>(kMyriarmRowsBegin),
                                              static_cast<size_t>(kMyriarmRowsEnd - kMyriarmRowsBegin)),
                              "rows"),
        context));
    llvm::Module module("region", context);
    module.setTargetTriple(rows->getTargetTriple());
    module.setDataLayout(machine->createDataLayout());
    rows->setDataLayout(module.getDataLayout());
    check(rows->materializeMetadata());
    build_region(module, *rows, cpu_size(*rows), shape, kRegionName);
    if (llvm::Linker::linkModules(module, std::move(rows), llvm::Linker::LinkOnlyNeeded)) {
      throw std::runtime_error("LLVM cannot link the rows");
    }
    finish(module, *machine);
    optimise(module, *machine);

    llvm::SmallVector<char, 0> object;
    llvm::raw_svector_ostream stream(object);
    llvm::legacy::PassManager passes;
#if LLVM_VERSION_MAJOR >= 18
    constexpr auto kObject = llvm::CodeGenFileType::ObjectFile;
#else
    constexpr auto kObject = llvm::CGFT_ObjectFile;
#endif
    if (machine->addPassesToEmitFile(passes, stream, nullptr, kObject)) {
      throw std::runtime_error("LLVM makes no object code for this host");
    }
    passes.run(module);
    return object;
  }
  static u64 cpu_size(llvm::Module& rows) {
    llvm::GlobalVariable* size = rows.getNamedGlobal("myriarm_cpu_size");
    if (size != nullptr) check(size->materialize());
    if (size == nullptr || !size->hasInitializer()) throw std::runtime_error("the bitcode does not say its sizes");
    return llvm::cast<llvm::ConstantInt>(size->getInitializer())->getZExtValue();
  }
  void set_constant(llvm::Module& module, const char* name, u64 value) const {
    llvm::GlobalVariable* global = module.getNamedGlobal(name);
    if (global == nullptr) return;
    global->setInitializer(llvm::ConstantInt::get(global->getValueType(), value));
    global->setConstant(true);
    global->setVisibility(llvm::GlobalValue::DefaultVisibility);
    global->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  void finish(llvm::Module& module, const llvm::TargetMachine& machine) const {
    set_constant(module, "_ZN7myriarm14kMachineHasFmaE", machine.getTargetFeatureString().contains("+fma,") ? 1 : 0);
    for (const char* unwanted : {"llvm.global_ctors", "llvm.used", "llvm.compiler.used"}) {
      if (llvm::GlobalVariable* global = module.getNamedGlobal(unwanted)) global->eraseFromParent();
    }
    for (llvm::GlobalVariable& global : module.globals()) {
      if (!global.isDeclaration()) global.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
    for (llvm::Function& function : module) {
      // One processor for all functions, else they cannot be inlined into each other.
      function.removeFnAttr("tune-cpu");
      if (function.isDeclaration()) continue;
      function.addFnAttr("target-cpu", machine.getTargetCPU());
      function.addFnAttr("target-features", machine.getTargetFeatureString());
      if (function.getName() != kRegionName) {
        function.setVisibility(llvm::GlobalValue::DefaultVisibility);
        function.setLinkage(llvm::GlobalValue::InternalLinkage);
      }
    }
    std::string mistakes;
    llvm::raw_string_ostream out(mistakes);
    if (llvm::verifyModule(module, &out)) throw std::runtime_error("LLVM refuses the region: " + mistakes);
  }
  static void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(&machine);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    llvm::ModulePassManager passes;
    check(builder.parsePassPipeline(passes, kPasses));
    passes.run(module, modules);
  }

  const std::shared_ptr<RegionStore> store_;  // null: none
  llvm::orc::JITTargetMachineBuilder target_{llvm::Triple()};
  std::optional<RegionKeys> keys_;  // if there is a store
  std::shared_ptr<llvm::orc::LLJIT> jit_;
  std::atomic<u64> next_name_{0};
};

}  // namespace
}  // namespace myriarm::translate

extern "C" __attribute__((visibility("default"))) myriarm::translate::Translator* myriarm_make_translator(
    const myriarm::translate::ModuleCaller& caller, const myriarm::translate::SlowPaths& slow,
    std::shared_ptr<myriarm::translate::RegionStore> store, std::string& why) {
  using namespace myriarm::translate;
  if (caller.version != std::string(MYRIARM_VERSION) || caller.lane_state_size != sizeof(LaneState)) {
    why = "its module belongs to another build of myriarm";
    return nullptr;
  }
  try {
    return new LlvmTranslator(slow, std::move(store));
  } catch (const std::exception& error) {
    why = error.what();
    return nullptr;
  }
}
