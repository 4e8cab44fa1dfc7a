// SPDX-License-Identifier: Apache-2.0
#include "queue_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "run_report.h"
#include "text.h"

namespace myriarm::cli {
namespace {

double per_second(uint64_t count, const QueueProgress& progress) {
  return static_cast<double>(count) / std::max(progress.seconds, 1e-9);
}

uint64_t lanes_of(const QueueEnd& end) {
  uint64_t lanes = 0;
  for (const FleetOptions& fleet : end.fleets) lanes += fleet.lanes;
  return lanes;
}

}  // namespace

void QueueLine::show(const QueueProgress& progress, std::optional<uint64_t> left) {
  constexpr double kBetween = 0.1;
  rate_.add(progress.seconds, progress.done, progress.instructions);
  if (progress.seconds < next_) return;
  next_ = progress.seconds + kBetween;
  const std::optional<double> seconds = left ? rate_.seconds_for(*left) : std::nullopt;
  print_error("\r{} done, {} running, {} failed, {} inputs/s, {} IPS{}, lanes idle {:.0f} %\x1b[K",
              grouped(progress.done), grouped(progress.running), grouped(progress.failed),
              with_unit(rate_.inputs_per_second()), with_unit(rate_.instructions_per_second()),
              seconds ? ", " + duration_text(*seconds) + " left" : "", 100 * progress.idle_share());
}

void QueueLine::clear() const { print_error("\r\x1b[K"); }

void QueueHistory::add(const QueueProgress& progress) {
  constexpr size_t kMost = 128;
  if (!points_.empty() && progress.seconds - points_.back().seconds < apart_) return;
  if (points_.size() == kMost) {
    for (size_t i = 0; i < kMost / 2; i++) points_[i] = points_[2 * i];
    points_.resize(kMost / 2);
    apart_ *= 2;
  }
  points_.push_back(progress);
}

void print_queue_summary(const QueueEnd& end, Output& to) {
  const QueueProgress& progress = end.progress;
  const auto line = [&](const char* name, const std::string& value) { to.print("{:<14}{}\n", name, value); };
  line("inputs", fmt::format("{} done, {} failed{}", grouped(progress.done), grouped(progress.failed),
                             end.earlier == 0 ? "" : fmt::format(", {} by an earlier run", grouped(end.earlier))));
  if (end.fleets.size() > 1) {
    std::string devices;
    for (const FleetOptions& fleet : end.fleets) devices += (devices.empty() ? "" : ", ") + fleet.device;
    line("devices", devices);
  }
  line("lanes", grouped(lanes_of(end)));
  line("instructions",
       fmt::format("{} ({})", grouped(progress.instructions), with_unit(static_cast<double>(progress.instructions))));
  line("seconds", fmt::format("{:.6f}", progress.seconds));
  line("inputs/s", with_unit(per_second(progress.done, progress)));
  line("IPS", with_unit(per_second(progress.instructions, progress)));
  if (progress.done == 0) return;
  line("longest", fmt::format("input {}: {} instructions, where the median is {}", progress.longest_number,
                              grouped(progress.longest_instructions), grouped(progress.median_instructions)));
  line("lanes idle", fmt::format("{:.1f} % of their time", 100 * progress.idle_share()));
}

void write_queue_json(const QueueEnd& end, Output& to) {
  using nlohmann::ordered_json;
  const QueueProgress& progress = end.progress;
  ordered_json devices = ordered_json::array(), failures = ordered_json::array(), history = ordered_json::array();
  for (const QueueProgress& at : end.history.points()) {
    history.push_back({{"seconds", at.seconds}, {"inputs", at.done}, {"instructions", at.instructions}});
  }
  for (const FleetOptions& fleet : end.fleets) devices.push_back({{"device", fleet.device}, {"lanes", fleet.lanes}});
  for (const DeviceFailure& failure : end.failures) {
    failures.push_back({{"device", failure.name}, {"reason", failure.reason}});
  }
  const ordered_json whole = {
      {"devices", devices},
      {"engine", name(end.fleets[0].engine)},
      {"lanes", lanes_of(end)},
      {"inputs", progress.done},
      {"failed", progress.failed},
      {"earlier", end.earlier},
      {"stopped_early", progress.stopped_early},
      {"instructions", progress.instructions},
      {"seconds", progress.seconds},
      {"ips", per_second(progress.instructions, progress)},
      {"inputs_per_second", per_second(progress.done, progress)},
      {"idle_share", progress.idle_share()},
      {"longest", progress.done == 0 ? ordered_json(nullptr)
                                     : ordered_json({{"number", progress.longest_number},
                                                     {"instructions", progress.longest_instructions}})},
      {"median_instructions", progress.median_instructions},
      {"history", history},
      {"device_failures", failures},
      {"unimplemented", unimplemented_json(end.unimplemented)},
  };
  to.write(whole.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace myriarm::cli
