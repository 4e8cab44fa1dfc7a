// SPDX-License-Identifier: Apache-2.0
#include "queue_session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "interrupt.h"
#include "lane_report.h"
#include "myriarm/shared_queue.h"
#include "queue_report.h"
#include "run_report.h"

namespace myriarm::cli {
namespace {

class Session {
 public:
  Session(QueueResults& results, const QueueCommand& command) : results_(results), command_(command) {
    if (command.json.empty() || command.json == "-") return;
    json_ = open_results(json_label(), command.json, O_CREAT | O_TRUNC);
  }

  int go(const ElfImage& image, std::span<const FleetOptions> fleets, LinuxOptions process) {
    const std::unique_ptr<InputQueue> queue = make_queue(image, fleets, std::move(process));
    Interrupt interrupt([&] { queue->cancel(); });
    QueueOptions options;
    options.ordered = !command_.unordered && !command_.group;
    options.instructions = command_.instructions;
    const bool bar = !command_.quiet && isatty(STDERR_FILENO);
    if (bar || !command_.json.empty()) {
      options.progress = [this, bar](const QueueProgress& now) {
        history_.add(now);
        if (bar) line_.show(now, inputs_left(now));
      };
    }
    const Output::Requests requests = [&] { return interrupt.count(); };
    QueueEnd end;
    try {
      end.progress = results_.work_off(*queue, options, requests);
      interrupt.run_has_ended();
      results_.finish();
      if (bar) line_.clear();
      end.fleets = fleets;
      end.earlier = results_.earlier();
      end.failures = failures_;
      end.history = history_;
      end.unimplemented = queue->unimplemented();
      write_json(end, requests);
    } catch (const WriteEnded&) {
      return interrupt.status();
    }
    Output err(STDERR_FILENO, "standard error", Output::Failure::is_ignored);
    if (!command_.ignore_unimplemented) print_unimplemented(end.unimplemented, err);
    if (!command_.quiet) print_queue_summary(end, err);
    return interrupt.count() != 0 ? interrupt.status() : results_.highest_status();
  }

 private:
  std::unique_ptr<InputQueue> make_queue(const ElfImage& image, std::span<const FleetOptions> fleets,
                                         LinuxOptions process) {
    if (fleets.size() == 1) return std::make_unique<Queue>(image, fleets[0], std::move(process));
    auto queue = std::make_unique<SharedQueue>(image, fleets, process);
    queue->on_failure([this](const DeviceFailure& failure) {
      failures_.push_back(failure);
      const char* clear = isatty(STDERR_FILENO) ? "\r\x1b[K" : "";  // the progress
      print_error("{}myriarm: {} takes no further part: {}; other devices get its inputs\n", clear, failure.name,
                  failure.reason);
    });
    return queue;
  }

  /// Inputs that have no result yet, as far as is known.
  std::optional<uint64_t> inputs_left(const QueueProgress& now) const {
    const std::optional<uint64_t> all = results_.expected();
    if (!all) return std::nullopt;
    return *all - std::min(*all, now.done + results_.earlier());
  }

  std::string json_label() const { return command_.json == "-" ? "standard output" : "--json: " + command_.json; }
  void write_json(const QueueEnd& end, const Output::Requests& requests) {
    if (command_.json.empty()) return;
    Output to(json_ ? json_.descriptor() : STDOUT_FILENO, json_label(), Output::Failure::is_thrown, requests);
    write_queue_json(end, to);
    to.flush();
    close_results(json_label(), json_);
  }

  QueueResults& results_;
  const QueueCommand& command_;
  File json_;
  QueueLine line_;
  QueueHistory history_;
  std::vector<DeviceFailure> failures_;
};

}  // namespace

File open_results(const std::string& label, const std::string& path, int flags) {
  File file(path, flags);
  if (file) return file;
  throw ArgumentError(
      fmt::format("{} cannot be written ({}); give a path in a writable folder", label, std::strerror(errno)));
}

void close_results(const std::string& label, File& file) {
  if (!file.close()) throw Error(label + " could not be written completely; free some space there");
}

int run_session(const ElfImage& image, std::span<const FleetOptions> fleets, LinuxOptions process,
                QueueResults& results, const QueueCommand& command) {
  return Session(results, command).go(image, fleets, std::move(process));
}

}  // namespace myriarm::cli
