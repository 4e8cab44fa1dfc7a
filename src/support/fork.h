// SPDX-License-Identifier: Apache-2.0
// Which process this is, for objects that a fork()ed child must not use: it has the memory of its parent, but none of
// the parent's threads, a lock may be held for ever by one of these, and a CUDA driver refuses it. Host code.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace myriarm {
namespace fork_detail {

inline std::atomic<uint64_t> count{0};
// Registered when the library is loaded, so that no call has to.
inline const int kRegistered = pthread_atfork(nullptr, nullptr, [] { count.fetch_add(1, std::memory_order_relaxed); });

}  // namespace fork_detail

/// How often this process or one that it descends from has been the child of a fork() since the library was loaded.
/// An object that was made at another count belongs to another process.
inline uint64_t fork_count() { return fork_detail::count.load(std::memory_order_relaxed); }

}  // namespace myriarm
