// SPDX-License-Identifier: Apache-2.0
// Queues that give digests: where the lanes take inputs by themselves, a DigestRun; elsewhere they are made of the results
// of run().
#include <exception>
#include <utility>
#include <vector>

#include "linux/batches.h"
#include "linux/digest_run.h"
#include "linux/digest_turns.h"
#include "myriarm/queue.h"

namespace myriarm {
namespace {

using linux_process::Batches;

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
    number = linux_process::number_of(batch, at);
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
  const uint64_t cancels = cancels_;
  Batches batches(source, options.ordered);
  InputBatch first;
  Supply supply;
  do {
    supply = batches.next(first, true);
  } while (supply == Supply::later && !processes_->is_cancelled());
  if (supply == Supply::ended) return {};
  if (supply == Supply::input && processes_->takes_inputs(first.as_file)) {
    const auto work_off = [&](InputRun run) { processes_->work_off(std::move(run), options.instructions); };
    const auto is_cancelled = [&] { return cancels_ != cancels; };
    linux_process::DigestLanes lanes;
    lanes.work_off = work_off;
    lanes.take_turns = [&](const BatchSource& from, const DigestSink& to, const QueueOptions& how) {
      return linux_process::work_off_in_turns(work_off, from, to, how, is_cancelled);
    };
    lanes.is_cancelled = is_cancelled;
    return linux_process::DigestRun(std::move(lanes), batches, first, sink, options).go();
  }
  return digest_results(*this, batches, first, sink, options);
}

}  // namespace myriarm
