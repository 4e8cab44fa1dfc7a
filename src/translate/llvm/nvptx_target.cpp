// SPDX-License-Identifier: Apache-2.0
#include "translate/llvm/nvptx_target.h"

#if MYRIARM_WITH_NVPTX
#include <llvm/MC/TargetRegistry.h>

#include <mutex>
#include <optional>
#include <stdexcept>

// Those of LLVM's initialisers that are for one target are declared where they are used.
extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace myriarm::translate {
namespace {

/// Those that every LLVM from 16 on knows. Code for one of them runs on all later devices.
constexpr u32 kCapabilities[] = {70, 75, 80, 86, 89, 90};

}  // namespace

MakeMachine nvptx_machine(const DeviceTarget& target) {
  // LLVM's list of targets is not made for fleets that begin at the same time.
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  u32 capability = 0;
  for (const u32 known : kCapabilities) {
    if (known <= target.compute_capability) capability = known;
  }
  if (capability == 0) throw std::runtime_error("the device is too old");
  if (target.ptx < kWrittenPtx) throw std::runtime_error("the driver is too old");
  return [processor = "sm_" + std::to_string(capability)] {
    const std::string triple = "nvptx64-nvidia-cuda";
    std::string why;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, why);
    if (found == nullptr) throw std::runtime_error(why);
    llvm::TargetOptions options;
    // Results depend on it: no operation of the guest is fused with another.
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    return std::unique_ptr<llvm::TargetMachine>(
        found->createTargetMachine(triple, processor, kPtxFeature, options, std::nullopt));
  };
}

}  // namespace myriarm::translate
#endif
