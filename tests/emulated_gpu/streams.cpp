// SPDX-License-Identifier: Apache-2.0
// Streams, events, graphs and launches of an emulated GPU. A stream is a thread that does what it was given, in order.
#include <driver_types.h>

#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include <emulated_gpu/threads.h>
#include "memory.h"

using emulated_gpu::Work;

struct EmulatedStream {
 public:
  EmulatedStream() : thread_([this] { run(); }) {}
  ~EmulatedStream() {
    {
      std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void add(Work work) {
    {
      std::lock_guard lock(mutex_);
      open_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  bool is_idle() {
    std::lock_guard lock(mutex_);
    return open_.empty();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_.empty(); });
  }

 private:
  void run() {
    std::fesetenv(FE_DFL_ENV);  // a GPU does not know how the host rounds
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || !open_.empty(); });
      if (open_.empty()) return;  // what was begun is done first
      const Work work = open_.front();
      lock.unlock();
      work();
      lock.lock();
      open_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> open_;  // the first is being done
  bool ends_ = false;
  std::thread thread_;
};

struct EmulatedEvent {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t open = 0;
};

struct EmulatedGraphNode {
  dim3 blocks, threads;
  size_t shared_bytes;
  Work work;
};
struct EmulatedGraph {
  std::vector<std::unique_ptr<EmulatedGraphNode>> nodes;
};
struct EmulatedGraphExec {
  std::vector<EmulatedGraphNode> nodes;
};

namespace emulated_gpu {
namespace {

std::mutex kernels_mutex;
std::map<const void*, Binder>& kernels() {
  static std::map<const void*, Binder> all;
  return all;
}
Work bound(const void* kernel, void** arguments) {
  std::lock_guard lock(kernels_mutex);
  const auto found = kernels().find(kernel);
  return found == kernels().end() ? Work() : found->second(kernel, arguments);
}

thread_local EmulatedGraphExec* running_graph = nullptr;
thread_local bool begins_again = false;

void run_graph(EmulatedGraphExec* exec) {
  running_graph = exec;
  do {
    begins_again = false;
    for (const EmulatedGraphNode& node : exec->nodes)
      run_blocks(node.blocks, node.threads, node.shared_bytes, node.work);
  } while (begins_again);
  running_graph = nullptr;
}

}  // namespace

void note_kernel(const void* kernel, Binder binder) {
  std::lock_guard lock(kernels_mutex);
  kernels()[kernel] = binder;
}

void launch(dim3 blocks, dim3 threads, size_t shared_bytes, Work work, cudaStream_t stream) {
  stream->add([=, work = std::move(work)] { run_blocks(blocks, threads, shared_bytes, work); });
}

}  // namespace emulated_gpu

namespace {
// Never dereferenced.
EmulatedStream* const kTailLaunch = reinterpret_cast<EmulatedStream*>(&emulated_gpu::kernels_mutex);
}  // namespace
const cudaStream_t cudaStreamGraphTailLaunch = kTailLaunch;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new EmulatedStream;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  stream->wait();
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return stream->is_idle() ? cudaSuccess : cudaErrorNotReady; }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new EmulatedEvent;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event != nullptr) cudaEventSynchronize(event);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  {
    std::lock_guard lock(event->mutex);
    event->open++;
  }
  stream->add([event] {
    std::lock_guard lock(event->mutex);
    event->open--;
    event->changed.notify_all();
  });
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  std::unique_lock lock(event->mutex);
  event->changed.wait(lock, [event] { return event->open == 0; });
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  std::lock_guard lock(event->mutex);
  return event->open == 0 ? cudaSuccess : cudaErrorNotReady;
}

// A copy between the device and host memory that is not pinned has read, or written, the host's side when the call returns (CUDA
// Runtime API, "API synchronization behavior").
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  if (kind == cudaMemcpyHostToDevice && !emulated_gpu::is_pinned(from)) {
    const auto* const first = static_cast<const uint8_t*>(from);
    stream->add(
        [to, staged = std::vector<uint8_t>(first, first + bytes)] { std::memcpy(to, staged.data(), staged.size()); });
    return cudaSuccess;
  }
  stream->add([=] { std::memmove(to, from, bytes); });
  if (kind == cudaMemcpyDeviceToHost && !emulated_gpu::is_pinned(to)) stream->wait();
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  stream->add([=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const bool known = kernel != nullptr && attribute == cudaFuncAttributePreferredSharedMemoryCarveout;
  return known && value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 blocks, dim3 threads, void** arguments, size_t shared_bytes,
                             cudaStream_t stream) {
  Work work = emulated_gpu::bound(kernel, arguments);
  if (!work) return cudaErrorInvalidValue;
  emulated_gpu::launch(blocks, threads, shared_bytes, std::move(work), stream);
  return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  *graph = new EmulatedGraph;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t*, size_t,
                                   const cudaKernelNodeParams* parameters) {
  Work work = emulated_gpu::bound(parameters->func, parameters->kernelParams);
  if (!work) return cudaErrorInvalidValue;
  graph->nodes.push_back(std::make_unique<EmulatedGraphNode>(
      EmulatedGraphNode{parameters->gridDim, parameters->blockDim, parameters->sharedMemBytes, std::move(work)}));
  *node = graph->nodes.back().get();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new EmulatedGraphExec;
  for (const auto& node : graph->nodes) (*exec)->nodes.push_back(*node);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  if (stream == kTailLaunch) {
    if (exec != emulated_gpu::running_graph) return cudaErrorInvalidValue;
    emulated_gpu::begins_again = true;
  } else {
    stream->add([exec] { emulated_gpu::run_graph(exec); });
  }
  return cudaSuccess;
}
cudaGraphExec_t cudaGetCurrentGraphExec() { return emulated_gpu::running_graph; }
