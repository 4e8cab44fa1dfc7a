// SPDX-License-Identifier: Apache-2.0
// Whether the processes that a process makes have memory in common with it.
#pragma once

#include "kernel/ranges.h"

namespace myriarm {

/// The process that runs has mapped memory with MAP_SHARED, which a child of fork() has in common with it.
template <kernel::Machine M>
MYR_FN bool has_shared_memory(const M& m) {
  const u32 count = kernel::range_count(m);
  for (u32 i = 0; i < count; i++) {
    if (kernel::range_at(m, i).flags & kernel::kSharedMemory) return true;
  }
  return false;
}

}  // namespace myriarm
