// SPDX-License-Identifier: Apache-2.0
// Gathers the inputs of a source in windows, for both kinds of source. likeness.cpp has the order of a window.
#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "linux/batches.h"
#include "linux/likeness.h"
#include "linux/source_end.h"
#include "myriarm/fleet.h"
#include "myriarm/likeness.h"

namespace myriarm {
namespace {

using linux_process::order_by_likeness;
using Bytes = std::span<const uint8_t>;

enum class Step : uint8_t { more, full, later, ended };

/// When a window ends, whatever it holds. A Form has:
///   Step take(Gathering& gathering, bool idle)   takes more from the source. If it throws, it has lost nothing
///   bool is_empty()                              it holds no input
///   bool give_as_it_is()                         there is no memory to hold an input: holds what needs none; false: there is none
class Gathering {
 public:
  explicit Gathering(const GroupOptions& limits) : limits_(limits) {
    if (limits.inputs == 0 || limits.bytes == 0) {
      throw ArgumentError("a group of inputs has room for none; give inputs and bytes above 0");
    }
  }

  /// Fills an empty window as far as the source goes. Supply::input: it is not empty any more.
  template <class Form>
  Supply fill(Form& form, bool idle) {
    try {
      for (Step step = ended_ ? Step::ended : Step::more; step == Step::more;) {
        step = form.take(*this, idle && form.is_empty());
        ended_ = step == Step::ended;
      }
    } catch (const std::bad_alloc&) {
      halve();
      if (form.is_empty() && !form.give_as_it_is()) throw;
    }
    if (!form.is_empty()) return Supply::input;
    if (!std::exchange(ended_, false)) return Supply::later;
    std::exchange(source_end_, {}).rethrow();
    return Supply::ended;
  }

  // For the forms.
  /// Asks the source. What that throws comes when all that is held was given.
  template <class Ask>
  Supply ask(const Ask& ask_source) {
    return source_end_.ask(ask_source);
  }
  const GroupOptions& limits() const { return limits_; }
  /// There was too little memory.
  void halve() {
    limits_.inputs = std::max<uint64_t>(limits_.inputs / 2, 1);
    limits_.bytes = std::max<uint64_t>(limits_.bytes / 2, 1);
  }

 private:
  GroupOptions limits_;
  bool ended_ = false;  // the source has; that was not told
  linux_process::SourceEnd source_end_;
};

/// The step that follows from a source that has given nothing.
Step step_of(Supply supply) { return supply == Supply::later ? Step::later : Step::ended; }

class GroupedBatches {
 public:
  GroupedBatches(BatchSource source, const GroupOptions& options) : source_(std::move(source)), gathering_(options) {}

  Supply next(InputBatch& batch, bool idle) {
    if (given_ == parts_.size()) {
      parts_.clear();
      as_it_is_ = {};
      given_ = inputs_ = bytes_ = 0;
      const Supply supply = gathering_.fill(*this, idle);
      if (supply != Supply::input) return supply;
      sort();
    }
    batch = as_it_is_.size() != 0 ? as_it_is_ : parts_[given_++].batch();
    return Supply::input;
  }

  Step take(Gathering& gathering, bool idle) {
    if (taken_ == batch_.size()) {
      batch_ = {};
      taken_ = 0;
      const Supply supply = gathering.ask([&] {
        const Supply has = source_(batch_, idle);
        if (has != Supply::input) return has;
        linux_process::check_size(batch_);
        check_batch(batch_);
        return has;
      });
      if (supply != Supply::input) {
        batch_ = {};
        return step_of(supply);
      }
    }
    if (!is_empty() && batch_.as_file != parts_.front().as_file) return Step::full;
    uint64_t end = taken_, bytes = bytes_;
    for (; end < batch_.size() && inputs_ + end - taken_ < gathering.limits().inputs; end++) {
      const uint64_t size = kInputBytes + 2 * (batch_.offsets[end + 1] - batch_.offsets[end]);
      if (size > gathering.limits().bytes - bytes) break;
      bytes += size;
    }
    if (end == taken_) {
      if (is_empty()) hold_as_it_is(taken_ + 1);
      return Step::full;
    }
    Part part(end - taken_, batch_.offsets[end] - batch_.offsets[taken_], batch_.as_file);
    for (uint64_t i = taken_; i < end; i++) {
      part.add(batch_.bytes.subspan(batch_.offsets[i], batch_.offsets[i + 1] - batch_.offsets[i]),
               linux_process::number_of(batch_, i));
    }
    parts_.push_back(std::move(part));
    inputs_ += end - taken_;
    bytes_ = bytes;
    taken_ = end;
    return end < batch_.size() || inputs_ == gathering.limits().inputs ? Step::full : Step::more;
  }

  bool is_empty() const { return parts_.empty() && as_it_is_.size() == 0; }

  bool give_as_it_is() {
    if (taken_ == batch_.size()) return false;
    hold_as_it_is(batch_.size());
    return true;
  }

 private:
  /// Inputs that lie one after the other.
  struct Part {
    Part(uint64_t inputs, uint64_t size, bool file) : as_file(file) {
      bytes.reserve(size);
      offsets.reserve(inputs + 1);
      offsets.push_back(0);
      numbers.reserve(inputs);
    }
    void add(Bytes input, uint64_t number) {
      bytes.insert(bytes.end(), input.begin(), input.end());
      offsets.push_back(bytes.size());
      numbers.push_back(number);
    }
    Bytes input(uint64_t place) const {
      return Bytes(bytes).subspan(offsets[place], offsets[place + 1] - offsets[place]);
    }
    InputBatch batch() const { return {0, bytes, offsets, as_file, numbers}; }

    std::vector<uint8_t> bytes;
    std::vector<uint64_t> offsets, numbers;
    bool as_file;
  };

  /// Of an input, beside its bytes: offset and number, in both orders, and while they are sorted where it is.
  static constexpr uint64_t kInputBytes =
      4 * sizeof(uint64_t) + sizeof(Bytes) + sizeof(uint64_t) + linux_process::kOrderBytes;

  /// The source's bytes stay, since it is asked again only for the next window.
  void hold_as_it_is(uint64_t end) {
    as_it_is_ = linux_process::part_of(batch_, taken_, end);
    taken_ = end;
  }

  void sort() {
    if (inputs_ < 2) return;
    try {
      std::vector<Bytes> inputs;
      std::vector<uint64_t> numbers;
      inputs.reserve(inputs_);
      numbers.reserve(inputs_);
      uint64_t size = 0;
      for (const Part& part : parts_) {
        for (uint64_t i = 0; i < part.numbers.size(); i++) inputs.push_back(part.input(i));
        numbers.insert(numbers.end(), part.numbers.begin(), part.numbers.end());
        size += part.bytes.size();
      }
      const std::vector<uint64_t> order = order_by_likeness(inputs, numbers);
      Part sorted(inputs_, size, parts_.front().as_file);
      for (const uint64_t place : order) sorted.add(inputs[place], numbers[place]);
      parts_.clear();
      parts_.push_back(std::move(sorted));
    } catch (const std::bad_alloc&) {
      gathering_.halve();  // they are given as they came
    }
  }

  const BatchSource source_;
  Gathering gathering_;
  InputBatch batch_;    // of the source
  uint64_t taken_ = 0;  // inputs of it
  // The window:
  std::vector<Part> parts_;
  uint64_t given_ = 0;               // of the parts
  InputBatch as_it_is_;              // in place of parts
  uint64_t inputs_ = 0, bytes_ = 0;  // of the parts; bytes as GroupOptions counts
};

class GroupedInputs {
 public:
  GroupedInputs(QueueSource source, const GroupOptions& options) : source_(std::move(source)), gathering_(options) {}

  Supply next(ProcessInput& input, uint64_t& number, bool idle) {
    if (given_ == inputs_.size()) {
      inputs_.clear();
      order_.clear();
      given_ = bytes_ = 0;
      if (!next_) next_ = number;
      const Supply supply = gathering_.fill(*this, idle);
      if (supply == Supply::ended) next_.reset();
      if (supply != Supply::input) return supply;
      sort();
    }
    Numbered& next = inputs_[order_.empty() ? given_ : order_[given_]];
    given_++;
    number = next.number;
    input = std::move(next.input);
    return Supply::input;
  }

  Step take(Gathering& gathering, bool idle) {
    inputs_.emplace_back();  // before the source gives one, which would be lost if there were no memory
    Numbered& next = inputs_.back();
    if (left_over_) {
      next = *std::exchange(left_over_, std::nullopt);
    } else {
      next.number = *next_;
      const Supply supply = gathering.ask([&] { return source_(next.input, next.number, idle); });
      if (supply != Supply::input) {
        inputs_.pop_back();
        return step_of(supply);
      }
      next_ = next.number + 1;
    }
    const uint64_t size = kInputBytes + (is_in_pieces(next.input) ? 3 : 2) * size_of(next.input);
    if (inputs_.size() > 1 && size > gathering.limits().bytes - bytes_) {
      left_over_ = std::move(next);
      inputs_.pop_back();
      return Step::full;
    }
    bytes_ += std::min(size, gathering.limits().bytes);
    return inputs_.size() == gathering.limits().inputs || bytes_ == gathering.limits().bytes ? Step::full : Step::more;
  }

  bool is_empty() const { return inputs_.empty(); }
  bool give_as_it_is() { return false; }

 private:
  struct Numbered {
    uint64_t number = 0;
    ProcessInput input;
  };

  /// Of an input, beside its bytes: itself, its number, and while they are sorted where it is.
  static constexpr uint64_t kInputBytes =
      sizeof(Numbered) + sizeof(Bytes) + sizeof(std::vector<uint8_t>) + sizeof(uint64_t) + linux_process::kOrderBytes;

  /// Calls `take` with all bytes of an input.
  template <class Take>
  static void for_bytes(const ProcessInput& input, const Take& take) {
    for (const auto* words : {&input.arguments, &input.environment}) {
      if (!*words) continue;
      for (const std::string& word : **words) {  // with the NUL behind it
        take(Bytes(reinterpret_cast<const uint8_t*>(word.c_str()), word.size() + 1));
      }
    }
    for (const auto* bytes : {&input.file, &input.standard_input}) {
      if (*bytes) take(Bytes(**bytes));
    }
  }
  static uint64_t size_of(const ProcessInput& input) {
    uint64_t size = 0;
    for_bytes(input, [&](Bytes bytes) { size += bytes.size(); });
    return size;
  }
  static bool is_in_pieces(const ProcessInput& input) {
    return input.arguments || input.environment || (input.file && input.standard_input);
  }
  /// All bytes of an input, in `joined` if it is in pieces.
  static Bytes bytes_of(const ProcessInput& input, std::vector<uint8_t>& joined) {
    Bytes whole;
    if (!is_in_pieces(input)) {
      for_bytes(input, [&](Bytes bytes) { whole = bytes; });
      return whole;
    }
    joined.reserve(size_of(input));
    for_bytes(input, [&](Bytes bytes) { joined.insert(joined.end(), bytes.begin(), bytes.end()); });
    return joined;
  }

  void sort() {
    if (inputs_.size() < 2) return;
    try {
      std::vector<std::vector<uint8_t>> joined(inputs_.size());
      std::vector<Bytes> bytes;
      std::vector<uint64_t> numbers;
      bytes.reserve(inputs_.size());
      numbers.reserve(inputs_.size());
      for (size_t i = 0; i < inputs_.size(); i++) {
        bytes.push_back(bytes_of(inputs_[i].input, joined[i]));
        numbers.push_back(inputs_[i].number);
      }
      order_ = order_by_likeness(bytes, numbers);
    } catch (const std::bad_alloc&) {
      gathering_.halve();  // they are given as they came
    }
  }

  const QueueSource source_;
  Gathering gathering_;
  std::optional<uint64_t> next_;       // the least number of the source's next input; none: that of this source
  std::optional<Numbered> left_over_;  // did not fit in the last window
  // The window:
  std::vector<Numbered> inputs_;
  std::vector<uint64_t> order_;     // their places; empty: as they came
  uint64_t given_ = 0, bytes_ = 0;  // bytes as GroupOptions counts
};

}  // namespace

BatchSource grouped(BatchSource source, GroupOptions options) {
  const auto inputs = std::make_shared<GroupedBatches>(std::move(source), options);
  return [inputs](InputBatch& batch, bool idle) { return inputs->next(batch, idle); };
}

QueueSource grouped(QueueSource source, GroupOptions options) {
  const auto inputs = std::make_shared<GroupedInputs>(std::move(source), options);
  return [inputs](ProcessInput& input, uint64_t& number, bool idle) { return inputs->next(input, number, idle); };
}

}  // namespace myriarm
