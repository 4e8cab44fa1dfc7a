// SPDX-License-Identifier: Apache-2.0
// What `myriarm run` does around a queue, in whichever form its results are written: devices, Ctrl-C, the line of
// progress, --json, the summary, the exit status.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>

#include "file.h"
#include "myriarm/queue.h"
#include "output.h"
#include "queue_job.h"

namespace myriarm::cli {

struct QueueCommand {
  std::string results;     ///< file of JSON lines, or of digests; "-" is standard output
  std::string output_dir;  ///< folder for the output of each input and for results.jsonl; `results` is then empty
  std::string json;        ///< file for an object about the whole run; "-" is standard output; empty: none
  bool unordered = false;
  bool group = false;  ///< inputs that resemble each other run at the same time; it implies `unordered`
  bool resume = false;
  bool quiet = false;
  bool ignore_unimplemented = false;
  uint64_t instructions = kEndless;  ///< of each input
  QueueJob job;
};

/// Gives a queue its inputs, and writes the results in one form.
class QueueResults {
 public:
  virtual ~QueueResults() = default;
  /// Works the inputs off.
  virtual QueueProgress work_off(InputQueue& queue, const QueueOptions& options, const Output::Requests& requests) = 0;
  /// Writes what is left. Throws Error if something could not be written.
  virtual void finish() = 0;
  /// See InputSource.
  virtual std::optional<uint64_t> expected() const = 0;
  /// How many results an earlier run has left.
  virtual uint64_t earlier() const { return 0; }
  /// The highest exit status of all inputs, also of an earlier run.
  virtual int highest_status() const = 0;
};

/// What the source of a queue writes before it reads the next input. What such a write throws ends the queue, while an
/// exception of a source would only end the inputs.
class SourceWrites {
 public:
  explicit SourceWrites(InputQueue& queue) : queue_(queue) {}
  /// False: it has thrown.
  template <class Write>
  bool done(const Write& write) {
    try {
      write();
      return true;
    } catch (...) {
      error_ = std::current_exception();
      queue_.cancel();
      return false;
    }
  }
  /// To be called when the queue has ended.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  InputQueue& queue_;
  std::exception_ptr error_;
};

/// Opens the file for results, of which messages speak as `label`. Throws ArgumentError.
File open_results(const std::string& label, const std::string& path, int flags);
/// Closes it. Throws Error if what was written is lost.
void close_results(const std::string& label, File& file);

/// Works the queue off on one device, or on several that share it, and returns the command's exit status. Throws
/// ArgumentError, DeviceError, or Error if results could not be written.
int run_session(const ElfImage& image, std::span<const FleetOptions> fleets, LinuxOptions process,
                QueueResults& results, const QueueCommand& command);

}  // namespace myriarm::cli
