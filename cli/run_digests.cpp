// SPDX-License-Identifier: Apache-2.0
#include "run_digests.h"

#include <algorithm>
#include <utility>

#include "lane_report.h"
#include "npy_file.h"

namespace myriarm::cli {
namespace {

class DigestResults final : public QueueResults {
 public:
  DigestResults(InputFeeder& feeder, const QueueCommand& command)
      : feeder_(feeder), file_("--results: " + command.results, command.results) {}

  QueueProgress work_off(InputQueue& queue, const QueueOptions& options, const Output::Requests&) override {
    const BatchSource source = [this](InputBatch& batch, bool idle) {
      file_.flush();  // the next digests, and the next input, may take long
      const Supply supply = feeder_.next_batch(batch, idle);
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
      return queue.digest(source, sink, options);
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
  int highest_status() const override { return highest_; }

 private:
  InputFeeder& feeder_;
  NpyFile file_;
  bool inputs_ended_ = false;
  int highest_ = 0;
};

}  // namespace

bool wants_digests(const QueueCommand& command) { return command.results.ends_with(".npy"); }

int run_digests(const ElfImage& image, std::span<const FleetOptions> fleets, LinuxOptions process, InputFeeder& feeder,
                const QueueCommand& command) {
  if (command.resume) {
    throw ArgumentError(
        "--resume: a file of digests begins anew each time; leave it out, or give --results a name without .npy");
  }
  DigestResults results(feeder, command);
  return run_session(image, fleets, std::move(process), results, command);
}

}  // namespace myriarm::cli
