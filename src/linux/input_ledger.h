// SPDX-License-Identifier: Apache-2.0
// Where each input of a SharedQueue is: not begun, with a device, given back by a device that failed, or with its result.
// It decides which input begins next, and which result is passed on next. It knows neither threads nor devices. A ticket is
// how many inputs came before one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "myriarm/queue.h"

namespace myriarm::linux_process {

class InputLedger {
 public:
  InputLedger(bool ordered, uint64_t held_bytes) : ordered_(ordered), most_held_(held_bytes) {}

  /// An input that a device may begin with. Throws ArgumentError if another without a result has this number.
  void add(uint64_t number, ProcessInput input) {
    if (!tickets_of_.emplace(number, tickets_).second) {
      throw ArgumentError("two inputs of the queue have the number " + std::to_string(number) + "; give each its own");
    }
    bytes_waiting_ += size_of(input);
    waiting_.push_back({tickets_++, number, std::move(input)});
  }

  /// The input with which `device` begins next: one that was given back, if there is any. False: there is none now.
  bool take(size_t device, ProcessInput& input, uint64_t& number) {
    if (!returned_.empty()) {
      begin(device, std::move(returned_.extract(returned_.begin()).mapped()), input, number);
      return true;
    }
    if (waiting_.empty() || held_ > most_held_) return false;
    Given next = std::move(waiting_.front());
    waiting_.pop_front();
    bytes_waiting_ -= size_of(next.input);
    begin(device, std::move(next), input, number);
    return true;
  }

  /// Takes a result. False: `device` does not have that input, so another one gives its result.
  bool put(size_t device, QueueResult result) {
    const auto place = tickets_of_.find(result.number);
    if (place == tickets_of_.end()) return false;
    const auto flight = flights_.find(place->second);
    if (flight == flights_.end() || flight->second.device != device) return false;
    held_ += size_of(result);
    ready_.emplace(flight->first, std::move(result));
    flights_.erase(flight);
    tickets_of_.erase(place);
    return true;
  }

  /// The next result to be passed on, if it is there.
  std::optional<QueueResult> pass_on() {
    if (ready_.empty()) return std::nullopt;
    const uint64_t ticket = ready_.begin()->first;
    if (ordered_ && (ticket > end_ || any_outstanding_below(ticket))) return std::nullopt;
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
        returned_.emplace(node.key(), std::move(node.mapped().given));
      }
      flight = next;
    }
  }
  /// An input that was given back cannot run. With `ordered`, no result behind it is passed on.
  void end_before(uint64_t ticket) {
    if (const auto found = returned_.extract(ticket); !found.empty()) tickets_of_.erase(found.mapped().number);
    end_ = std::min(end_, ticket);
  }
  /// The ticket of the first input with which `device` has begun and that has no result.
  std::optional<uint64_t> first_with(size_t device) const {
    for (const auto& [ticket, flight] : flights_) {
      if (flight.device == device) return ticket;
    }
    return std::nullopt;
  }

  /// Whether an input before the one with this ticket has begun, and has no result.
  bool any_outstanding_below(uint64_t ticket) const {
    return (!flights_.empty() && flights_.begin()->first < ticket) ||
           (!returned_.empty() && returned_.begin()->first < ticket);
  }
  /// Whether no input is without a result. There may be results that were not passed on.
  bool all_have_results() const { return waiting_.empty() && flights_.empty() && returned_.empty(); }
  bool is_empty() const { return all_have_results() && ready_.empty(); }
  uint64_t running() const { return flights_.size(); }
  uint64_t waiting() const { return waiting_.size(); }
  uint64_t bytes_waiting() const { return bytes_waiting_; }

 private:
  struct Given {
    uint64_t ticket, number;
    ProcessInput input;
  };
  struct Flight {
    size_t device;
    Given given;  // for another device, if this one fails
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
  void begin(size_t device, Given kept, ProcessInput& input, uint64_t& number) {
    input = kept.input;
    number = kept.number;
    const uint64_t ticket = kept.ticket;
    flights_.emplace(ticket, Flight{device, std::move(kept)});
  }

  const bool ordered_;
  const uint64_t most_held_;
  std::deque<Given> waiting_;                          // not begun, with tickets above all in the maps
  std::map<uint64_t, Given> returned_;                 // by ticket, as the following
  std::map<uint64_t, Flight> flights_;                 // what devices have
  std::map<uint64_t, QueueResult> ready_;              // results that were not passed on
  std::unordered_map<uint64_t, uint64_t> tickets_of_;  // of inputs without a result, by number
  uint64_t end_ = std::numeric_limits<uint64_t>::max();
  uint64_t tickets_ = 0;
  uint64_t bytes_waiting_ = 0;
  uint64_t held_ = 0;  // bytes of ready_
};

}  // namespace myriarm::linux_process
