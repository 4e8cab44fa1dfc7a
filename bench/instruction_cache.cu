// SPDX-License-Identifier: Apache-2.0
// How fast warps run code that is larger than what a multiprocessor keeps of it: functions of 2 KiB of machine code, which each warp
// calls one after the other. Prints cycles between two instructions of a warp, by the size of all functions that are called.
//   instruction_cache
// In the first kind of table each warp calls them in an order of its own, in the second all warps in the same random order, so that
// they are in the same function most of the time.
#include <cstdio>
#include <utility>

namespace {

constexpr unsigned kFunctions = 256, kInstructions = 128, kWarpsOfBlock = 4, kCalls = 2000;
constexpr double kCallInstructions = 12;  // of the loop around a call, some

using Function = unsigned (*)(unsigned a, unsigned b);

template <unsigned kNumber>
__device__ __noinline__ unsigned function(unsigned a, unsigned b) {
  unsigned c = a ^ b, d = a + kNumber;
#pragma unroll
  for (unsigned i = 0; i < kInstructions / 4; i++) {
    asm volatile(
        "mad.lo.u32 %0, %0, %4, %1;\n\tmad.lo.u32 %1, %1, %4, %2;\n\t"
        "mad.lo.u32 %2, %2, %4, %3;\n\tmad.lo.u32 %3, %3, %4, %0;"
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d)
        : "r"(b | 1));
  }
  return a ^ b ^ c ^ d;
}

template <unsigned... kNumbers>
__device__ Function function_at(unsigned number, std::integer_sequence<unsigned, kNumbers...>) {
  static __device__ const Function functions[] = {function<kNumbers>...};
  return functions[number];
}

__global__ void __launch_bounds__(kWarpsOfBlock * 32, 6)
    run(unsigned functions, unsigned calls, bool same_order, unsigned* results) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned random = same_order ? 12345 : thread / 32 * 2654435761u + 12345, value = threadIdx.x;
  for (unsigned i = 0; i < calls; i++) {
    random = random * 1664525u + 1013904223u;
    const unsigned number = (random >> 10) % functions;
    value = function_at(number, std::make_integer_sequence<unsigned, kFunctions>())(value, random);
  }
  results[thread] = value;
}

double milliseconds(unsigned blocks, unsigned functions, unsigned calls, bool same_order, unsigned* results) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventRecord(begin);
  run<<<blocks, kWarpsOfBlock * 32>>>(functions, calls, same_order, results);
  cudaEventRecord(end);
  cudaEventSynchronize(end);
  float time = 0;
  cudaEventElapsedTime(&time, begin, end);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return time;
}

}  // namespace

int main() {
  cudaDeviceProp device;
  int kilohertz = 0;
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) {
    std::fprintf(stderr, "instruction_cache: no CUDA device was found; run it on a machine with an NVIDIA GPU\n");
    return 2;
  }
  cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0);
  const unsigned multiprocessors = static_cast<unsigned>(device.multiProcessorCount);
  const unsigned sizes[] = {1, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256};
  unsigned* results = nullptr;
  cudaMalloc(&results, sizeof(unsigned) * 32 * kWarpsOfBlock * 6 * multiprocessors);
  std::printf("%s, at most %.2f GHz; cycles between two instructions of a warp\n", device.name, kilohertz / 1e6);
  for (const bool same_order : {false, true}) {
    std::printf("\n%s\n%-10s", same_order ? "all warps in the same order" : "each warp in an order of its own",
                "warps/SM");
    for (const unsigned size : sizes) std::printf("%5u KiB", size * 2);
    for (const unsigned blocks_of_each : {1u, 3u, 6u}) {
      std::printf("\n%-10u", blocks_of_each * kWarpsOfBlock);
      const unsigned blocks = blocks_of_each * multiprocessors;
      for (const unsigned size : sizes) {
        milliseconds(blocks, size, kCalls / 10, same_order, results);
        const double time = milliseconds(blocks, size, kCalls, same_order, results);
        std::printf("%9.1f", time * kilohertz / (kCalls * (kInstructions + kCallInstructions)));
      }
    }
    std::printf("\n");
  }
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::fprintf(stderr, "instruction_cache: %s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 1;
}
