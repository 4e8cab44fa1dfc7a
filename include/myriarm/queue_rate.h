// SPDX-License-Identifier: Apache-2.0
// How fast a queue is now, and how long it will take.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace myriarm {

/// The rates of a queue over the last tens of seconds. It has no clock: the times are those of QueueProgress.
class QueueRate {
 public:
  /// Forgets what is older than `window` seconds.
  explicit QueueRate(double window = 30) : window_(window) {}

  /// Notes how far the queue is: QueueProgress::seconds, ::done and ::instructions. Of times less than a hundredth of the
  /// window apart it keeps one.
  void add(double seconds, uint64_t done, uint64_t instructions);

  /// In the window; 0 if less than two times are known.
  double inputs_per_second() const;
  double instructions_per_second() const;
  /// How long so many inputs will take at this rate; nothing as long as no input has ended in the window.
  std::optional<double> seconds_for(uint64_t inputs) const;

 private:
  struct Point {
    double seconds;
    uint64_t done, instructions;
  };
  double rate_of(uint64_t Point::*count) const;

  double window_;
  std::deque<Point> points_;  // the first one is at the begin of the window, or before
  std::optional<Point> last_;
};

}  // namespace myriarm
