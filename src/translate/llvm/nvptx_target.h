// SPDX-License-Identifier: Apache-2.0
// The GPU for which LLVM makes code. Only where LLVM makes any: MYRIARM_WITH_NVPTX.
#pragma once

#include "translate/device_translator.h"
#include "translate/llvm/compiler.h"

namespace myriarm::translate {

/// Throws std::runtime_error if there is no such target.
MakeMachine nvptx_machine(const DeviceTarget& target);

/// The PTX version that LLVM writes; what it writes is valid in later ones too.
constexpr const char* kPtxFeature = "+ptx78";
constexpr u32 kWrittenPtx = 78;

}  // namespace myriarm::translate
