// SPDX-License-Identifier: Apache-2.0
// Runs a region for a GPU as the PTX that LLVM writes of it, in memory of this process below 4 GiB. So LLVM's code generator is tested
// too; ptxas is not.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>

#include "emulated_gpu/ptx_function.h"
#include "translate/lane_columns.h"

namespace myriarm::translate {

class PtxRegion {
 public:
  PtxRegion(const std::string& ptx, const std::string& name) : function_(ptx, name) {}
  /// Throws std::runtime_error, as PtxFunction::run().
  DeviceRegionResult run(u32 column, u32 entry, u32 team, u32 left, u32 nzcv) const {
    const u32 arguments[] = {column, entry, team, left, nzcv};
    DeviceRegionResult result;
    function_.run(arguments, {reinterpret_cast<u8*>(&result), sizeof result}, nullptr,
                  [&](const std::string& name, void* page, const void* argument) {
                    if (name != kFindPageName) throw std::runtime_error("PTX calls " + name);
                    u64 address = 0;
                    std::memcpy(&address, argument, sizeof address);
                    const DevicePage found = page_found_for(column, team, address);
                    std::memcpy(page, &found, sizeof found);
                  });
    return result;
  }

 private:
  emulated_gpu::PtxFunction function_;
};

}  // namespace myriarm::translate
