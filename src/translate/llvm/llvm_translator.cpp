// SPDX-License-Identifier: Apache-2.0
// The translator with LLVM: rows' bitcode and IR in, machine code of this host out. A module of its own that
// translator.cpp loads when a program becomes hot, so that starting myriarm does not load LLVM.
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "translate/llvm/compiler_pool.h"
#include "translate/llvm/errors.h"
#include "translate/llvm/module.h"
#include "translate/llvm/region_key.h"
#include "translate/llvm/thread_seconds.h"

namespace myriarm::translate {
namespace {

#if LLVM_VERSION_MAJOR >= 18
constexpr auto kCodeGeneration = llvm::CodeGenOptLevel::Less;
#else
constexpr auto kCodeGeneration = llvm::CodeGenOpt::Less;
#endif

/// Machine code in the JIT; removed with the last region that uses it. Every region is linked by itself, so that its object
/// code is the same in all processes.
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
    // Rows use no such instruction, and LLVM takes 8 % longer where it might.
    if (target.getTargetTriple().isX86()) target.addFeatures({"-avx512f"});
    if (store_ != nullptr) keys_.emplace(target, kCompilerOptions + std::string(slow.windows ? ",windows" : ""));
    compilers_.emplace(
        [target] {
          llvm::orc::JITTargetMachineBuilder own = target;
          return value_of(own.createTargetMachine());
        },
        RegionKind::host, slow.windows ? Finding::windows : Finding::plain);
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
      const RegionKey key = keys_ ? keys_->key_of(shape) : RegionKey{};
      if (!load_kept(key, *region)) {
        llvm::SmallVector<char, 0> object;
        compilers_->use([&](RegionCompiler& compiler) { object = compiler.code_of(shape); });
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
  const std::shared_ptr<RegionStore> store_;  // null: none
  std::optional<CompilerPool> compilers_;
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
