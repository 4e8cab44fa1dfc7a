// SPDX-License-Identifier: Apache-2.0
// The translator for GPUs: rows' bitcode and IR in, PTX out.
#include "translate/device_translator.h"

#include <stdexcept>

#include "translate/llvm/compiler_pool.h"
#include "translate/llvm/module.h"
#include "translate/llvm/nvptx_target.h"
#include "translate/llvm/thread_seconds.h"

namespace myriarm::translate {
#if MYRIARM_WITH_NVPTX
namespace {

class NvptxTranslator final : public DeviceTranslator {
 public:
  explicit NvptxTranslator(const DeviceTarget& target) : compilers_(nvptx_machine(target), RegionKind::device, target.lanes_differ ? Finding::by_lane : Finding::plain) {}

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
        region->entries = shape.entries;
        for (const auto& [pc, block] : shape.blocks) {
          for (const Instruction& at : block.instructions) region->covered.push_back(at.pc);
        }
        region->instructions = shape.instructions;
        region->longest_run = shape.longest_run();
        const llvm::SmallVector<char, 0> ptx = compiler.code_of(shape, name);
        region->ptx.assign(ptx.begin(), ptx.end());
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

 private:
  CompilerPool compilers_;
};

}  // namespace
#endif
}  // namespace myriarm::translate

extern "C" __attribute__((visibility("default"))) myriarm::translate::DeviceTranslator* myriarm_make_device_translator(
    const myriarm::translate::ModuleCaller& caller, const myriarm::translate::DeviceTarget& target, std::string& why) {
  using namespace myriarm::translate;
  if (caller.version != std::string(MYRIARM_VERSION) || caller.lane_state_size != sizeof(LaneState)) {
    why = "its module belongs to another build of myriarm";
    return nullptr;
  }
#if MYRIARM_WITH_NVPTX
  try {
    return new NvptxTranslator(target);
  } catch (const std::exception& error) {
    why = error.what();
  }
#else
  (void)target;
  why = "its LLVM makes no code for NVIDIA GPUs";
#endif
  return nullptr;
}
