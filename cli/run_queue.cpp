// SPDX-License-Identifier: Apache-2.0
#include "run_queue.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "collected.h"
#include "file.h"
#include "lane_report.h"
#include "myriarm/likeness.h"
#include "number_set.h"

namespace myriarm::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// What an earlier run has left: complete lines, each of which names its input.
struct Finished {
  NumberSet numbers;
  uint64_t bytes = 0;      ///< of the complete lines
  int highest_status = 0;  ///< of these inputs
};

Finished read_finished(const std::string& path) {
  Finished finished;
  std::ifstream file(path, std::ios::binary);
  std::string line;
  while (std::getline(file, line) && !file.eof()) {  // a line without its newline was cut off
    const ordered_json entry = ordered_json::parse(line, nullptr, false);
    if (entry.is_discarded() || !entry.is_object() || !entry.contains("number") ||
        !entry["number"].is_number_unsigned() || outcome_in(entry).stop.reason == StopReason::none) {
      throw ArgumentError(
          fmt::format("--resume: {} has a line that is no result of a queue; give the file of an earlier run", path));
    }
    finished.numbers.add(entry["number"].get<uint64_t>());
    finished.highest_status = std::max(finished.highest_status, exit_status(outcome_in(entry)));
    finished.bytes += line.size() + 1;
  }
  return finished;
}

class JsonResults final : public QueueResults {
 public:
  JsonResults(InputFeeder& feeder, const QueueCommand& command) : feeder_(feeder), command_(command) { open(); }

  QueueProgress work_off(InputQueue& queue, const QueueOptions& options, const Output::Requests& requests) override {
    out_.emplace(file_ ? file_.descriptor() : STDOUT_FILENO, label(), Output::Failure::is_thrown, requests);
    SourceWrites writes(queue);
    QueueSource inputs = [this](ProcessInput& input, uint64_t& number, bool idle) { return next(input, number, idle); };
    if (command_.group) inputs = myriarm::grouped(std::move(inputs));
    const QueueSource source = [&, this](ProcessInput& input, uint64_t& number, bool idle) {
      // Results that have come leave now: the next ones may take long, and so may the next input.
      if (!writes.done([this] { out_->flush(); })) return Supply::ended;
      const Supply supply = inputs(input, number, idle);
      inputs_ended_ = supply == Supply::ended;
      return supply;
    };
    const QueueProgress progress = queue.run(
        source, [this](QueueResult& result) { return write(result); }, options);
    writes.rethrow();
    return progress;
  }
  void finish() override {
    out_->flush();
    close_results(label(), file_);
  }
  std::optional<uint64_t> expected() const override { return feeder_.expected(); }
  uint64_t earlier() const override { return finished_.numbers.size(); }
  int highest_status() const override { return highest_; }

 private:
  std::string path() const {
    return command_.output_dir.empty() ? command_.results : (fs::path(command_.output_dir) / "results.jsonl").string();
  }
  std::string label() const {
    return path() == "-" ? "standard output"
                         : (command_.output_dir.empty() ? "--results: " : "--output-dir: ") + path();
  }

  void open() {
    if (path() == "-") {
      if (command_.resume) {
        throw ArgumentError(
            "--resume: what went to standard output is not known; give --results FILE or --output-dir DIR");
      }
      return;
    }
    if (!command_.output_dir.empty()) {
      std::error_code error;
      fs::create_directories(command_.output_dir, error);
      if (error) {
        throw ArgumentError(fmt::format("--output-dir: {} cannot be made ({}); give a path in a writable folder",
                                        command_.output_dir, error.message()));
      }
    }
    if (command_.resume && fs::exists(path())) finished_ = read_finished(path());
    if (finished_.bytes != 0) command_.job.check(path());
    highest_ = finished_.highest_status;
    file_ = open_results(label(), path(), command_.resume ? O_CREAT : O_CREAT | O_TRUNC);
    const auto cut = [&] {  // what is behind the last complete line
      return ::ftruncate(file_.descriptor(), static_cast<off_t>(finished_.bytes)) == 0 &&
             ::lseek(file_.descriptor(), 0, SEEK_END) >= 0;
    };
    if (command_.resume && !cut()) {
      throw ArgumentError(
          fmt::format("{} cannot be written ({}); give a path in a writable folder", label(), std::strerror(errno)));
    }
    command_.job.keep(path(), finished_.bytes != 0);
  }

  Supply next(ProcessInput& input, uint64_t& number, bool idle) {
    std::string name;
    do {
      if (!feeder_.is_ready(idle)) return Supply::later;
      if (!feeder_.next(input, name, number)) return Supply::ended;
    } while (finished_.numbers.contains(number));
    if (!name.empty()) names_[number] = std::move(name);
    return Supply::input;
  }

  bool write(const QueueResult& result) {
    ordered_json entry = {{"number", result.number}};
    if (const auto name = names_.extract(result.number); !name.empty()) entry["input"] = name.mapped();
    add_outcome(entry, result.outcome, result.instructions, result.pc);
    add_fault(entry, result.outcome.stop);
    highest_ = std::max(highest_, exit_status(result.outcome));
    // The outputs first: a result that is in results.jsonl is complete.
    if (!command_.output_dir.empty()) {
      save(result.number, "stdout", result.standard_output);
      save(result.number, "stderr", result.standard_error);
      if (!result.files.empty()) write_collected(command_.output_dir, result.number, result.files);
    }
    out_->write(open_object(entry));
    if (command_.output_dir.empty()) write_streams(result.standard_output, result.standard_error, *out_);
    out_->write("}\n");
    if (inputs_ended_) out_->flush();
    return true;
  }

  void save(uint64_t number, const char* stream, std::span<const uint8_t> bytes) const {
    const std::string file = (fs::path(command_.output_dir) / fmt::format("{}.{}", number, stream)).string();
    File output(file, O_CREAT | O_TRUNC);
    if (output) {
      Output to(output.descriptor(), "--output-dir: " + file);
      to.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      to.flush();
      if (output.close()) return;
    }
    throw Error(
        fmt::format("--output-dir: {} cannot be written ({}); free some space there", file, std::strerror(errno)));
  }

  InputFeeder& feeder_;
  const QueueCommand& command_;
  File file_;
  std::optional<Output> out_;
  Finished finished_;
  bool inputs_ended_ = false;
  std::map<uint64_t, std::string> names_;  // of inputs that have no result yet
  int highest_ = 0;
};

}  // namespace

int run_queue(const ElfImage& image, std::span<const FleetOptions> fleets, LinuxOptions process, InputFeeder& feeder,
              const QueueCommand& command) {
  JsonResults results(feeder, command);
  return run_session(image, fleets, std::move(process), results, command);
}

}  // namespace myriarm::cli
