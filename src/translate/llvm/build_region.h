// SPDX-License-Identifier: Apache-2.0
// Builds LLVM IR of a region: a function that calls the rows' bitcode with constant operands. No row is known here.
#pragma once

#include <llvm/IR/Module.h>

#include "translate/shape.h"

namespace myriarm::translate {

enum class RegionKind {
  host,    // a RegionFunction; the rows are those of host_rows.cpp
  device,  // a DeviceRegionFunction; the rows are those of device_rows.cpp
};

/// How a region finds the bytes of an address.
enum class Finding : u8 {
  plain,
  windows,  // for the host: through the windows of its lane
  by_lane,  // for a GPU: the lanes of a team may differ in the permissions of a page
};

/// Adds a function of this kind and name to `module`. `rows` declares the rows' functions.
llvm::Function* build_region(llvm::Module& module, const llvm::Module& rows, u64 cpu_size, const Shape& shape,
                             RegionKind kind, Finding finding, const std::string& name);

}  // namespace myriarm::translate
