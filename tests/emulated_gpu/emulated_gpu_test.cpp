// SPDX-License-Identifier: Apache-2.0
// The emulated GPU does what the CUDA C++ Programming Guide and the reference of the Runtime API say, as far as the CUDA backend uses
// it, and a kernel that breaks their rules ends the process with a message.
#include <cuda.h>
#include <emulated_gpu/modules.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <set>
#include <vector>

namespace {

constexpr unsigned kWhole = 0xFFFFFFFFu;

class EmulatedGpu : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  void TearDown() override { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }
  /// Runs a kernel of one array, and gives what is in it then.
  std::vector<unsigned> run(void (*kernel)(unsigned*), dim3 blocks, unsigned threads, size_t count,
                            size_t shared_bytes = 0) {
    void* array = nullptr;
    EXPECT_EQ(cudaMalloc(&array, count * sizeof(unsigned)), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(array, 0, count * sizeof(unsigned), stream_), cudaSuccess);
    void* arguments[] = {&array};
    EXPECT_EQ(cudaLaunchKernel(emulated_gpu::launchable(kernel), blocks, threads, arguments, shared_bytes, stream_),
              cudaSuccess);
    std::vector<unsigned> values(count);
    EXPECT_EQ(cudaMemcpyAsync(values.data(), array, count * sizeof(unsigned), cudaMemcpyDeviceToHost, stream_),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(cudaFree(array), cudaSuccess);
    return values;
  }
  cudaStream_t stream_ = nullptr;
};

void number_kernel(unsigned* out) {
  const unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
  out[block * blockDim.x + threadIdx.x] = block * 1000 + threadIdx.x;
}
TEST_F(EmulatedGpu, EachThreadOfEachBlockRunsOnce) {
  const std::vector<unsigned> found = run(number_kernel, dim3(3, 2), 70, 420);
  for (unsigned block = 0; block < 6; block++) {
    for (unsigned thread = 0; thread < 70; thread++) EXPECT_EQ(found[block * 70 + thread], block * 1000 + thread);
  }
}

void vote_kernel(unsigned* out) {
  const unsigned lane = threadIdx.x % 32;
  unsigned* const own = out + threadIdx.x * 4;
  own[0] = __ballot_sync(kWhole, lane % 3 == 0);
  own[1] = (unsigned)__any_sync(kWhole, threadIdx.x == 40);
  own[2] = (unsigned)__all_sync(kWhole, threadIdx.x < 32 || lane < 20);
  own[3] = __ballot_sync(kWhole, 1);
}
TEST_F(EmulatedGpu, AWarpVotes) {
  const std::vector<unsigned> found = run(vote_kernel, 1, 56, 56 * 4);
  for (unsigned thread = 0; thread < 56; thread++) {
    const unsigned present = thread < 32 ? kWhole : (1u << 24) - 1;
    EXPECT_EQ(found[thread * 4], 0x49249249u & present) << "the second warp has 24 threads";
    EXPECT_EQ(found[thread * 4 + 1], thread < 32 ? 0u : 1u);
    EXPECT_EQ(found[thread * 4 + 2], thread < 32 ? 1u : 0u);
    EXPECT_EQ(found[thread * 4 + 3], present);
  }
}

void shuffle_kernel(unsigned* out) {
  const unsigned lane = threadIdx.x;
  out[lane * 4] = __shfl_sync(kWhole, lane * 10, (int)lane + 5);  // modulo 32
  out[lane * 4 + 1] = __shfl_down_sync(kWhole, lane, 3);
  out[lane * 4 + 2] = __shfl_xor_sync(kWhole, lane, 16);
  const unsigned long long wide = __shfl_sync(kWhole, (unsigned long long)lane << 40, 9);
  out[lane * 4 + 3] = (unsigned)(wide >> 40);
}
TEST_F(EmulatedGpu, AWarpShuffles) {
  const std::vector<unsigned> found = run(shuffle_kernel, 1, 32, 128);
  for (unsigned lane = 0; lane < 32; lane++) {
    EXPECT_EQ(found[lane * 4], (lane + 5) % 32 * 10);
    EXPECT_EQ(found[lane * 4 + 1], lane + 3 < 32 ? lane + 3 : lane);
    EXPECT_EQ(found[lane * 4 + 2], lane ^ 16);
    EXPECT_EQ(found[lane * 4 + 3], 9u);
  }
}

void part_kernel(unsigned* out) {
  // Two halves that vote each for itself, a different number of times; one thread leaves in between.
  const unsigned lane = threadIdx.x, half = lane < 16 ? 0xFFFFu : 0xFFFF0000u;
  unsigned sum = 0;
  for (unsigned i = 0; i < (lane < 16 ? 5u : 2u); i++) {
    if (lane == 3 && i == 2) return;
    sum += (unsigned)__popc(__ballot_sync(half, 1));
  }
  __syncwarp();
  out[lane] = sum;
}
TEST_F(EmulatedGpu, PartsOfAWarpMeetForThemselvesAndNobodyWaitsForWhoHasEnded) {
  const std::vector<unsigned> found = run(part_kernel, 1, 32, 32);
  for (unsigned lane = 0; lane < 32; lane++) {
    EXPECT_EQ(found[lane], lane == 3 ? 0u : lane < 16 ? 2 * 16u + 3 * 15u : 2 * 16u);
  }
}

void barrier_kernel(unsigned* out) {
  __shared__ unsigned turn[96];
  for (unsigned round = 0; round < 10; round++) {
    turn[threadIdx.x] = round * 96 + threadIdx.x;
    __syncthreads();
    out[threadIdx.x] += turn[(threadIdx.x + 40) % 96] - round * 96;
    __syncthreads();
  }
  if (__syncthreads_and(threadIdx.x < 95)) out[threadIdx.x] = 0;
}
TEST_F(EmulatedGpu, ABlockMeetsAtABarrier) {
  const std::vector<unsigned> found = run(barrier_kernel, 2, 96, 96);
  for (unsigned thread = 0; thread < 96; thread++) EXPECT_EQ(found[thread], 2 * 10 * ((thread + 40) % 96));
}

void shared_kernel(unsigned* out) {
  unsigned* const words = (unsigned*)emulated_gpu::block_memory;
  if (blockIdx.x == 0) words[threadIdx.x] = 7;
  out[blockIdx.x * 32 + threadIdx.x] = words[threadIdx.x];
}
TEST_F(EmulatedGpu, SharedMemoryKeepsNothingFromBlockToBlock) {
  const std::vector<unsigned> found = run(shared_kernel, 2, 32, 64, 128);
  EXPECT_EQ(found[3], 7u);
  EXPECT_EQ(found[35], 0xA5A5A5A5u);
}

void add_kernel(unsigned* out) {
  atomicAdd(out, threadIdx.x);
  atomicMax(out + 1, threadIdx.x);
  atomicMin(out + 2, 5 - threadIdx.x);  // the lowest is 0, at thread 5
  atomicOr(out + 3, 1u << threadIdx.x % 32);
  atomicCAS(out + 4, threadIdx.x, threadIdx.x + 1);
}
TEST_F(EmulatedGpu, AtomicsReturnAndStore) {
  const std::vector<unsigned> found = run(add_kernel, 1, 64, 5);
  EXPECT_EQ(found, (std::vector<unsigned>{64 * 63 / 2, 63, 0, kWhole, 64}));
}

/// What is in the last word says who came when.
void unordered_kernel(unsigned* out) {
  for (unsigned i = 0; i < 8; i++) {
    out[32] = out[32] * 33 + threadIdx.x;
    __syncwarp();
  }
}
TEST(EmulatedGpuOrder, ASeedChoosesWhoGoesOnSoThatAMissingMeetingShows) {
  std::set<unsigned> seen;
  std::vector<unsigned> first;
  for (const char* seed : {"1", "2", "3", "1"}) {
    setenv("MYRIARM_EMULATED_GPU_SEED", seed, 1);
    std::vector<unsigned> out(33);
    // A thread of its own reads the seed.
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, 0), cudaSuccess);
    emulated_gpu::launch(
        1, 32, 0, [&] { unordered_kernel(out.data()); }, stream);
    cudaStreamDestroy(stream);
    seen.insert(out[32]);
    if (first.empty()) first = out;
    if (seed[0] == '1') {
      EXPECT_EQ(out, first) << "the same seed, the same order";
    }
  }
  unsetenv("MYRIARM_EMULATED_GPU_SEED");
  EXPECT_GE(seen.size(), 2u);
}

void wrong_mask_kernel(unsigned*) { __syncwarp(threadIdx.x < 16 ? 0xFFFFu : 0xFFFFu); }
void different_functions_kernel(unsigned* out) {
  if (threadIdx.x == 0) __syncwarp();
  else out[0] = __ballot_sync(kWhole, 1);
}
void endless_kernel(unsigned*) {
  if (threadIdx.x == 0) __syncthreads();
  else __syncwarp();  // the first thread of the warp never comes
}
using EmulatedGpuMistakes = EmulatedGpu;
TEST_F(EmulatedGpuMistakes, EndTheProcessWithAMessage) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(run(wrong_mask_kernel, 1, 32, 1), "mask that is without it");
  EXPECT_DEATH(run(different_functions_kernel, 1, 32, 1), "meet in different functions");
  EXPECT_DEATH(run(endless_kernel, 1, 32, 1), "all threads of a block wait for others");
}

TEST_F(EmulatedGpu, ACopyFromPageableMemoryHasReadItWhenTheCallReturns) {
  void *array = nullptr, *pinned = nullptr;
  ASSERT_EQ(cudaMalloc(&array, 4), cudaSuccess);
  ASSERT_EQ(cudaHostAlloc(&pinned, 4, cudaHostAllocMapped), cudaSuccess);
  std::atomic<bool> goes_on = false;
  emulated_gpu::launch(
      1, 1, 0,
      [&] {
        while (!goes_on) std::this_thread::yield();
      },
      stream_);
  unsigned value = 5;
  *(unsigned*)pinned = 6;
  cudaMemcpyAsync(array, &value, 4, cudaMemcpyHostToDevice, stream_);
  value = 0;
  EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady);
  goes_on = true;
  unsigned found = 0;
  cudaMemcpyAsync(&found, array, 4, cudaMemcpyDeviceToHost, stream_);
  EXPECT_EQ(found, 5u) << "and a copy to such memory has written it";
  cudaMemcpyAsync(array, pinned, 4, cudaMemcpyHostToDevice, stream_);
  cudaMemcpyAsync(&found, array, 4, cudaMemcpyDeviceToHost, stream_);
  EXPECT_EQ(found, 6u);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaSuccess);
  cudaFree(array);
  cudaFreeHost(pinned);
}

TEST_F(EmulatedGpu, EventsComeWhenWhatIsBeforeThemIsDone) {
  std::atomic<bool> goes_on = false;
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess) << "nothing was recorded";
  emulated_gpu::launch(
      1, 1, 0,
      [&] {
        while (!goes_on) std::this_thread::yield();
      },
      stream_);
  cudaEventRecord(event, stream_);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  goes_on = true;
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  cudaEventDestroy(event);
}

void count_kernel(unsigned* out) { out[0]++; }
void again_kernel(unsigned* out) {
  out[1] = out[1] * 10 + out[0];
  if (out[0] < 5) cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
}
TEST_F(EmulatedGpu, AKernelLaunchesItsGraphAgain) {
  std::vector<unsigned> out(2);
  unsigned* first = out.data();
  void* arguments[] = {&first};
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  for (auto* kernel : {count_kernel, again_kernel}) {
    cudaKernelNodeParams parameters = {
        const_cast<void*>(emulated_gpu::launchable(kernel)), 1, 1, 0, arguments, nullptr};
    ASSERT_EQ(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters), cudaSuccess);
  }
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch), cudaSuccess);
  cudaGraphDestroy(graph);
  ASSERT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
  cudaStreamSynchronize(stream_);
  EXPECT_EQ(out[1], 12345u);
  cudaGraphExecDestroy(exec);
}

/// 2 * a + square(a), and 1 more that it keeps in shared memory.
constexpr const char* kFunction = R"(
.version 7.8
.target sm_75
.address_size 64
.extern .func  (.param .b64 func_retval0) square(.param .b64 square_param_0);
.visible .func  (.param .align 8 .b8 func_retval0[16]) sum(
	.param .b32 sum_param_0,
	.param .b32 sum_param_1
)
{
	.reg .b32 	%r<4>;
	.reg .b64 	%rd<6>;
	ld.param.u32 	%r1, [sum_param_0];
	ld.param.u32 	%r2, [sum_param_1];
	cvt.u64.u32 	%rd1, %r1;
	{ // callseq 0, 0
	.param .b64 param0;
	st.param.b64 	[param0+0], %rd1;
	.param .b64 retval0;
	call.uni (retval0),
	square,
	(
	param0
	);
	ld.param.b64 	%rd2, [retval0+0];
	} // callseq 0
	shl.b64 	%rd3, %rd1, 1;
	add.s64 	%rd4, %rd3, %rd2;
	ld.shared.u64 	%rd5, [%r2];
	add.s64 	%rd5, %rd5, 1;
	st.shared.u64 	[%r2], %rd5;
	st.param.b64 	[func_retval0+0], %rd4;
	st.param.b64 	[func_retval0+8], %rd5;
	ret;
}
)";
constexpr const char* kArray = ".version 7.8\n.visible .global .align 8 .u64 functions[1] = {sum};\n";

void calling_kernel(const uint64_t* functions, unsigned* out) {
  auto* const shared = (uint64_t*)emulated_gpu::block_memory;
  shared[2] = 41;
  const unsigned arguments[] = {threadIdx.x, 16};
  uint64_t result[2];
  emulated_gpu::call_function(functions[0], arguments, {(uint8_t*)result, sizeof result});
  out[threadIdx.x * 2] = (unsigned)result[0];
  out[threadIdx.x * 2 + 1] = (unsigned)shared[2];
}
const emulated_gpu::MachineCode& calling_code() {
  static const emulated_gpu::MachineCode code = {
      "calling", emulated_gpu::launchable(calling_kernel), {{"square", [](void* result, const void* argument) {
                                                               uint64_t value;
                                                               memcpy(&value, argument, sizeof value);
                                                               value *= value;
                                                               memcpy(result, &value, sizeof value);
                                                             }}}};
  return code;
}
CUresult add_ptx(CUlinkState link, const std::string& ptx) {
  return cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(ptx.c_str()), ptx.size() + 1, "test", 0, nullptr,
                       nullptr);
}

TEST_F(EmulatedGpu, KernelsCallFunctionsThatTheDriverLinks) {
  CUlinkState link = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUdeviceptr functions = 0;
  size_t bytes = 0;
  void* code = nullptr;
  ASSERT_EQ(cuLinkCreate(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  ASSERT_EQ(cuLinkAddData(link, CU_JIT_INPUT_FATBINARY, const_cast<emulated_gpu::MachineCode*>(&calling_code()),
                          sizeof calling_code(), "kernel", 0, nullptr, nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(add_ptx(link, kFunction), CUDA_SUCCESS);
  ASSERT_EQ(add_ptx(link, kArray), CUDA_SUCCESS);
  ASSERT_EQ(cuLinkComplete(link, &code, &bytes), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleLoadData(&module, code), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkDestroy(link), CUDA_SUCCESS) << "a module outlives its link";
  EXPECT_NE(cuModuleGetFunction(&kernel, module, "another"), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&kernel, module, "calling"), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetGlobal(&functions, &bytes, module, "functions"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, sizeof(uint64_t));
  std::vector<unsigned> out(8);
  unsigned* const out_argument = out.data();
  void* arguments[] = {&functions, (void*)&out_argument};
  ASSERT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 4, 1, 1, 64, stream_, arguments, nullptr), CUDA_SUCCESS);
  cudaStreamSynchronize(stream_);
  EXPECT_EQ(out, (std::vector<unsigned>{0, 42, 3, 42, 8, 42, 15, 42}));
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}
TEST_F(EmulatedGpu, WhatIsMissingIsNotLinked) {
  CUlinkState link = nullptr;
  void* code = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(cuLinkCreate(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  EXPECT_NE(add_ptx(link, ".visible .func  (.param .b64 func_retval0) broken(\n"), CUDA_SUCCESS);
  ASSERT_EQ(add_ptx(link, kArray), CUDA_SUCCESS);
  EXPECT_NE(cuLinkComplete(link, &code, &bytes), CUDA_SUCCESS) << "there is no sum";
  cuLinkDestroy(link);
}

TEST(EmulatedGpuMemory, IsCountedByDevice) {
  setenv("MYRIARM_EMULATED_GPUS", "2", 1);
  setenv("MYRIARM_EMULATED_GPU_MEMORY", "64", 1);
  size_t free = 0, total = 0;
  void *first = nullptr, *second = nullptr;
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  ASSERT_EQ(cudaMalloc(&first, 40 << 20), cudaSuccess);
  EXPECT_EQ(((unsigned*)first)[100], 0xA5A5A5A5u) << "it is not zero";
  cudaMemGetInfo(&free, &total);
  EXPECT_EQ(total, 64u << 20);
  EXPECT_EQ(free, 24u << 20);
  EXPECT_EQ(cudaMalloc(&second, 40 << 20), cudaErrorMemoryAllocation);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 40 << 20), cudaSuccess) << "the other device has its own";
  cudaFree(first);
  cudaFree(second);
  const CUmemAllocationProp of = {CU_MEM_ALLOCATION_TYPE_PINNED, {CU_MEM_LOCATION_TYPE_DEVICE, 1}};
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemCreate(&handle, 66 << 20, &of, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemCreate(&handle, 62 << 20, &of, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  cudaSetDevice(1);
  cudaMemGetInfo(&free, &total);
  EXPECT_EQ(free, total);
  unsetenv("MYRIARM_EMULATED_GPUS");
  unsetenv("MYRIARM_EMULATED_GPU_MEMORY");
  cudaSetDevice(0);
}

}  // namespace
