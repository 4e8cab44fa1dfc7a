// SPDX-License-Identifier: Apache-2.0
// What the device is told of each row. Needs no CUDA, so that tests without a device use it.
#pragma once

#include <vector>

#include "backends/cuda/code_span.h"

namespace myriarm::cuda {

/// kRowCount entries.
std::vector<DeviceRow> device_rows();

}  // namespace myriarm::cuda
