// SPDX-License-Identifier: Apache-2.0
// What kernels say in assembly, each with its meaning in C++: that is what runs where tests compile kernels for the processor
// (tests/emulated_gpu/). An address of shared memory is 32 bits there too, an offset in that of the block.
#pragma once

#include "core/portable.h"

#if !defined(__CUDACC__)
#include <emulated_gpu/threads.h>
#endif

namespace myriarm::cuda {

/// The shared memory that the launch asked for.
MYR_FN u64* block_words() {
#if defined(__CUDACC__)
  extern __shared__ u64 shared[];
  return shared;
#else
  return (u64*)emulated_gpu::block_memory;
#endif
}

#if defined(__CUDACC__)
#define MYR_DEVICE_WORDS(assembly, meaning) assembly
#else
#define MYR_DEVICE_WORDS(assembly, meaning) meaning
#define MYR_SHARED(type, at) (*(volatile type*)(emulated_gpu::block_memory + (at)))
#endif

// In assembly, so that an access takes one multiply-add and one instruction: the compiler would rebuild a generic pointer each
// time.
MYR_FN u64 load_shared64(u32 at) {
  u64 value;
  MYR_DEVICE_WORDS(asm volatile("ld.shared.u64 %0, [%1];" : "=l"(value) : "r"(at)), value = MYR_SHARED(u64, at));
  return value;
}
MYR_FN void store_shared64(u32 at, u64 value) {
  MYR_DEVICE_WORDS(asm volatile("st.shared.u64 [%0], %1;" ::"r"(at), "l"(value)), MYR_SHARED(u64, at) = value);
}
MYR_FN u32 load_shared32(u32 at) {
  u32 value;
  MYR_DEVICE_WORDS(asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(at)), value = MYR_SHARED(u32, at));
  return value;
}
MYR_FN void store_shared32(u32 at, u32 value) {
  MYR_DEVICE_WORDS(asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(value)), MYR_SHARED(u32, at) = value);
}
MYR_FN void store_shared_pair(u32 at, u32 first, u32 second) {
#if defined(__CUDACC__)
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(at), "r"(first), "r"(second));
#else
  MYR_SHARED(u32, at) = first;
  MYR_SHARED(u32, at + 4) = second;
#endif
}
MYR_FN void load_shared_pair(u32 at, u32& first, u32& second) {
#if defined(__CUDACC__)
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(first), "=r"(second) : "r"(at));
#else
  first = MYR_SHARED(u32, at);
  second = MYR_SHARED(u32, at + 4);
#endif
}

/// Two words at an address that is a multiple of 16, in one access.
MYR_FN void load_pair(const u64* at, u64& first, u64& second) {
#if defined(__CUDACC__)
  asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(at));
#else
  first = ((const volatile u64*)at)[0];
  second = ((const volatile u64*)at)[1];
#endif
}
/// The same where the compiler must not move other accesses of memory across it.
MYR_FN void load_pair_in_order(const void* at, u64& first, u64& second) {
#if defined(__CUDACC__)
  asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(at) : "memory");
#else
  load_pair((const u64*)at, first, second);
#endif
}
MYR_FN void store_pair(u64* at, u64 first, u64 second) {
#if defined(__CUDACC__)
  asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(first), "l"(second));
#else
  ((volatile u64*)at)[0] = first;
  ((volatile u64*)at)[1] = second;
#endif
}

/// `first` + 8 * `column` + `row` * `row_bytes`. In assembly, so that the compiler keeps no part of the address in registers from
/// one instruction to the next.
MYR_FN u64* element_of(const u64* first, u32 column, u32 row, u32 row_bytes) {
  u64 address;
  MYR_DEVICE_WORDS(asm("{\n.reg .u64 column;\nmad.wide.u32 column, %1, 8, %2;\nmad.wide.u32 %0, %3, %4, column;\n}"
                       : "=l"(address)
                       : "r"(column), "l"(first), "r"(row), "r"(row_bytes)),
                   address = (u64)first + (u64)column * 8 + (u64)row * row_bytes);
  return (u64*)address;
}

/// Adds to a word. What the caller has written before is in memory for who sees the sum.
MYR_FN u64 add_release(u64& word, u64 value) {
  u64 before;
  MYR_DEVICE_WORDS(asm volatile("atom.add.release.gpu.u64 %0, [%1], %2;"
                                : "=l"(before)
                                : "l"(&word), "l"(value)
                                : "memory"),
                   before = __atomic_fetch_add(&word, value, __ATOMIC_RELEASE));
  return before;
}

MYR_FN u64 nanoseconds_now() {
  u64 nanoseconds;
  MYR_DEVICE_WORDS(asm volatile("mov.u64 %0, %globaltimer;"
                                : "=l"(nanoseconds)),
                   nanoseconds = emulated_gpu::nanoseconds());
  return nanoseconds;
}

/// The number of the thread within its block. The compiler does not know that it stays the same.
MYR_FN u32 thread_number() {
  u32 thread;
  MYR_DEVICE_WORDS(asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread)), thread = threadIdx.x);
  return thread;
}

#undef MYR_DEVICE_WORDS
#undef MYR_SHARED

}  // namespace myriarm::cuda
