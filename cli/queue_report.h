// SPDX-License-Identifier: Apache-2.0
// What `myriarm run` says about a queue: a line while it runs, the summary at its end, the JSON of --json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "myriarm/queue.h"
#include "myriarm/queue_rate.h"
#include "myriarm/shared_queue.h"
#include "output.h"

namespace myriarm::cli {

/// The line of progress, on a terminal.
class QueueLine {
 public:
  /// `left`: how many inputs have no result yet; nothing if that is not known.
  void show(const QueueProgress& progress, std::optional<uint64_t> left);
  /// Removes it.
  void clear() const;

 private:
  QueueRate rate_;
  double next_ = 0;  // seconds at which it is drawn again
};

/// How far a queue was at times that lie evenly apart, for --json: at most 128 of them, however long it runs.
class QueueHistory {
 public:
  void add(const QueueProgress& progress);
  std::span<const QueueProgress> points() const { return points_; }

 private:
  std::vector<QueueProgress> points_;
  double apart_ = 0.01;  // seconds
};

/// A queue that has ended.
struct QueueEnd {
  QueueProgress progress;
  std::span<const FleetOptions> fleets;
  uint64_t earlier = 0;  ///< inputs whose results an earlier run has left
  std::vector<DeviceFailure> failures;
  std::map<std::string, UnimplementedCall> unimplemented;
  QueueHistory history;
};
void print_queue_summary(const QueueEnd& end, Output& to);
void write_queue_json(const QueueEnd& end, Output& to);

}  // namespace myriarm::cli
