// SPDX-License-Identifier: Apache-2.0
// The C++ side of Queue.digests(): batches of inputs that lie in arrays of Python, and digests in arrays that Python takes.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "group_ends.h"
#include "queue_worker.h"

namespace myriarm::python {

class DigestLists {
 public:
  using Offsets = nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

  explicit DigestLists(QueueWorker& worker) : worker_(worker) {}

  void start(bool ordered, bool group, uint64_t held_bytes, uint64_t instructions);
  /// Whether it takes a further batch now; false after the end.
  bool has_room();
  /// The arrays stay as long as the batch is worked off.
  void push(uint64_t first_number, Bytes bytes, Offsets offsets, bool as_file);
  /// Lets the queue have what was pushed. To be called with the worker's mutex held.
  void offer();
  /// Batches that come now are in no group with those that were pushed. To be called with the worker's mutex held.
  void end_group() { group_ends_.add(waiting_.size()); }
  /// All digests that are there, 72 bytes each, as a read-only array of bytes; None if there are none within some time;
  /// False after the end. Raises what has ended the run.
  nb::object pop(bool wait);
  /// Lets go of all arrays, when no run is under way.
  void clear();

 private:
  // Batches that wait have fewer inputs for each lane, and fewer bytes, before another is taken.
  static constexpr uint64_t kMostInputsOfLane = 64, kMostBytes = uint64_t{64} << 20;
  // Fewer digests wait before others come.
  static constexpr uint64_t kMostDigests = uint64_t{1} << 20;

  struct Batch {
    uint64_t first_number;
    Bytes bytes;
    Offsets offsets;
    bool as_file;
  };

  Supply next(InputBatch& batch, bool idle);
  bool take(std::span<const InputDigest> digests);

  QueueWorker& worker_;
  std::deque<Batch> waiting_;
  size_t offered_ = 0;  // of these, how many the queue may take
  GroupEnds group_ends_;
  uint64_t waiting_inputs_ = 0, waiting_bytes_ = 0;
  std::optional<Batch> current_;  // the queue reads it
  std::vector<Batch> read_;       // to be dropped by a thread that has the GIL
  std::vector<InputDigest> digests_;
};

/// The functions that need no queue.
void bind_digests(nb::module_& module);

}  // namespace myriarm::python
