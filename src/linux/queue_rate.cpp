// SPDX-License-Identifier: Apache-2.0
#include "myriarm/queue_rate.h"

namespace myriarm {

void QueueRate::add(double seconds, uint64_t done, uint64_t instructions) {
  constexpr double kPoints = 100;
  last_ = {seconds, done, instructions};
  if (points_.empty() || seconds - points_.back().seconds >= window_ / kPoints) points_.push_back(*last_);
  while (points_.size() > 1 && points_[1].seconds <= seconds - window_) points_.pop_front();
}

double QueueRate::rate_of(uint64_t Point::*count) const {
  if (!last_ || last_->seconds <= points_.front().seconds) return 0;
  return static_cast<double>((*last_).*count - points_.front().*count) / (last_->seconds - points_.front().seconds);
}
double QueueRate::inputs_per_second() const { return rate_of(&Point::done); }
double QueueRate::instructions_per_second() const { return rate_of(&Point::instructions); }

std::optional<double> QueueRate::seconds_for(uint64_t inputs) const {
  const double rate = inputs_per_second();
  if (rate <= 0) return std::nullopt;
  return static_cast<double>(inputs) / rate;
}

}  // namespace myriarm
