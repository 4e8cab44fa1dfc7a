// SPDX-License-Identifier: Apache-2.0
#include "run_digests.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "lane_report.h"
#include "myriarm/likeness.h"
#include "npy_file.h"
#include "number_set.h"

namespace myriarm::cli {
namespace {

/// The inputs whose digests an earlier run has left.
class Finished {
 public:
  void add(const InputDigest& digest) {
    numbers_.add(digest.number);
    digests_++;
    highest_status_ = std::max(highest_status_, exit_status(digest.stop()));
  }
  uint64_t digests() const { return digests_; }
  int highest_status() const { return highest_status_; }

  /// Takes them out of a batch of consecutive inputs, which may then have none.
  void leave_out_of(InputBatch& batch) {
    if (batch.first_number >= numbers_.end()) return;
    bytes_.clear();
    offsets_.assign(1, 0);
    left_.clear();
    for (uint64_t i = 0; i < batch.size(); i++) {
      if (numbers_.contains(batch.first_number + i)) continue;
      const std::span<const uint8_t> input =
          batch.bytes.subspan(batch.offsets[i], batch.offsets[i + 1] - batch.offsets[i]);
      bytes_.insert(bytes_.end(), input.begin(), input.end());
      offsets_.push_back(bytes_.size());
      left_.push_back(batch.first_number + i);
    }
    batch.bytes = bytes_;
    batch.offsets = offsets_;
    batch.numbers = left_;
  }

 private:
  NumberSet numbers_;
  uint64_t digests_ = 0;
  int highest_status_ = 0;
  std::vector<uint8_t> bytes_;  // this and what follows: of the last batch
  std::vector<uint64_t> offsets_, left_;
};

class DigestResults final : public QueueResults {
 public:
  DigestResults(InputFeeder& feeder, const QueueCommand& command)
      : feeder_(feeder),
        group_(command.group),
        finished_(read_finished(command)),
        file_(label(command), command.results, finished_.digests()) {
    highest_ = finished_.highest_status();
    command.job.keep(command.results, finished_.digests() != 0);
  }

  QueueProgress work_off(InputQueue& queue, const QueueOptions& options, const Output::Requests&) override {
    SourceWrites writes(queue);
    BatchSource inputs = [this](InputBatch& batch, bool idle) { return next(batch, idle); };
    if (group_) inputs = myriarm::grouped(std::move(inputs));
    const BatchSource source = [&, this](InputBatch& batch, bool idle) {
      // The next digests, and the next input, may take long.
      if (!writes.done([this] { file_.flush(); })) return Supply::ended;
      const Supply supply = inputs(batch, idle);
      inputs_ended_ = supply == Supply::ended;
      return supply;
    };
    const DigestSink sink = [this](std::span<const InputDigest> digests) {
      for (const InputDigest& digest : digests) highest_ = std::max(highest_, exit_status(digest.stop()));
      file_.write(digests);
      if (inputs_ended_) file_.flush();
      return true;
    };
    try {
      const QueueProgress progress = queue.digest(source, sink, options);
      writes.rethrow();
      return progress;
    } catch (const Error&) {
      file_.flush();
      throw;
    }
  }
  void finish() override {
    file_.flush();
    file_.close();
  }
  std::optional<uint64_t> expected() const override { return feeder_.expected(); }
  uint64_t earlier() const override { return finished_.digests(); }
  int highest_status() const override { return highest_; }

 private:
  static std::string label(const QueueCommand& command) { return "--results: " + command.results; }

  static Finished read_finished(const QueueCommand& command) {
    Finished finished;
    std::error_code error;
    if (!command.resume || !std::filesystem::is_regular_file(command.results, error)) return finished;
    NpyFile::read(label(command), command.results, [&](const InputDigest& digest) { finished.add(digest); });
    if (finished.digests() != 0) command.job.check(command.results);
    return finished;
  }

  /// The next inputs that have no digest.
  Supply next(InputBatch& batch, bool idle) {
    Supply supply;
    do {
      supply = feeder_.next_batch(batch, idle);
      if (supply == Supply::input) finished_.leave_out_of(batch);
    } while (supply == Supply::input && batch.size() == 0);
    return supply;
  }

  InputFeeder& feeder_;
  const bool group_;
  Finished finished_;
  NpyFile file_;
  bool inputs_ended_ = false;
  int highest_ = 0;
};

}  // namespace

bool wants_digests(const QueueCommand& command) { return command.results.ends_with(".npy"); }

int run_digests(const ElfImage& image, std::span<const FleetOptions> fleets, LinuxOptions process, InputFeeder& feeder,
                const QueueCommand& command) {
  DigestResults results(feeder, command);
  return run_session(image, fleets, std::move(process), results, command);
}

}  // namespace myriarm::cli
