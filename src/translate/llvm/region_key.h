// SPDX-License-Identifier: Apache-2.0
// The key under which the machine code of a region is kept: a BLAKE3 hash of all that the code depends on. What is left
// out here would let a run execute code that was made for something else.
#pragma once

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>

#include <string>

#include "translate/region_store.h"
#include "translate/shape.h"

namespace myriarm::translate {

class RegionKeys {
 public:
  /// `options`: how code is made for this target, beyond what this module's own code says.
  RegionKeys(llvm::orc::JITTargetMachineBuilder& target, const std::string& options);
  RegionKey key_of(const Shape& shape) const;

 private:
  RegionKey maker_ = {};  // all that regions have in common
};

}  // namespace myriarm::translate
