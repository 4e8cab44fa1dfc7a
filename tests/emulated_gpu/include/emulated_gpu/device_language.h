// SPDX-License-Identifier: Apache-2.0
// What nvcc knows without an #include, for a compiler that compiles kernels for the processor: included before the first line of
// a .cu file. Names and meanings are those of the CUDA C++ Programming Guide.
#pragma once

// First all that uses the names of attributes that CUDA takes for its own.
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <string>
#include <type_traits>

#include <emulated_gpu/threads.h>

#define __global__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static thread_local

#define threadIdx (::emulated_gpu::current_place->thread)
#define blockIdx (::emulated_gpu::current_place->block)
#define blockDim (::emulated_gpu::current_place->threads)
#define gridDim (::emulated_gpu::current_place->blocks)
#define clock() ((long)::emulated_gpu::nanoseconds())

/// A thread runs alone until it waits for others.
inline unsigned __activemask() { return 1u << ::emulated_gpu::current_place->thread.x % 32; }
inline void __syncthreads() { ::emulated_gpu::meet_block(true); }
inline int __syncthreads_and(int value) { return ::emulated_gpu::meet_block(value != 0); }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu) {
  ::emulated_gpu::meet_warp(::emulated_gpu::WarpFunction::sync, mask, 0, 0);
}
inline unsigned __ballot_sync(unsigned mask, int value) {
  return (unsigned)::emulated_gpu::meet_warp(::emulated_gpu::WarpFunction::ballot, mask, value != 0, 0);
}
inline int __any_sync(unsigned mask, int value) {
  return (int)::emulated_gpu::meet_warp(::emulated_gpu::WarpFunction::any, mask, value != 0, 0);
}
inline int __all_sync(unsigned mask, int value) {
  return (int)::emulated_gpu::meet_warp(::emulated_gpu::WarpFunction::all, mask, value != 0, 0);
}
namespace emulated_gpu {
template <class T>
T shuffled(WarpFunction function, unsigned mask, T value, unsigned argument) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA shuffles words of 4 and 8 bytes");
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  word = meet_warp(function, mask, word, argument);
  std::memcpy(&value, &word, sizeof value);
  return value;
}
}  // namespace emulated_gpu
template <class T>
auto __shfl_sync(unsigned mask, T value, int lane) {
  return ::emulated_gpu::shuffled(::emulated_gpu::WarpFunction::shuffle, mask, +value, (unsigned)lane);
}
template <class T>
auto __shfl_down_sync(unsigned mask, T value, unsigned distance) {
  return ::emulated_gpu::shuffled(::emulated_gpu::WarpFunction::shuffle_down, mask, +value, distance);
}
template <class T>
auto __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return ::emulated_gpu::shuffled(::emulated_gpu::WarpFunction::shuffle_xor, mask, +value, (unsigned)lanes);
}

template <class T>
T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T max(T a, T b) {
  return a < b ? b : a;
}
inline int __ffs(int value) { return __builtin_ffs(value); }
inline int __ffsll(long long value) { return __builtin_ffsll(value); }
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
template <class T>
T __ldg(const T* at) {
  return *at;
}
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
/// An address of shared memory is the offset in that of the block.
inline size_t __cvta_generic_to_shared(const void* at) {
  return (size_t)((const uint8_t*)at - ::emulated_gpu::block_memory);
}

// Kernels use them on words of device memory, and on those of shared memory.
template <class T>
T atomicAdd(T* word, std::type_identity_t<T> value) {
  return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
}
template <class T>
T atomicSub(T* word, std::type_identity_t<T> value) {
  return __atomic_fetch_sub(word, value, __ATOMIC_SEQ_CST);
}
template <class T>
T atomicOr(T* word, std::type_identity_t<T> value) {
  return __atomic_fetch_or(word, value, __ATOMIC_SEQ_CST);
}
template <class T>
T atomicAnd(T* word, std::type_identity_t<T> value) {
  return __atomic_fetch_and(word, value, __ATOMIC_SEQ_CST);
}
template <class T>
T atomicCAS(T* word, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  __atomic_compare_exchange_n(word, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}
template <class T>
T atomicMin(T* word, std::type_identity_t<T> value) {
  T seen = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (seen > value && !__atomic_compare_exchange_n(word, &seen, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return seen;
}
template <class T>
T atomicMax(T* word, std::type_identity_t<T> value) {
  T seen = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (seen < value && !__atomic_compare_exchange_n(word, &seen, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return seen;
}
