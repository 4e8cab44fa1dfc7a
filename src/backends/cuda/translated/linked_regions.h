// SPDX-License-Identifier: Apache-2.0
// The kernel of translated code, linked with regions by the driver.
#pragma once

#include <cuda.h>

#include <span>
#include <string>
#include <vector>

#include "translate/device_translator.h"

namespace myriarm::cuda {

/// Compiles the PTX of a region in a link that is thrown away: what the driver has compiled once, its cache has, and the link of
/// the kernel with all regions finds it there. Any thread may call it, with the device's context selected; calls may run at the
/// same time. Throws Error if the driver refuses it.
void compile_region(const translate::DeviceRegion& region);

/// The device must be current when one is made, used or destroyed.
class LinkedRegions {
 public:
  /// The functions of the regions have the numbers 0 and up; there may be none. Throws Error.
  explicit LinkedRegions(std::span<const translate::DeviceRegion* const> regions);
  ~LinkedRegions();
  LinkedRegions(const LinkedRegions&) = delete;
  CUfunction kernel() const { return kernel_; }
  /// Of the regions, in their order: where their functions are on the device.
  const std::vector<u64>& functions() const { return functions_; }

 private:
  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
  std::vector<u64> functions_;
};

}  // namespace myriarm::cuda
