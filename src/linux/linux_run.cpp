// SPDX-License-Identifier: Apache-2.0
// LinuxFleet::run(): lets processes begin as there is room for them, and runs them round by round until all have ended. The
// fleet serves their calls.
#include <algorithm>
#include <chrono>
#include <utility>

#include "linux/admission.h"
#include "linux/linux_fleet_impl.h"
#include "linux/slice.h"

namespace myriarm {
namespace {

/// What a slice grows to, round by round, if no lane waits: threads take turns between more lanes than they are.
constexpr uint64_t kLongSlice = 50'000'000;

/// Whether the next run() leaves a lane with this stop alone.
bool is_final(StopReason reason) {
  switch (reason) {
    case StopReason::none:
    case StopReason::syscall:
    case StopReason::budget:
    case StopReason::cancelled:
    case StopReason::out_of_memory: return false;
    default: return true;
  }
}

}  // namespace

/// One call of LinuxFleet::run().
class LinuxFleet::Impl::Run {
 public:
  Run(Impl& impl, const LinuxRunOptions& run)
      : impl_(impl),
        run_(run),
        processes_(*impl.processes),
        fleet_(impl.fleet),
        admission_(fleet_, !impl.keep_memory),
        keep_memory_(impl.keep_memory) {
    options_.go_on = false;  // a lane that has reached its limit is done
    options_.engine = run.engine;
  }

  RunResult go() {
    begin_ = std::chrono::steady_clock::now();
    impl_.note_waiting_cancel();
    find_lanes();
    while (true) {
      retry_starved();
      tell_ended();
      begin_more();
      processes_.pass_first_output();
      tell_progress(0, active_.size());
      if (active_.empty()) break;
      if (impl_.take_cancel()) {
        active_.insert(active_.end(), lanes_.begin() + static_cast<ptrdiff_t>(begun_), lanes_.end());
        cancel_active();
        break;
      }
      execute();
    }
    total_.seconds = seconds();
    impl_.take_cancel();  // it came too late for this run and must not end the next
    impl_.sum_up(total_, lanes_);
    return total_;
  }

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  /// `more`: instructions of the round in progress. `running`: of active_, the lanes that have no stop yet.
  void tell_progress(uint64_t more, uint64_t running) const {
    if (!run_.progress) return;
    const uint64_t left = running + starved_.size() + waiting();
    run_.progress({fleet_.lanes() - left, total_.instructions + more, seconds()});
  }
  /// Gives lanes that wait at an SVC, or to begin, the stop that cancel() means.
  void cancel_active() {
    std::vector<Stop> stops(active_.size());
    fleet_.get_stops(active_, stops);
    for (Stop& stop : stops) {
      if (stop.reason != StopReason::syscall) stop = {StopReason::cancelled, FaultKind::none, 0, 0};
    }
    fleet_.set_stops(active_, stops);
  }
  uint64_t waiting() const { return lanes_.size() - begun_; }

  void find_lanes() {
    const std::span<const Stop> stops = fleet_.stops();
    for (uint32_t lane = 0; lane < fleet_.lanes(); lane++) {
      if (!is_final(stops[lane].reason)) lanes_.push_back(lane);
    }
  }

  /// Lets lanes that found no memory try again, once other lanes have given theirs back. If none is left to do so, they
  /// keep their stop.
  void retry_starved() {
    if (starved_.empty()) return;
    if (std::exchange(memory_was_freed_, false)) {
      fleet_.resume(starved_);
      active_.insert(active_.end(), starved_.begin(), starved_.end());
      starved_.clear();
    }
    if (!active_.empty()) return;
    ended_.insert(ended_.end(), starved_.begin(), starved_.end());
    starved_.clear();
  }

  /// Tells which lanes have ended, and takes up those that the user has restarted.
  void tell_ended() {
    if (!run_.on_ended) return;
    const std::vector<uint32_t> ended = std::exchange(ended_, {});
    const std::vector<uint32_t> again = run_.on_ended(ended);
    lanes_.erase(lanes_.begin(), lanes_.begin() + static_cast<ptrdiff_t>(std::exchange(begun_, 0)));
    lanes_.insert(lanes_.end(), again.begin(), again.end());
  }

  void begin_more() {
    if (!starved_.empty()) return;
    const uint64_t more = std::min(admission_.more(active_.size() - slow_), waiting());
    const std::span<const uint32_t> next = std::span(lanes_).subspan(begun_, more);
    std::vector<Stop> stops(more);
    fleet_.get_stops(next, stops);
    std::vector<uint32_t> paused;
    for (size_t i = 0; i < more; i++) {
      const bool calls = stops[i].reason == StopReason::syscall;  // its call is served as it goes on
      if (stops[i].reason != StopReason::none && !calls) paused.push_back(next[i]);
    }
    if (!paused.empty()) fleet_.resume(paused);
    active_.insert(active_.end(), next.begin(), next.end());
    begun_ += more;
    admission_.begun(more);
  }

  /// Of lanes that have stopped with `budget`: those at the end of a slice are paused, those at their limit have ended.
  void sort_by_limit(std::span<const uint32_t> lanes, std::vector<uint32_t>& paused) {
    slow_ = 0;
    if (lanes.empty()) return;
    std::vector<uint64_t> counts(lanes.size()), limits(lanes.size());
    fleet_.get(Field::instructions, lanes, counts);
    fleet_.get(Field::limit, lanes, limits);
    for (size_t i = 0; i < lanes.size(); i++) {
      const bool at_limit = counts[i] >= limits[i];
      (at_limit ? ended_ : paused).push_back(lanes[i]);
      slow_ += !at_limit;
    }
  }

  void execute() {
    // Elsewhere no lane waits, and all others have a stop.
    if (fleet_.device().kind == DeviceKind::cpu) options_.lanes = active_;
    options_.instructions = next_slice();
    const RunResult result = run_round();
    total_.instructions += result.instructions;
    total_.batches += result.batches;
    std::vector<Stop> stops(active_.size());
    fleet_.get_stops(active_, stops);
    std::vector<uint32_t> paused;  // by cancel(), or at the end of its slice
    std::vector<uint32_t> at_budget;
    size_t exited = 0;
    for (size_t i = 0; i < stops.size(); i++) {
      switch (stops[i].reason) {
        case StopReason::syscall:
        case StopReason::cancelled: paused.push_back(active_[i]); break;
        case StopReason::budget: at_budget.push_back(active_[i]); break;
        case StopReason::out_of_memory: starved_.push_back(active_[i]); break;
        default: ended_.push_back(active_[i]); break;
      }
      exited += stops[i].reason == StopReason::exited;
    }
    if (!keep_memory_ && exited != 0) {
      admission_.exited(exited);
      memory_was_freed_ = true;
    }
    sort_by_limit(at_budget, paused);
    resume_paused(paused);
    active_ = std::move(paused);
  }

  uint64_t next_slice() {
    const Device& device = fleet_.device();
    const bool others_wait = run_.on_ended || waiting() != 0;
    if (!others_wait && (device.kind != DeviceKind::cpu || active_.size() <= device.units)) return kEndless;
    slice_ = others_wait ? linux_process::kSlice : std::min(2 * slice_, kLongSlice);
    return slice_;
  }

  /// All but those that are at an SVC.
  void resume_paused(std::span<const uint32_t> lanes) {
    std::vector<Stop> stops(lanes.size());
    fleet_.get_stops(lanes, stops);
    std::vector<uint32_t> resumed;
    for (size_t i = 0; i < lanes.size(); i++) {
      if (stops[i].reason != StopReason::syscall && stops[i].reason != StopReason::none) resumed.push_back(lanes[i]);
    }
    if (!resumed.empty()) fleet_.resume(resumed);
  }

  RunResult run_round() {
    if (!run_.progress) return fleet_.run(options_);
    fleet_.start(options_);
    while (true) {
      const std::optional<RunResult> result = fleet_.wait(run_.progress_seconds);
      if (result) return *result;
      std::vector<Signal> signals(fleet_.lanes());
      fleet_.poll_lanes({}, signals);
      const auto runs = [&](uint32_t lane) { return signals[lane] == Signal::running; };
      tell_progress(fleet_.poll().instructions,
                    static_cast<uint64_t>(std::count_if(active_.begin(), active_.end(), runs)));
    }
  }

  Impl& impl_;
  const LinuxRunOptions& run_;
  linux_process::Processes& processes_;
  Fleet& fleet_;
  linux_process::Admission admission_;
  const bool keep_memory_;
  RunOptions options_;
  RunResult total_;
  std::chrono::steady_clock::time_point begin_{};
  std::vector<uint32_t> lanes_;  // those that take part; those from begun_ on wait for their turn
  size_t begun_ = 0;
  std::vector<uint32_t> active_;            // they run next
  std::vector<uint32_t> starved_;           // they have stopped with out_of_memory
  std::vector<uint32_t> ended_;             // since on_ended was called
  uint64_t slice_ = linux_process::kSlice;  // instructions of a lane in the last round
  size_t slow_ = 0;                         // of active_: those that spent a whole slice
  bool memory_was_freed_ = false;           // since starved lanes last tried
};

RunResult LinuxFleet::Impl::run(const LinuxRunOptions& options) { return Run(*this, options).go(); }

void LinuxFleet::Impl::sum_up(RunResult& total, const std::vector<uint32_t>& lanes) const {
  std::span<const Stop> stops = fleet.stops();
  total.lanes_run = lanes.size();
  for (const Stop& stop : stops) total.stopped += stop.reason != StopReason::none;
  for (uint32_t lane : lanes) total.stops[static_cast<unsigned>(stops[lane].reason)]++;
  total.lanes_left = total.stops[static_cast<unsigned>(StopReason::cancelled)];
  // In rising urgency. No lane ends at a system call, because the server answers each.
  total.signal = Signal::checkpoint;
  for (Signal signal : {Signal::halt, Signal::cancelled, Signal::breakpoint, Signal::fault}) {
    for (uint32_t lane : lanes) {
      if (signal_of(stops[lane].reason) == signal) total.signal = signal;
    }
  }
}

}  // namespace myriarm
