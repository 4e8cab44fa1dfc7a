// SPDX-License-Identifier: Apache-2.0
// The queue gives lanes their inputs between two rounds of LinuxFleet::run(), and holds back results that come before
// their turn.
#include "myriarm/queue.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <numeric>
#include <utility>

#include "linux/input_lengths.h"
#include "linux/input_number.h"
#include "linux/slice.h"
#include "linux/source_end.h"

namespace myriarm {

using linux_process::check_number;
using linux_process::kSlice;

/// One call of run(). The fleet calls ended() between two rounds, in each of which a lane goes on by kSlice instructions.
class Queue::Run {
 public:
  /// `collected`: paths of files that each result gets.
  Run(LinuxFleet& processes, const QueueSource& source, const QueueSink& sink, const QueueOptions& options,
      const std::vector<std::string>& collected)
      : processes_(processes), source_(source), sink_(sink), options_(options), collected_(collected) {
    free_.resize(processes.fleet().lanes());
    std::iota(free_.begin(), free_.end(), 0);
    numbers_.resize(free_.size());
    places_.resize(free_.size());
  }

  QueueProgress go() {
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    // No lane has an input yet, whatever an earlier run has left.
    processes_.fleet().set_stops(free_, std::vector<Stop>(free_.size(), {StopReason::exited, FaultKind::none, 0, 0}));
    LinuxRunOptions run;
    run.as_if_alone = true;
    run.on_ended = [this](std::span<const uint32_t> lanes) { return ended(lanes); };
    if (options_.progress) {
      run.progress = [&](const LinuxProgress& now) {
        progress_.instructions = now.instructions;
        progress_.seconds = seconds();
        options_.progress(progress_);
      };
    }
    const RunResult result = processes_.run(run);
    progress_.instructions = result.instructions;
    progress_.seconds = seconds();
    progress_.stopped_early |= progress_.running != 0 || more_;
    progress_.longest_number = lengths_.longest_number();
    progress_.longest_instructions = lengths_.longest();
    progress_.median_instructions = lengths_.median();
    if (progress_.stopped_early) return progress_;
    if (mistake_) std::rethrow_exception(mistake_);
    source_end_.rethrow();
    return progress_;
  }

 private:
  /// With the record itself: a process may write nothing, and there may be millions of them.
  static uint64_t size_of(const QueueResult& result) { return sizeof result + result.bytes(); }

  /// Takes the results of lanes that have ended, and gives free lanes further inputs. Returns the lanes that begin.
  std::vector<uint32_t> ended(std::span<const uint32_t> lanes) {
    const bool ran = progress_.running != 0;
    // Where others had to wait for their turn, a lane without an input cost nothing.
    const uint64_t left_out = processes_.lanes_left_out();
    const uint64_t lanes_of_round = left_out != 0 ? progress_.running - left_out : numbers_.size();
    const uint64_t longest = take_results(lanes);
    if (ran) progress_.lane_instructions += (progress_.running != 0 ? kSlice : longest) * lanes_of_round;
    free_.insert(free_.end(), lanes.begin(), lanes.end());
    if (!deliver()) {
      progress_.stopped_early = true;
      processes_.cancel();
      return {};
    }
    return begin_more();
  }

  /// Returns the most instructions that one of these lanes has retired since its last whole slice.
  uint64_t take_results(std::span<const uint32_t> lanes) {
    if (lanes.empty()) return 0;
    std::vector<uint64_t> counts(lanes.size()), pcs(lanes.size());
    processes_.fleet().get(Field::instructions, lanes, counts);
    processes_.fleet().get(Field::pc, lanes, pcs);
    uint64_t longest = 0;
    for (size_t i = 0; i < lanes.size(); i++) {
      take_result(lanes[i], counts[i], pcs[i]);
      const uint64_t retired = counts[i] - std::min(counts[i], count_at_begin_);
      if (retired != 0) longest = std::max(longest, (retired - 1) % kSlice + 1);
    }
    return longest;
  }

  void take_result(uint32_t lane, uint64_t instructions, uint64_t pc) {
    QueueResult result;
    result.number = numbers_[lane];
    result.outcome = processes_.outcome(lane);
    result.instructions = instructions;
    result.pc = pc;
    const std::span<const uint8_t> out = processes_.standard_output(lane), err = processes_.standard_error(lane);
    result.standard_output.assign(out.begin(), out.end());
    result.standard_error.assign(err.begin(), err.end());
    for (const std::string& path : collected_) {
      for (CollectedFile& file : processes_.collect(lane, path)) result.files.push_back(std::move(file));
    }
    progress_.done++;
    progress_.running--;
    progress_.failed += result.outcome.exit_status != 0;
    lengths_.add(result.number, instructions);
    held_bytes_ += size_of(result);
    if (options_.ordered) waiting_[places_[lane] - passed_] = std::make_unique<QueueResult>(std::move(result));
    else ready_.push_back(std::move(result));
  }

  /// Passes on what can be. False: the sink wants no more.
  bool deliver() {
    while (!waiting_.empty() && waiting_.front() != nullptr) {
      ready_.push_back(std::move(*waiting_.front()));
      waiting_.pop_front();
      passed_++;
    }
    for (; !ready_.empty(); ready_.pop_front()) {
      QueueResult& result = ready_.front();
      held_bytes_ -= size_of(result);
      if (!sink_(result)) return false;
    }
    return true;
  }

  Supply ask(ProcessInput& input, uint64_t& number, bool idle) {
    return source_end_.ask([&] {
      const Supply supply = source_(input, number, idle);
      if (supply == Supply::input) check_number(number, options_.ordered ? next_ : 0);
      return supply;
    });
  }

  std::vector<uint32_t> begin_more() {
    std::vector<uint32_t> lanes;
    std::vector<uint64_t> numbers;
    std::vector<ProcessInput> inputs;
    while (!free_.empty() && more_ && held_bytes_ <= options_.held_bytes) {
      ProcessInput input;
      uint64_t number = next_;
      const bool idle = progress_.running == 0 && lanes.empty();
      const Supply supply = ask(input, number, idle);
      if (supply == Supply::later && idle && !processes_.is_cancelled()) continue;
      more_ = supply != Supply::ended;
      if (supply != Supply::input) break;
      next_ = number + 1;
      lanes.push_back(free_.back());
      free_.pop_back();
      numbers.push_back(number);
      inputs.push_back(std::move(input));
    }
    if (lanes.empty()) return lanes;
    begin(lanes, numbers, inputs);
    if (lanes.empty()) return lanes;
    if (begun_ == 0) count_at_begin_ = processes_.fleet().get(Field::instructions, lanes[0]);
    processes_.fleet().set(Field::limit, lanes, std::vector<uint64_t>(lanes.size(), options_.instructions));
    for (size_t i = 0; i < lanes.size(); i++) {
      numbers_[lanes[i]] = numbers[i];
      places_[lanes[i]] = begun_++;
    }
    if (options_.ordered) waiting_.resize(waiting_.size() + lanes.size());
    progress_.running += lanes.size();
    return lanes;
  }

  /// Begins with as many of these inputs as come before one that does not fit in its process. That one ends the run when all
  /// before it have ended.
  void begin(std::vector<uint32_t>& lanes, std::vector<uint64_t>& numbers, std::vector<ProcessInput>& inputs) {
    try {
      processes_.restart(lanes, numbers, inputs);
      return;
    } catch (const ArgumentError&) {
      // None has begun.
    }
    size_t begun = 0;
    try {
      for (; begun < lanes.size(); begun++) {
        processes_.restart(std::span(lanes).subspan(begun, 1), std::span(numbers).subspan(begun, 1),
                           std::span(inputs).subspan(begun, 1));
      }
    } catch (const ArgumentError&) {
      mistake_ = std::current_exception();
      more_ = false;
    }
    free_.insert(free_.end(), lanes.begin() + static_cast<ptrdiff_t>(begun), lanes.end());
    lanes.resize(begun);
    numbers.resize(begun);
  }

  LinuxFleet& processes_;
  const QueueSource& source_;
  const QueueSink& sink_;
  const QueueOptions& options_;
  const std::vector<std::string>& collected_;
  QueueProgress progress_;
  linux_process::InputLengths lengths_;
  uint64_t count_at_begin_ = 0;  // instructions of the common part of all processes
  uint64_t next_ = 0;            // the least number of the next input
  bool more_ = true;             // the source may have more
  std::exception_ptr mistake_;   // why an input cannot run; it was taken after all others
  linux_process::SourceEnd source_end_;
  std::vector<uint32_t> free_;              // lanes without an input
  std::vector<uint64_t> numbers_, places_;  // of each lane's input: its number, and how many began before it
  uint64_t begun_ = 0, passed_ = 0;         // inputs; with `ordered`
  /// With `ordered`: the results of the inputs that began and were not passed on, in order; null: it has not ended.
  std::deque<std::unique_ptr<QueueResult>> waiting_;
  std::deque<QueueResult> ready_;  // in the order in which they are passed on
  uint64_t held_bytes_ = 0;
};

Queue::Queue(const ElfImage& image, const FleetOptions& fleet, LinuxOptions process) {
  process.restartable = true;
  process.keep_memory = false;  // nobody can ask for that of an input
  collected_ = process.collect;
  processes_ = std::make_unique<LinuxFleet>(image, fleet, std::move(process));
}
Queue::~Queue() = default;

Fleet& Queue::fleet() { return processes_->fleet(); }

QueueProgress Queue::run(const QueueSource& source, const QueueSink& sink, const QueueOptions& options) {
  return Run(*processes_, source, sink, options, collected_).go();
}

void Queue::cancel() {
  cancels_++;
  processes_->cancel();
}
std::map<std::string, UnimplementedCall> Queue::unimplemented() const { return processes_->unimplemented(); }

}  // namespace myriarm
