// SPDX-License-Identifier: Apache-2.0
// The inputs of a queue in device memory: segments, which the host sends one after the other, and which live until the
// process of their last input has ended.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/cuda/device_memory.h"
#include "backends/cuda/process/input_queue.h"
#include "backends/cuda/process/process_kernels.h"
#include "myriarm/inputs.h"

namespace myriarm::cuda {

struct InputSegment {
  u64 first_ticket = 0;  // QueuedLane::ticket
  u64 first_number = 0, count = 0;
  u64 begun = 0;    // inputs that lanes have taken
  u64 running = 0;  // of these: those whose processes have not ended
  u64 skipped = 0;  // offset of the first byte in `bytes`
  bool as_file = false;
  bool shrunk = false;  // `bytes` holds only inputs of processes that had not ended
  u64 size = 0;         // bytes of all its inputs
  /// Lanes take the inputs in this order, given as places in the batch; empty: in that of the batch.
  std::vector<u32> order;
  DeviceArray<u8> bytes;
  DeviceArray<u64> offsets, numbers;
  bool has_numbers = false;
};

class InputSegments {
 public:
  explicit InputSegments(int device);

  /// Sends a batch, which must be as InputBatch says, also while a launch is in progress. Where the sizes of its inputs
  /// differ, lanes take the large ones first: lanes of a team wait for the longest of their processes, so that inputs of a
  /// size belong together.
  void add(const InputBatch& batch);
  /// The first segment with inputs that no lane has taken; null: there is none.
  InputSegment* current();
  /// Inputs that no lane has taken.
  u64 waiting() const;
  /// Bytes of the segments that have such inputs, without those of current().
  u64 waiting_bytes() const;
  /// Inputs whose processes have not ended.
  u64 running() const;
  /// The process of an input has ended. Returns how many inputs came before it in the batches.
  u64 ended(u64 ticket);
  /// Gives back memory that is not needed. `inputs` and `lanes` are those of all lanes, on the device. No launch may be in
  /// progress.
  void tidy(kernel::ProcessInput* inputs, const QueuedLane* lanes, u64 count, cudaStream_t stream);

 private:
  /// Host memory that the device copies from while the host fills the other one.
  struct Stage {
    PinnedArray<u8> bytes;
    Event copied;
  };

  /// Sends the bytes of inputs that lie one after the other on the device.
  void send_bytes(const InputSegment& segment, const InputBatch& batch);
  /// Moves the inputs of processes that have not ended to memory of their own.
  void shrink(InputSegment& segment, kernel::ProcessInput* inputs, const QueuedLane* lanes, u64 count,
              cudaStream_t stream);

  Stream copies_;
  Stage stages_[2];
  u64 next_ticket_ = 0;
  std::vector<std::unique_ptr<InputSegment>> segments_;  // in the order in which they came
  std::vector<std::unique_ptr<InputSegment>> spare_;
};

}  // namespace myriarm::cuda
