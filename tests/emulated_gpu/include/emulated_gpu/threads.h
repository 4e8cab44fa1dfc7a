// SPDX-License-Identifier: Apache-2.0
// The threads of a kernel on an emulated GPU. A block runs on the thread of its stream; each of its threads has a stack of its own and
// gives way to the next where it waits for others: at a function of its warp or of its block. Between two such places one thread runs
// alone, so what threads of a block do to each other without waiting shows as an order of their work, not as a race.
//
// MYRIARM_EMULATED_GPU_SEED=N: which of the threads that can go on does so next is random, as of N; without it, in turns.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>

#include <cuda_runtime_api.h>

namespace emulated_gpu {

struct ThreadPlace {
  dim3 thread, block, threads, blocks;
};
/// Of the thread that runs.
extern constinit thread_local const ThreadPlace* current_place;
/// The shared memory that the launch of the block asked for.
extern constinit thread_local uint8_t* block_memory;

/// Functions of a warp (CUDA C++ Programming Guide, "Warp Vote Functions", "Warp Shuffle Functions").
enum class WarpFunction : uint8_t { sync, ballot, any, all, shuffle, shuffle_down, shuffle_xor };
/// The thread waits until all threads of `mask` that have not ended have called it. Different functions
/// with one mask, and a mask without the caller, are mistakes of the kernel: the process ends with a message.
uint64_t meet_warp(WarpFunction function, uint32_t mask, uint64_t value, uint32_t argument);
/// The thread waits for all of its block. Returns whether `value` holds for all.
bool meet_block(bool value);

/// The GPU's timer. Its clock, which counts cycles, is the same: one of 1 GHz.
uint64_t nanoseconds();

using Work = std::function<void()>;  // of one thread of a kernel
void launch(dim3 blocks, dim3 threads, size_t shared_bytes, Work work, cudaStream_t stream);
void run_blocks(dim3 blocks, dim3 threads, size_t shared_bytes, const Work& work);

/// Makes the work of a kernel with these arguments.
using Binder = Work (*)(const void* kernel, void** arguments);
void note_kernel(const void* kernel, Binder binder);

template <class... Parameters, size_t... Index>
Work bind_kernel(void (*kernel)(Parameters...), void** arguments, std::index_sequence<Index...>) {
  std::tuple<Parameters...> values(*static_cast<Parameters*>(arguments[Index])...);
  return [kernel, values] { std::apply(kernel, values); };
}
/// What cudaLaunchKernel() takes for a kernel.
template <class... Parameters>
const void* launchable(void (*kernel)(Parameters...)) {
  const void* const address = reinterpret_cast<const void*>(kernel);
  note_kernel(address, [](const void* of, void** arguments) {
    const auto typed = reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(of));
    return bind_kernel(typed, arguments, std::index_sequence_for<Parameters...>{});
  });
  return address;
}

}  // namespace emulated_gpu
