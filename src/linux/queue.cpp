// SPDX-License-Identifier: Apache-2.0
// The queue gives lanes their inputs between two rounds of LinuxFleet::run(), and holds back results that come before
// their turn.
#include "myriarm/queue.h"

#include <chrono>
#include <deque>
#include <memory>
#include <numeric>
#include <utility>

namespace myriarm {
namespace {

/// MYRIARM_LANE has room for ten digits.
constexpr uint64_t kNumbers = 10'000'000'000;

}  // namespace

/// One call of run(). The fleet calls ended() between two rounds.
class Queue::Run {
 public:
  Run(LinuxFleet& processes, const QueueSource& source, const QueueSink& sink, const QueueOptions& options)
      : processes_(processes), source_(source), sink_(sink), options_(options) {
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
    return progress_;
  }

 private:
  /// With the record itself: a process may write nothing, and there may be millions of them.
  static uint64_t size_of(const QueueResult& result) {
    return sizeof result + result.standard_output.size() + result.standard_error.size();
  }

  /// Takes the results of lanes that have ended, and gives free lanes further inputs. Returns the lanes that begin.
  std::vector<uint32_t> ended(std::span<const uint32_t> lanes) {
    take_results(lanes);
    free_.insert(free_.end(), lanes.begin(), lanes.end());
    if (!deliver()) {
      progress_.stopped_early = true;
      processes_.cancel();
      return {};
    }
    return begin_more();
  }

  void take_results(std::span<const uint32_t> lanes) {
    if (lanes.empty()) return;
    std::vector<uint64_t> counts(lanes.size()), pcs(lanes.size());
    processes_.fleet().get(Field::instructions, lanes, counts);
    processes_.fleet().get(Field::pc, lanes, pcs);
    for (size_t i = 0; i < lanes.size(); i++) take_result(lanes[i], counts[i], pcs[i]);
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
    progress_.done++;
    progress_.running--;
    progress_.failed += result.outcome.exit_status != 0;
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

  std::vector<uint32_t> begin_more() {
    std::vector<uint32_t> lanes;
    std::vector<uint64_t> numbers;
    std::vector<ProcessInput> inputs;
    while (!free_.empty() && more_ && held_bytes_ <= options_.held_bytes) {
      ProcessInput input;
      uint64_t number = next_;
      const bool idle = progress_.running == 0 && lanes.empty();
      const Supply supply = source_(input, number, idle);
      if (supply == Supply::later && idle && !processes_.is_cancelled()) continue;
      more_ = supply != Supply::ended;
      if (supply != Supply::input) break;
      if (number < next_ || number >= kNumbers) {
        throw ArgumentError("an input of the queue has the number " + std::to_string(number) +
                            "; numbers must rise, and have at most ten digits");
      }
      next_ = number + 1;
      lanes.push_back(free_.back());
      free_.pop_back();
      numbers.push_back(number);
      inputs.push_back(std::move(input));
    }
    if (lanes.empty()) return lanes;
    processes_.restart(lanes, numbers, inputs);
    processes_.fleet().set(Field::limit, lanes, std::vector<uint64_t>(lanes.size(), options_.instructions));
    for (size_t i = 0; i < lanes.size(); i++) {
      numbers_[lanes[i]] = numbers[i];
      places_[lanes[i]] = begun_++;
    }
    if (options_.ordered) waiting_.resize(waiting_.size() + lanes.size());
    progress_.running += lanes.size();
    return lanes;
  }

  LinuxFleet& processes_;
  const QueueSource& source_;
  const QueueSink& sink_;
  const QueueOptions& options_;
  QueueProgress progress_;
  uint64_t next_ = 0;                       // the least number of the next input
  bool more_ = true;                        // the source may have more
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
  processes_ = std::make_unique<LinuxFleet>(image, fleet, std::move(process));
}
Queue::~Queue() = default;

Fleet& Queue::fleet() { return processes_->fleet(); }

QueueProgress Queue::run(const QueueSource& source, const QueueSink& sink, const QueueOptions& options) {
  return Run(*processes_, source, sink, options).go();
}

void Queue::cancel() { processes_->cancel(); }
std::map<std::string, UnimplementedCall> Queue::unimplemented() const { return processes_->unimplemented(); }

}  // namespace myriarm
