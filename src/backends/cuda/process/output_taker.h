// SPDX-License-Identifier: Apache-2.0
// The host's side of the log of output: it copies chunks that are complete, while the launch goes on, gives them back to the
// lanes, and passes on what is in them.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/cuda/device_memory.h"
#include "backends/cuda/process/output_log.h"
#include "myriarm/process.h"

namespace myriarm::cuda {

class OutputTaker {
 public:
  OutputTaker(ProcessHost& host, u64 lanes);

  OutputRing* ring() const;
  u64 chunk_bytes() const { return chunk_bytes_; }

  /// To be called before each launch; `stream` is that of the launches.
  void begin(cudaStream_t stream);
  /// Goes on with chunks that are complete, and waits for nothing of the launch. To be called again and again while it is in
  /// progress. Returns whether there is more to do at once.
  bool take_some();
  /// Takes all that is left when the launch has ended; `head` is Report::output_head. Returns the lanes whose output the host
  /// has refused during the launch.
  std::vector<u32> take_rest(OutputHead head);

 private:
  /// Has the chunk with the number copied_ copied, and then given back to the lanes.
  void copy(u64 bytes);
  /// Begins to pass on the next chunks, which are copied.
  void pass_on(u64 chunks);
  /// What one of several threads does of it.
  void pass_on_part(u64 thread, u64 threads);
  /// Waits until they are passed on.
  void finish();
  u64* complete(u64 number) const { return &complete_.data()[number % kOutputChunks]; }

  ProcessHost& host_;
  u64 chunk_bytes_;
  DeviceArray<u8> log_;
  PinnedArray<u8> host_log_;
  PinnedArray<u64> complete_;  // OutputRing::complete
  PinnedArray<u64> taken_;     // by slot: what becomes OutputRing::taken when the chunk in it is copied
  Stream stream_;
  Event copied_event_[kOutputChunks];
  u64 bytes_[kOutputChunks] = {};                // by slot: of the records that are copied
  u64 copied_ = 0, passed_ = 0, under_way_ = 0;  // chunks of this launch; those that are being passed on follow passed_
  bool is_clean_ = false;                        // all is as a launch must find it
  std::vector<u8> is_refused_;                   // by lane
  std::mutex mutex_;                             // guards refused_ while threads pass chunks on
  std::vector<u32> refused_;
  std::atomic<u64> working_{0};  // threads that have not ended their part
  std::vector<std::jthread> threads_;
};

}  // namespace myriarm::cuda
