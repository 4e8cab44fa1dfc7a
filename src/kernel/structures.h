// SPDX-License-Identifier: Apache-2.0
// Results of system calls that are structures in guest memory, stored word by word: a lane of a GPU has little stack.
#pragma once

#include "kernel/errno.h"
#include "kernel/guest_memory.h"

namespace myriarm::kernel {

/// The result of a call for whose store prepare() returned something other than `allowed`.
MYR_FN Result not_stored(Storing storing) { return storing == Storing::again ? again() : error(kEFAULT); }

// prepare() must have allowed these stores.

/// Two adjacent words: struct timespec, timeval, rlimit.
template <Machine M>
MYR_FN void store_words(M& m, u64 address, u64 first, u64 second) {
  store<u64>(m, address, first);
  store<u64>(m, address + 8, second);
}
template <Machine M>
MYR_FN void clear_words(M& m, u64 address, u32 count) {
  for (u32 i = 0; i < count; i++) store<u64>(m, address + i * 8, 0);
}

}  // namespace myriarm::kernel
