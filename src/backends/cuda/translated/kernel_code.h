// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/portable.h"

namespace myriarm::cuda {

/// The relocatable code of run_translated.cu, as the driver's linker takes it.
std::span<const u8> kernel_code();

}  // namespace myriarm::cuda
