// SPDX-License-Identifier: Apache-2.0
// The translator for GPUs: rows' bitcode and IR in, PTX out.
#include "translate/device_translator.h"

#include <cstring>
#include <optional>
#include <stdexcept>

#include "translate/llvm/compiler_pool.h"
#include "translate/llvm/module.h"
#include "translate/llvm/nvptx_target.h"
#include "translate/llvm/region_key.h"
#include "translate/llvm/thread_seconds.h"

namespace myriarm::translate {
#if MYRIARM_WITH_NVPTX
namespace {

class NvptxTranslator final : public DeviceTranslator {
 public:
  NvptxTranslator(const DeviceTarget& target, std::shared_ptr<RegionStore> store)
      : store_(std::move(store)),
        compilers_(nvptx_machine(target), RegionKind::device, target.lanes_differ ? Finding::by_lane : Finding::plain) {
    if (store_ == nullptr) return;
    // What the machine is made of is in the triple, the options and this module itself.
    llvm::orc::JITTargetMachineBuilder machine(llvm::Triple("nvptx64-nvidia-cuda"));
    keys_.emplace(machine, "ptx for " + std::to_string(target.compute_capability) +
                               (target.lanes_differ ? ", lanes differ, " : ", ") + kCompilerOptions);
  }

  std::unique_ptr<DeviceRegion> translate(u64 entry, const FetchWord& fetch, const RegionLimits& limits,
                                          const std::string& name, std::string& why) override {
    const double begin = thread_seconds();
    try {
      RegionLimits device_limits = limits;
      device_limits.calls_leave = true;
      auto region = std::make_unique<DeviceRegion>();
      compilers_.use([&](RegionCompiler& compiler) {
        Shape shape;
        auto refuses = [&](const Instruction& at) { return compiler.is_refused(at); };
        if (!find_shape(entry, fetch, device_limits, shape, why, refuses)) return;
        const RegionKey key = keys_ ? keys_->key_of(shape, name) : RegionKey{};
        region->entries = shape.entries;
        for (const auto& [pc, block] : shape.blocks) {
          for (const Instruction& at : block.instructions) region->covered.push_back(at.pc);
        }
        region->instructions = shape.instructions;
        region->longest_run = shape.longest_run();
        if (store_ != nullptr) {
          const std::vector<u8> kept = store_->find(key);
          region->ptx.assign(kept.begin(), kept.end());
          region->is_from_store = !kept.empty();
        }
        if (region->is_from_store) return;
        const llvm::SmallVector<char, 0> ptx = compiler.code_of(shape, name);
        region->ptx.assign(ptx.begin(), ptx.end());
        if (store_ == nullptr) return;
        const RegionNote note = {entry, shape.instructions, thread_seconds() - begin};
        store_->keep(key, note, {reinterpret_cast<const u8*>(ptx.data()), ptx.size()});
      });
      if (region->ptx.empty()) return nullptr;
      region->name = name;
      region->seconds = thread_seconds() - begin;
      return region;
    } catch (const std::exception& error) {
      why = error.what();
      return nullptr;
    }
  }

  std::vector<u64> kept_entries(u64 begin, std::span<const u8> code) override {
    if (store_ == nullptr) return {};
    const std::vector<u8> bytes = store_->find(keys_->key_of(kEntries, begin, code));
    std::vector<u64> entries(bytes.size() / sizeof(u64));
    if (!entries.empty()) std::memcpy(entries.data(), bytes.data(), entries.size() * sizeof(u64));
    return entries;
  }
  void keep_entries(u64 begin, std::span<const u8> code, std::span<const u64> entries) override {
    if (store_ == nullptr) return;
    store_->keep(keys_->key_of(kEntries, begin, code), {begin, 0, 0},
                 {reinterpret_cast<const u8*>(entries.data()), entries.size_bytes()});
  }

 private:
  static constexpr const char* kEntries = "entries";

  const std::shared_ptr<RegionStore> store_;  // null: none
  std::optional<RegionKeys> keys_;            // if there is a store
  CompilerPool compilers_;
};

}  // namespace
#endif
}  // namespace myriarm::translate

extern "C" __attribute__((visibility("default"))) myriarm::translate::DeviceTranslator* myriarm_make_device_translator(
    const myriarm::translate::ModuleCaller& caller, const myriarm::translate::DeviceTarget& target,
    std::shared_ptr<myriarm::translate::RegionStore> store, std::string& why) {
  using namespace myriarm::translate;
  if (caller.version != std::string(MYRIARM_VERSION) || caller.lane_state_size != sizeof(LaneState)) {
    why = "its module belongs to another build of myriarm";
    return nullptr;
  }
#if MYRIARM_WITH_NVPTX
  try {
    return new NvptxTranslator(target, std::move(store));
  } catch (const std::exception& error) {
    why = error.what();
  }
#else
  (void)target, (void)store;
  why = "its LLVM makes no code for NVIDIA GPUs";
#endif
  return nullptr;
}
