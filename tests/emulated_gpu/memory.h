// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace emulated_gpu {
/// Whether an address lies in what cudaHostAlloc() gave.
bool is_pinned(const void* address);
}  // namespace emulated_gpu
