// SPDX-License-Identifier: Apache-2.0
// The graph of a self-dispatching run: a batch, then the kernel that launches the graph again.
#include "backends/cuda/chain/next_batch.h"
#include "backends/cuda/device_memory.h"
#include "backends/cuda/kernels.h"

namespace myriarm::cuda {

Chain::Chain(const View& view, u32 multiprocessors, Engine engine, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  check(cudaGraphCreate(&graph, 0), "making a CUDA graph");
  graph_.reset(graph);
  const Launch launch = run_launch(view, multiprocessors, engine);
  View argument = view;
  void* arguments[] = {&argument};
  cudaKernelNodeParams node = {};
  node.func = const_cast<void*>(launch.kernel);
  node.gridDim = dim3(launch.blocks);
  node.blockDim = dim3(launch.threads);
  node.sharedMemBytes = launch.shared_bytes;
  node.kernelParams = arguments;
  cudaGraphNode_t batch = nullptr, next = nullptr;
  check(cudaGraphAddKernelNode(&batch, graph, nullptr, 0, &node), "making a CUDA graph");

  const Control* control = view.control;
  Report* report = view.report;
  const u32* cancel = view.cancel;
  void* next_arguments[] = {static_cast<void*>(&control), static_cast<void*>(&report), static_cast<void*>(&cancel)};
  cudaKernelNodeParams last = {};
  last.func = const_cast<void*>(next_batch_function());
  last.gridDim = dim3(1);
  last.blockDim = dim3(1);
  last.kernelParams = next_arguments;
  check(cudaGraphAddKernelNode(&next, graph, &batch, 1, &last), "making a CUDA graph");
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch), "making a CUDA graph");
  exec_.reset(exec);
  check(cudaGraphUpload(exec, stream), "sending a CUDA graph to the device");
}

void Chain::launch(cudaStream_t stream) { check(cudaGraphLaunch(exec_.get(), stream), "launching a CUDA graph"); }

}  // namespace myriarm::cuda
