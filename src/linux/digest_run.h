// SPDX-License-Identifier: Apache-2.0
// One call of Queue::digest() where the lanes take inputs by themselves. It counts digests and puts them into order, and it
// has processes take turns that were given up for want of memory. It knows lanes and queues by DigestLanes alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "linux/batches.h"
#include "linux/in_order.h"
#include "linux/input_lengths.h"
#include "linux/source_end.h"
#include "myriarm/queue.h"

namespace myriarm::linux_process {

/// Inputs that were given up, with their bytes.
struct GivenUp {
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> offsets = {0};
  std::vector<uint64_t> numbers, tickets;
  bool as_file = false;

  void add(const InputBatch& inputs, std::span<const uint64_t> their_tickets);
  bool empty() const { return numbers.empty(); }
  /// Bytes that it takes.
  uint64_t size() const { return bytes.size() + numbers.size() * 3 * sizeof(uint64_t); }
};

/// What a DigestRun runs on.
struct DigestLanes {
  /// LinuxFleet::work_off().
  std::function<void(InputRun run)> work_off;
  /// work_off_in_turns().
  std::function<QueueProgress(const BatchSource&, const DigestSink&, const QueueOptions&)> take_turns;
  /// Whether the queue's cancel() was called since the run began.
  std::function<bool()> is_cancelled;
};

class DigestRun {
 public:
  /// The first batch was taken from the source.
  DigestRun(DigestLanes lanes, Batches& batches, const InputBatch& first, const DigestSink& sink,
            const QueueOptions& options);

  QueueProgress go();

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  bool goes_on() const { return !cut_short_ && !wants_no_more_; }

  /// Lets the lanes take inputs by themselves, until the source has no more or inputs that were given up must have digests.
  void work_off();
  void take_turns();
  Supply next(InputBatch& batch, bool idle);
  /// Whether inputs that were given up have their turn before further ones.
  bool gives_turns(bool idle) const;
  /// False: the sink wants no more.
  bool take(std::span<const InputDigest> digests, std::span<const uint64_t> tickets);
  /// Those whose turn it is, after so many more have come.
  std::span<const InputDigest> ordered(uint64_t more);
  /// The counts of what runs now, which follows what has ended.
  void count(uint64_t instructions, uint64_t lane_instructions);
  void tell_progress();

  const DigestLanes lanes_;
  Batches& batches_;
  InputBatch first_;
  const DigestSink& sink_;
  const QueueOptions& options_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  QueueProgress progress_;
  QueueProgress before_;  // what had ended when work_off() or take_turns() began
  InputLengths lengths_;
  SourceEnd source_end_;
  InOrder<InputDigest> in_order_;
  uint64_t held_ = 0;
  std::vector<InputDigest> ready_;
  GivenUp given_up_;
  uint64_t given_ = 0;           // inputs that the source has given
  uint64_t first_ticket_ = 0;    // that work_off() calls 0
  bool lanes_have_all_ = false;  // work_off() was told that there are no more inputs
  bool ended_ = false;           // the source has no more
  bool cut_short_ = false;       // cancel() was called
  bool wants_no_more_ = false;   // the sink has said so
};

}  // namespace myriarm::linux_process
