// SPDX-License-Identifier: Apache-2.0
// The key under which the machine code of a region is kept: a BLAKE3 hash of all that the code depends on. What is left
// out here would let a run execute code that was made for something else.
#pragma once

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>

#include <span>
#include <string>

#include "translate/region_store.h"
#include "translate/shape.h"

namespace myriarm::translate {

class RegionKeys {
 public:
  /// `options`: how code is made for this target, beyond what this module's own code says.
  RegionKeys(llvm::orc::JITTargetMachineBuilder& target, const std::string& options);
  /// `name`: of the region's function, if its code has that.
  RegionKey key_of(const Shape& shape, const std::string& name = "") const;
  /// Of something else that is known of a program: its bytes from a guest address on.
  RegionKey key_of(const std::string& what, u64 begin, std::span<const u8> code) const;

 private:
  RegionKey maker_ = {};  // all that regions have in common
};

}  // namespace myriarm::translate
