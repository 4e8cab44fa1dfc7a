// SPDX-License-Identifier: Apache-2.0
// Where each input of SharedQueue::digest() is, as InputLedger for inputs that come and go many at a time. It keeps the bytes
// of an input until it has its digest, for another device if one fails. It knows neither threads nor devices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "linux/in_order.h"
#include "myriarm/inputs.h"

namespace myriarm::linux_process {

class DigestLedger {
 public:
  DigestLedger(bool ordered, uint64_t held_bytes) : ordered_(ordered), most_held_(held_bytes) {}

  /// Copies inputs that a device may begin with.
  void add(const InputBatch& batch) {
    auto inputs = std::make_shared<Inputs>();
    const auto bytes = batch.bytes.subspan(batch.offsets.front(), batch.offsets.back() - batch.offsets.front());
    inputs->bytes.assign(bytes.begin(), bytes.end());
    inputs->offsets.assign(batch.offsets.begin(), batch.offsets.end());
    for (uint64_t& offset : inputs->offsets) offset -= batch.offsets.front();
    inputs->numbers.assign(batch.numbers.begin(), batch.numbers.end());
    if (inputs->numbers.empty()) {
      inputs->numbers.resize(batch.size());
      std::iota(inputs->numbers.begin(), inputs->numbers.end(), batch.first_number);
    }
    inputs->tickets.resize(batch.size());
    std::iota(inputs->tickets.begin(), inputs->tickets.end(), tickets_);
    inputs->as_file = batch.as_file;
    tickets_ += batch.size();
    waiting_ += batch.size();
    bytes_waiting_ += inputs->bytes.size();
    waiting_parts_.push_back({std::move(inputs), 0, batch.size()});
  }

  /// At most so many inputs with which `device` begins next: such as were given back, if there are any. The bytes stay until
  /// the device has their digests and takes others. False: there are none now.
  bool take(size_t device, uint64_t most, InputBatch& batch) {
    Part part;
    if (!returned_.empty()) {
      auto first = returned_.extract(returned_.begin());
      part = cut(first.mapped(), most);
      give_back(std::move(first.mapped()));
    } else {
      if (waiting_parts_.empty() || held_bytes() > most_held_) return false;
      part = cut(waiting_parts_.front(), most);
      waiting_ -= part.size();
      bytes_waiting_ -= part.bytes();
      if (waiting_parts_.front().size() == 0) waiting_parts_.pop_front();
    }
    const Inputs& inputs = *part.inputs;
    batch = {part.numbers().front(), inputs.bytes, std::span(inputs.offsets).subspan(part.begin, part.size() + 1),
             inputs.as_file, part.numbers()};
    lent_[device] = part.inputs;
    running_ += part.size();
    begin(device, std::move(part));
    return true;
  }

  /// Takes a digest. False: `device` does not have that input, so another one gives its digest.
  bool put(size_t device, const InputDigest& digest) {
    // Most often the first one has it: where numbers rise, their ranges are disjoint.
    for (auto at = by_number_.upper_bound(digest.number); at != by_number_.begin();) {
      --at;
      if (digest.number - at->first >= widest_) return false;
      const auto found = flights_.find(at->second);
      Flight& flight = found->second;
      const std::optional<size_t> place = flight.device == device ? flight.find(digest.number) : std::nullopt;
      if (!place) continue;
      const uint64_t ticket = flight.part.inputs->tickets[flight.part.begin + *place];
      flight.ended[*place] = true;
      running_--;
      if (--flight.left == 0) {
        by_number_.erase(at);
        flights_.erase(found);
      }
      held_++;
      if (ordered_) in_order_.put(ticket, digest);
      else ready_.push_back(digest);
      return true;
    }
    return false;
  }

  /// The digests that are to be passed on next, as many as there are.
  std::vector<InputDigest> pass_on() {
    std::vector<InputDigest> ready = std::exchange(ready_, {});
    while (ordered_) {
      const std::optional<InputDigest> next = in_order_.take();
      if (!next) break;
      ready.push_back(*next);
    }
    held_ -= ready.size();
    return ready;
  }

  /// What `device` has begun with gets its digest from another.
  void give_back(size_t device) {
    for (auto flight = flights_.begin(); flight != flights_.end();) {
      const auto next = std::next(flight);
      if (flight->second.device == device) {
        running_ -= flight->second.left;
        give_back(rest_of(flight->second));
        by_number_.erase(flight->second.by_number);
        flights_.erase(flight);
      }
      flight = next;
    }
  }
  /// An input that was given back cannot run. With `ordered`, no digest behind it is passed on.
  void end_before(uint64_t ticket) {
    auto part = returned_.extract(ticket);
    if (part.empty()) return;
    part.mapped().begin++;
    give_back(std::move(part.mapped()));
  }
  /// The ticket of the first input with which `device` has begun and that has no digest.
  std::optional<uint64_t> first_with(size_t device) const {
    for (const auto& [ticket, flight] : flights_) {
      if (flight.device == device) return flight.first_outstanding();
    }
    return std::nullopt;
  }

  /// Whether an input before the one with this ticket has begun, and has no digest.
  bool any_outstanding_below(uint64_t ticket) const {
    return (!flights_.empty() && flights_.begin()->second.first_outstanding() < ticket) ||
           (!returned_.empty() && returned_.begin()->first < ticket);
  }
  /// Whether no input is without a digest. There may be digests that were not passed on.
  bool all_have_results() const { return waiting_parts_.empty() && flights_.empty() && returned_.empty(); }
  bool is_empty() const { return all_have_results() && held_ == 0; }
  uint64_t running() const { return running_; }
  uint64_t waiting() const { return waiting_; }
  uint64_t bytes_waiting() const { return bytes_waiting_; }

 private:
  struct Inputs {
    std::vector<uint8_t> bytes;
    std::vector<uint64_t> offsets;           // one more than there are inputs
    std::vector<uint64_t> numbers, tickets;  // a ticket is how many inputs came before it; tickets rise
    bool as_file = false;
  };
  /// Those from `begin` on and before `end`.
  struct Part {
    std::shared_ptr<const Inputs> inputs;
    size_t begin = 0, end = 0;

    size_t size() const { return end - begin; }
    uint64_t bytes() const { return inputs->offsets[end] - inputs->offsets[begin]; }
    std::span<const uint64_t> numbers() const { return std::span(inputs->numbers).subspan(begin, size()); }
    uint64_t first_ticket() const { return inputs->tickets[begin]; }
  };
  struct Flight {
    Flight(size_t which, Part inputs) : device(which), part(std::move(inputs)), ended(part.size()), left(part.size()) {
      if (std::is_sorted(part.numbers().begin(), part.numbers().end())) return;
      places.resize(part.size());
      std::iota(places.begin(), places.end(), 0);
      std::sort(places.begin(), places.end(), [this](size_t a, size_t b) { return number(a) < number(b); });
    }

    size_t device;
    Part part;
    std::vector<bool> ended;     // of each input of the part
    uint64_t left;               // how many have not
    std::vector<size_t> places;  // of the inputs by number; empty: as they are
    std::multimap<uint64_t, uint64_t>::iterator by_number = {};

    uint64_t number(size_t place) const { return part.numbers()[place]; }
    uint64_t lowest() const { return number(places.empty() ? 0 : places.front()); }
    uint64_t highest() const { return number(places.empty() ? part.size() - 1 : places.back()); }
    /// The place of an input that has no digest.
    std::optional<size_t> find(uint64_t wanted) const {
      if (places.empty()) {
        // Most often there are no gaps.
        const uint64_t guess = wanted - lowest();
        if (guess < part.size() && number(guess) == wanted && !ended[guess]) return guess;
      }
      for (size_t at = first_from(wanted); at < part.size() && number(place(at)) == wanted; at++) {
        if (!ended[place(at)]) return place(at);
      }
      return std::nullopt;
    }
    uint64_t first_outstanding() const {
      const auto first = std::find(ended.begin(), ended.end(), false);
      return part.inputs->tickets[part.begin + static_cast<size_t>(first - ended.begin())];
    }

   private:
    size_t place(size_t at) const { return places.empty() ? at : places[at]; }
    /// Of the inputs by number, the first whose number is not below this one.
    size_t first_from(uint64_t wanted) const {
      const auto numbers = part.numbers();
      if (places.empty())
        return static_cast<size_t>(std::lower_bound(numbers.begin(), numbers.end(), wanted) - numbers.begin());
      const auto is_below = [&](size_t place, uint64_t than) { return numbers[place] < than; };
      return static_cast<size_t>(std::lower_bound(places.begin(), places.end(), wanted, is_below) - places.begin());
    }
  };

  uint64_t held_bytes() const { return held_ * sizeof(InputDigest); }

  /// Takes at most so many inputs from the beginning of a part.
  static Part cut(Part& from, uint64_t most) {
    Part part = from;
    part.end = part.begin + std::min<uint64_t>(part.size(), std::max<uint64_t>(most, 1));
    from.begin = part.end;
    return part;
  }
  void give_back(Part part) {
    if (part.size() == 0) return;
    const uint64_t ticket = part.first_ticket();
    returned_.emplace(ticket, std::move(part));
  }
  void begin(size_t device, Part part) {
    const uint64_t ticket = part.first_ticket();
    Flight& flight = flights_.emplace(ticket, Flight(device, std::move(part))).first->second;
    flight.by_number = by_number_.emplace(flight.lowest(), ticket);
    widest_ = std::max(widest_, flight.highest() - flight.lowest() + 1);
  }
  /// The inputs of a flight that have no digest.
  static Part rest_of(const Flight& flight) {
    if (flight.left == flight.part.size()) return flight.part;
    const Inputs& from = *flight.part.inputs;
    auto rest = std::make_shared<Inputs>();
    rest->as_file = from.as_file;
    rest->offsets.push_back(0);
    for (size_t i = flight.part.begin; i < flight.part.end; i++) {
      if (flight.ended[i - flight.part.begin]) continue;
      rest->bytes.insert(rest->bytes.end(), from.bytes.begin() + static_cast<ptrdiff_t>(from.offsets[i]),
                         from.bytes.begin() + static_cast<ptrdiff_t>(from.offsets[i + 1]));
      rest->offsets.push_back(rest->bytes.size());
      rest->numbers.push_back(from.numbers[i]);
      rest->tickets.push_back(from.tickets[i]);
    }
    return {rest, 0, rest->numbers.size()};
  }

  const bool ordered_;
  const uint64_t most_held_;
  std::deque<Part> waiting_parts_;               // not begun, with tickets above all in the maps
  std::map<uint64_t, Part> returned_;            // by the first ticket, as the following
  std::map<uint64_t, Flight> flights_;           // what devices have
  std::multimap<uint64_t, uint64_t> by_number_;  // the tickets of flights by their lowest numbers
  uint64_t widest_ = 0;  // how many numbers lie between the lowest and the highest of a flight, with both, at most
  std::map<size_t, std::shared_ptr<const Inputs>> lent_;  // by device, what it was given last
  InOrder<InputDigest> in_order_;
  std::vector<InputDigest> ready_;  // without `ordered`
  uint64_t tickets_ = 0, waiting_ = 0, bytes_waiting_ = 0, running_ = 0;
  uint64_t held_ = 0;  // digests that were not passed on
};

}  // namespace myriarm::linux_process
