// SPDX-License-Identifier: Apache-2.0
// Where each input of a SharedQueue is: not begun, with a device, given back by a device that failed, or with its result.
// It decides which input begins next, and which result is passed on next. It knows neither threads nor devices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "myriarm/queue.h"

namespace myriarm::linux_process {

class InputLedger {
 public:
  InputLedger(bool ordered, uint64_t held_bytes) : ordered_(ordered), most_held_(held_bytes) {}

  /// An input that a device may begin with. Its number is above those before it.
  void add(uint64_t number, ProcessInput input) {
    bytes_waiting_ += size_of(input);
    waiting_.emplace_back(number, std::move(input));
  }

  /// The input with which `device` begins next: one that was given back, if there is any. False: there is none now.
  bool take(size_t device, ProcessInput& input, uint64_t& number) {
    if (!returned_.empty()) {
      auto first = returned_.extract(returned_.begin());
      return begin(device, first.key(), std::move(first.mapped()), input, number);
    }
    if (waiting_.empty() || held_ > most_held_) return false;
    auto [next, given] = std::move(waiting_.front());
    waiting_.pop_front();
    bytes_waiting_ -= size_of(given);
    return begin(device, next, std::move(given), input, number);
  }

  /// Takes a result. False: `device` does not have that input, so another one gives its result.
  bool put(size_t device, QueueResult result) {
    const auto flight = flights_.find(result.number);
    if (flight == flights_.end() || flight->second.device != device) return false;
    flights_.erase(flight);
    held_ += size_of(result);
    const uint64_t number = result.number;
    ready_.emplace(number, std::move(result));
    return true;
  }

  /// The next result to be passed on, if it is there.
  std::optional<QueueResult> pass_on() {
    if (ready_.empty()) return std::nullopt;
    const uint64_t number = ready_.begin()->first;
    if (ordered_ && (number > end_ || any_outstanding_below(number))) return std::nullopt;
    QueueResult result = std::move(ready_.extract(ready_.begin()).mapped());
    held_ -= size_of(result);
    return result;
  }

  /// What `device` has begun with gets its result from another.
  void give_back(size_t device) {
    for (auto flight = flights_.begin(); flight != flights_.end();) {
      const auto next = std::next(flight);
      if (flight->second.device == device) {
        auto node = flights_.extract(flight);
        returned_.emplace(node.key(), std::move(node.mapped().input));
      }
      flight = next;
    }
  }
  /// An input that was given back cannot run. With `ordered`, no result behind it is passed on.
  void end_before(uint64_t number) {
    returned_.erase(number);
    end_ = std::min(end_, number);
  }
  /// The first input with which `device` has begun and that has no result.
  std::optional<uint64_t> first_with(size_t device) const {
    for (const auto& [number, flight] : flights_) {
      if (flight.device == device) return number;
    }
    return std::nullopt;
  }

  /// Whether an input below `number` has begun, and has no result.
  bool any_outstanding_below(uint64_t number) const {
    return (!flights_.empty() && flights_.begin()->first < number) ||
           (!returned_.empty() && returned_.begin()->first < number);
  }
  /// Whether no input is without a result. There may be results that were not passed on.
  bool all_have_results() const { return waiting_.empty() && flights_.empty() && returned_.empty(); }
  bool is_empty() const { return all_have_results() && ready_.empty(); }
  uint64_t running() const { return flights_.size(); }
  uint64_t waiting() const { return waiting_.size(); }
  uint64_t bytes_waiting() const { return bytes_waiting_; }

 private:
  struct Flight {
    size_t device;
    ProcessInput input;  // for another device, if this one fails
  };

  /// With the record itself: a process may write nothing.
  static uint64_t size_of(const QueueResult& result) { return sizeof result + result.bytes(); }
  static uint64_t size_of(const ProcessInput& input) {
    uint64_t size = sizeof input;
    for (const auto* bytes : {&input.standard_input, &input.file}) size += *bytes ? (*bytes)->size() : 0;
    for (const auto* words : {&input.arguments, &input.environment}) {
      if (!*words) continue;
      for (const std::string& word : **words) size += sizeof(std::string) + word.size();
    }
    return size;
  }
  bool begin(size_t device, uint64_t number, ProcessInput kept, ProcessInput& input, uint64_t& given_number) {
    input = kept;
    given_number = number;
    flights_.emplace(number, Flight{device, std::move(kept)});
    return true;
  }

  const bool ordered_;
  const uint64_t most_held_;
  std::deque<std::pair<uint64_t, ProcessInput>> waiting_;  // not begun, each with a number above all in the maps
  std::map<uint64_t, ProcessInput> returned_;              // by number, as the following
  std::map<uint64_t, Flight> flights_;                     // what devices have
  std::map<uint64_t, QueueResult> ready_;                  // results that were not passed on
  uint64_t end_ = std::numeric_limits<uint64_t>::max();
  uint64_t bytes_waiting_ = 0;
  uint64_t held_ = 0;  // bytes of ready_
};

}  // namespace myriarm::linux_process
