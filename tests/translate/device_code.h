// SPDX-License-Identifier: Apache-2.0
// Regions for a GPU, run by this processor: the region as LLVM has optimised it, from which PTX is written, becomes code of
// the host.
#pragma once

#include <llvm/ExecutionEngine/Orc/LLJIT.h>

#include "translate/device_region.h"
#include "translate/llvm/compiler.h"

namespace myriarm::translate {

struct HostedRegion {
  using Function = void (*)(DeviceRegionResult* result, u32 column, u32 entry, u32 team, u32 left, u32 nzcv);
  std::unique_ptr<llvm::orc::LLJIT> code;
  Function run = nullptr;
};

/// Throws std::runtime_error if LLVM fails.
HostedRegion hosted(const llvm::Module& region, const std::string& name);

}  // namespace myriarm::translate
