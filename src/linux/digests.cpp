// SPDX-License-Identifier: Apache-2.0
// Queues that give digests. Where the lanes take inputs by themselves, this only puts digests into order; elsewhere it makes
// them of the results of run().
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include "linux/batches.h"
#include "linux/in_order.h"
#include "linux/input_lengths.h"
#include "myriarm/queue.h"

namespace myriarm {
namespace {

using linux_process::Batches;
using linux_process::InOrder;

/// Digests that are passed on together.
constexpr size_t kTogether = 4096;

InputDigest digest_of(const QueueResult& result) {
  InputDigest digest;
  digest.number = result.number;
  digest.instructions = result.instructions;
  digest.pc = result.pc;
  const std::vector<uint8_t>* const outputs[] = {&result.standard_output, &result.standard_error};
  for (int stream = 0; stream < 2; stream++) {
    digest.output_bytes[stream] = outputs[stream]->size();
    digest.output_hash[stream] = output_hash(*outputs[stream]);
  }
  digest.stop_address = result.outcome.stop.address;
  digest.stop_detail = result.outcome.stop.detail;
  digest.reason = result.outcome.stop.reason;
  digest.fault = result.outcome.stop.fault;
  return digest;
}

/// One call of Queue::digest() where the lanes take inputs by themselves. The first batch was taken from the source.
class DigestRun {
 public:
  DigestRun(LinuxFleet& processes, Batches& batches, const InputBatch& first, const DigestSink& sink,
            const QueueOptions& options)
      : processes_(processes), batches_(batches), first_(first), sink_(sink), options_(options) {}

  QueueProgress go() {
    InputRun run;
    run.next = [this](InputBatch& batch, bool idle) { return next(batch, idle); };
    run.done = [this](std::span<const InputDigest> digests, std::span<const uint64_t> tickets,
                      const InputRunProgress& progress) { return done(digests, tickets, progress); };
    processes_.work_off(std::move(run), options_.instructions);
    progress_.seconds = seconds();
    progress_.stopped_early = wanted_no_more_ || progress_.running != 0 || !ended_;
    progress_.longest_number = lengths_.longest_number();
    progress_.longest_instructions = lengths_.longest();
    progress_.median_instructions = lengths_.median();
    return progress_;
  }

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

  Supply next(InputBatch& batch, bool idle) {
    if (options_.ordered && held_ * sizeof(InputDigest) > options_.held_bytes) return Supply::later;
    Supply supply = Supply::input;
    if (first_.size() != 0) batch = std::exchange(first_, {});
    else supply = batches_.next(batch, idle);
    ended_ = supply == Supply::ended;
    if (supply == Supply::input) progress_.running += batch.size();
    return supply;
  }

  bool done(std::span<const InputDigest> digests, std::span<const uint64_t> tickets, const InputRunProgress& progress) {
    for (size_t i = 0; i < digests.size(); i++) {
      const InputDigest& digest = digests[i];
      progress_.failed += digest.reason != StopReason::exited || digest.stop_detail != 0;
      lengths_.add(digest.number, digest.instructions);
      if (options_.ordered) in_order_.put(tickets[i], digest);
    }
    progress_.done += digests.size();
    progress_.running -= digests.size();
    progress_.instructions = progress.instructions;
    progress_.lane_instructions = progress.lane_instructions;
    progress_.seconds = seconds();
    if (options_.ordered) digests = ordered(digests.size());
    if (!digests.empty()) wanted_no_more_ = !sink_(digests);
    if (options_.progress) options_.progress(progress_);
    return !wanted_no_more_;
  }

  /// Those whose turn it is, after so many more have come.
  std::span<const InputDigest> ordered(uint64_t more) {
    ready_.clear();
    while (const std::optional<InputDigest> digest = in_order_.take()) ready_.push_back(*digest);
    held_ += more;
    held_ -= ready_.size();
    return ready_;
  }

  LinuxFleet& processes_;
  Batches& batches_;
  InputBatch first_;
  const DigestSink& sink_;
  const QueueOptions& options_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  QueueProgress progress_;
  linux_process::InputLengths lengths_;
  InOrder<InputDigest> in_order_;
  uint64_t held_ = 0;
  std::vector<InputDigest> ready_;
  bool ended_ = false;  // the source has no more
  bool wanted_no_more_ = false;
};

/// Makes digests of the results of a queue's run(). `first` was taken from the source.
QueueProgress digest_results(InputQueue& queue, Batches& batches, const InputBatch& first, const DigestSink& sink,
                             const QueueOptions& options) {
  InputBatch batch = first;
  check_batch(batch);
  uint64_t at = 0;
  std::vector<InputDigest> ready;
  bool goes_on = true;
  std::exception_ptr sink_error;  // thrown in the source, it would only end the inputs
  const auto pass_on = [&] {
    try {
      if (!ready.empty() && std::exchange(goes_on, false)) goes_on = sink(ready);
    } catch (...) {
      sink_error = std::current_exception();
    }
    ready.clear();
    return goes_on;
  };
  const QueueSource source = [&](ProcessInput& input, uint64_t& number, bool idle) {
    if (idle && !pass_on()) return Supply::ended;
    if (at == batch.size()) {
      batch = {};
      at = 0;
      const Supply supply = batches.next(batch, idle);
      // Further inputs may wait for what is ready.
      if (supply == Supply::later && !pass_on()) return Supply::ended;
      if (supply != Supply::input) return supply;
      check_batch(batch);
    }
    const auto begin = batch.bytes.begin() + static_cast<ptrdiff_t>(batch.offsets[at]);
    const auto end = batch.bytes.begin() + static_cast<ptrdiff_t>(batch.offsets[at + 1]);
    (batch.as_file ? input.file : input.standard_input).emplace(begin, end);
    number = batch.numbers.empty() ? batch.first_number + at : batch.numbers[at];
    at++;
    return Supply::input;
  };
  const QueueSink results = [&](QueueResult& result) {
    ready.push_back(digest_of(result));
    return goes_on && (ready.size() < kTogether || pass_on());
  };
  QueueProgress progress;
  try {
    progress = queue.run(source, results, options);
  } catch (...) {
    pass_on();  // what is ready is not lost
    if (!sink_error) throw;
  }
  pass_on();
  if (sink_error) std::rethrow_exception(sink_error);
  progress.stopped_early |= !goes_on;
  return progress;
}

}  // namespace

QueueProgress InputQueue::digest(const BatchSource& source, const DigestSink& sink, const QueueOptions& options) {
  Batches batches(source, options.ordered);
  return digest_results(*this, batches, {}, sink, options);
}

QueueProgress Queue::digest(const BatchSource& source, const DigestSink& sink, const QueueOptions& options) {
  Batches batches(source, options.ordered);
  InputBatch first;
  Supply supply;
  do {
    supply = batches.next(first, true);
  } while (supply == Supply::later && !processes_->is_cancelled());
  if (supply == Supply::ended) return {};
  if (supply == Supply::input && processes_->takes_inputs(first.as_file)) {
    return DigestRun(*processes_, batches, first, sink, options).go();
  }
  return digest_results(*this, batches, first, sink, options);
}

}  // namespace myriarm
