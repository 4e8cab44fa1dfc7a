// SPDX-License-Identifier: Apache-2.0
// Runs a region for a GPU as the PTX that LLVM writes of it, in one thread and in memory of this process, whose addresses are those of
// shared and of global memory. So LLVM's code generator is tested too; ptxas is not. Instructions do what the PTX ISA manual, 7.8,
// says.
#pragma once

#include <memory>
#include <string>

#include "translate/device_region.h"

namespace myriarm::translate {

class PtxRegion {
 public:
  /// The region's function must have the name "region". Throws std::runtime_error.
  explicit PtxRegion(const std::string& ptx);
  ~PtxRegion();
  PtxRegion(PtxRegion&&) noexcept;
  /// Throws std::runtime_error with an instruction that it does not know, or if the region does not end.
  DeviceRegionResult run(u32 column, u32 entry, u32 team, u32 left, u32 nzcv) const;

 private:
  struct Code;
  std::unique_ptr<const Code> code_;
};

}  // namespace myriarm::translate
