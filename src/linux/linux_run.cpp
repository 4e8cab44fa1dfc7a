// SPDX-License-Identifier: Apache-2.0
// LinuxFleet::run(): lets processes begin as there is room for them, and runs them round by round until all have ended. The
// fleet serves their calls.
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "linux/admission.h"
#include "linux/linux_fleet_impl.h"
#include "linux/long_lanes.h"
#include "linux/slice.h"
#include "support/lanes_at_once.h"

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
        long_lanes_(fleet_.lanes(), fleet_.device().units),
        keep_memory_(impl.keep_memory) {
    options_.go_on = false;  // a lane that has reached its limit is done
    options_.engine = run.engine;
    if (run.as_if_alone && !impl.beginning) {
      throw StateError(
          "as_if_alone: the processes of this fleet cannot begin again; make it with LinuxOptions::restartable");
    }
  }

  RunResult go() {
    begin_ = std::chrono::steady_clock::now();
    impl_.note_waiting_cancel();
    find_lanes();
    while (true) {
      retry_starved();
      tell_ended();
      begin_more();
      if (active_.empty() && !given_up_.empty()) {
        end_without_room();
        continue;
      }
      processes_.pass_first_output();
      tell_progress(0, active_.size());
      if (active_.empty()) break;
      if (impl_.take_cancel()) {
        active_.insert(active_.end(), lanes_.begin() + static_cast<ptrdiff_t>(begun_), lanes_.end());
        begin_again(given_up_.size());
        set_stops(given_up_, StopReason::cancelled);
        impl_.without_room.insert(given_up_.begin(), given_up_.end());
        active_.insert(active_.end(), starved_.begin(), starved_.end());
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
  /// `more`: instructions of the round in progress. `running`: of active_, the lanes that have not ended.
  void tell_progress(uint64_t more, uint64_t running) const {
    if (!run_.progress) return;
    const uint64_t left = running + starved_.size() + given_up_.size() + waiting();
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
  bool any_wait() const { return waiting() != 0 || !given_up_.empty(); }

  void set_stops(std::span<const uint32_t> lanes, StopReason reason) {
    if (!lanes.empty()) fleet_.set_stops(lanes, std::vector<Stop>(lanes.size(), {reason, FaultKind::none, 0, 0}));
  }

  void find_lanes() {
    const std::span<const Stop> stops = fleet_.stops();
    std::vector<uint32_t> lanes;
    for (uint32_t lane = 0; lane < fleet_.lanes(); lane++) {
      if (!is_final(stops[lane].reason)) lanes.push_back(lane);
    }
    take_up(std::move(lanes));
  }
  /// Further lanes that take part. Those that restart() found no room for begin as lanes do that were given up.
  void take_up(std::vector<uint32_t> lanes) {
    const auto waits = [&](uint32_t lane) { return impl_.without_room.contains(lane); };
    const auto others = std::stable_partition(lanes.begin(), lanes.end(), waits);
    const auto count = static_cast<size_t>(others - lanes.begin());
    keep_from_running(std::span(lanes).first(count));
    lanes_.erase(lanes_.begin(), lanes_.begin() + static_cast<ptrdiff_t>(std::exchange(begun_, count)));
    lanes_.insert(lanes_.begin(), lanes.begin(), others);
    lanes_.insert(lanes_.end(), others, lanes.end());
  }
  /// These lanes have no memory. They begin again when there is room.
  void keep_from_running(std::span<const uint32_t> lanes) {
    set_stops(lanes, StopReason::exited);  // no run takes them up
    given_up_.insert(given_up_.end(), lanes.begin(), lanes.end());
  }

  /// Lets lanes that found no memory try again, once other lanes have given theirs back. If none is left to do so, some of
  /// them do, or else they keep their stop.
  void retry_starved() {
    if (starved_.empty()) return;
    if (active_.empty() && !memory_was_freed_) {
      if (run_.as_if_alone && waiting() != 0 && teams_share_frames()) give_waiting_up();
      else if (run_.as_if_alone && (starved_.size() > 1 || has_had_company(starved_[0]))) give_some_up();
      else end(std::exchange(starved_, {}));
    }
    if (!std::exchange(memory_was_freed_, false) || starved_.empty()) return;
    fleet_.resume(starved_);
    active_.insert(active_.end(), starved_.begin(), starved_.end());
    starved_.clear();
  }

  /// Of lanes that starve together, those that have retired most keep their memory, at most half of them. The others give
  /// theirs up, and begin again later. On a GPU a team's memory is free only when all of its lanes have given it up.
  void give_some_up() {
    const uint64_t most = starved_.size() / 2, team_lanes = fleet_.team_lanes();
    at_once_.starved(std::max<uint64_t>(starved_.size(), 2));
    std::vector<uint64_t> counts(starved_.size());
    fleet_.get(Field::instructions, starved_, counts);
    std::map<uint64_t, uint64_t> longest;  // by team
    for (size_t i = 0; i < starved_.size(); i++) {
      uint64_t& team = longest[starved_[i] / team_lanes];
      team = std::max(team, counts[i]);
    }
    const auto place = [&](uint32_t lane) { return std::pair(~longest.at(lane / team_lanes), lane / team_lanes); };
    std::stable_sort(starved_.begin(), starved_.end(), [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
    uint64_t kept = most;
    while (kept != 0 && place(starved_[kept]) == place(starved_[kept - 1])) kept--;
    give_up(std::span(starved_).subspan(kept));
    starved_.resize(kept);
  }
  /// Lanes that have not begun have pages yet on a GPU, and keep the frames of their team, in which others have ended.
  void give_waiting_up() {
    give_up(std::span(lanes_).subspan(begun_));
    begun_ = lanes_.size();
  }
  void give_up(std::span<const uint32_t> lanes) {
    fleet_.release_memory(lanes);
    memory_is_free(lanes.size());
    keep_from_running(lanes);
  }
  bool teams_share_frames() const { return fleet_.team_lanes() > 1; }
  /// Whether frames may be taken that the lane would not need alone: on a GPU a team keeps those of lanes that have ended.
  bool has_had_company(uint32_t lane) const { return teams_share_frames() && fleet_.lanes() > 1 && lane != alone_; }

  /// Lets the first of the lanes that were given up begin again, as far as the pool has room: the others wait until memory is
  /// given back. On a GPU a lane that begins beside others of its team may need frames. Returns how many have begun.
  size_t begin_again(size_t count) {
    if (count == 0 || (lacks_room_ && !active_.empty())) return 0;
    lacks_room_ = false;
    const auto end = given_up_.begin() + static_cast<ptrdiff_t>(count);
    std::vector<uint32_t> lanes(given_up_.begin(), end);
    given_up_.erase(given_up_.begin(), end);
    if (!impl_.begin_again(lanes)) lanes = begin_teams_again(lanes);
    const bool is_alone = active_.empty() && lanes.size() == 1;
    begun(lanes);
    if (is_alone) alone_ = lanes[0];
    return lanes.size();
  }
  /// The same where there is no room for all of these lanes. Returns those that have begun.
  std::vector<uint32_t> begin_teams_again(std::span<const uint32_t> lanes) {
    std::map<uint64_t, std::vector<uint32_t>> teams;
    for (const uint32_t lane : lanes) teams[lane / fleet_.team_lanes()].push_back(lane);
    std::vector<uint32_t> begun, left;
    for (const auto& [team, own] : teams) {
      // The first one that does not fit ends the search, unless the run would end without one that does.
      const bool gives_up = lacks_room_ && !(active_.empty() && begun.empty());
      const bool begins = !gives_up && impl_.begin_again(own);
      lacks_room_ |= !begins;
      (begins ? begun : left).insert((begins ? begun : left).end(), own.begin(), own.end());
    }
    set_stops(left, StopReason::exited);
    given_up_.insert(given_up_.begin(), left.begin(), left.end());
    return begun;
  }
  /// None of the lanes that may begin has found room, and no other one has memory that it could give back.
  void end_without_room() {
    const uint32_t lane = given_up_.front();
    given_up_.erase(given_up_.begin());
    set_stops({&lane, 1}, StopReason::out_of_memory);
    ended_.push_back(lane);
  }

  /// These lanes have ended, and have their memory yet.
  void end(std::span<const uint32_t> lanes) {
    ended_.insert(ended_.end(), lanes.begin(), lanes.end());
    if (!run_.as_if_alone || keep_memory_ || impl_.keep_files || lanes.empty()) return;
    fleet_.release_memory(lanes);
    memory_is_free(lanes.size());
  }
  /// So many lanes have given their memory back.
  void memory_is_free(uint64_t lanes) {
    admission_.exited(lanes);
    memory_was_freed_ = true;
    lacks_room_ = false;
  }

  /// Tells which lanes have ended, and takes up those that the user has restarted.
  void tell_ended() {
    if (!run_.on_ended) return;
    const std::vector<uint32_t> ended = std::exchange(ended_, {});
    take_up(run_.on_ended(ended));
  }

  void begin_more() {
    if (!starved_.empty()) return;
    const uint64_t room = at_once_.most() - std::min<uint64_t>(at_once_.most(), active_.size());
    const uint64_t most = std::min(admission_.more(active_.size() - slow_), room);
    const uint64_t again = begin_again(std::min<uint64_t>(most, given_up_.size()));
    const uint64_t more = std::min(most - again, waiting());
    const std::span<const uint32_t> next = std::span(lanes_).subspan(begun_, more);
    std::vector<Stop> stops(more);
    fleet_.get_stops(next, stops);
    std::vector<uint32_t> paused;
    for (size_t i = 0; i < more; i++) {
      const bool calls = stops[i].reason == StopReason::syscall;  // its call is served as it goes on
      if (stops[i].reason != StopReason::none && !calls) paused.push_back(next[i]);
    }
    if (!paused.empty()) fleet_.resume(paused);
    begun(next);
    begun_ += more;
    admission_.begun(again + more);
  }

  void begun(std::span<const uint32_t> lanes) {
    if (!lanes.empty()) alone_.reset();
    long_lanes_.begun(lanes);
    active_.insert(active_.end(), lanes.begin(), lanes.end());
  }

  /// Of lanes that have stopped with `budget`: those at the end of a slice are paused, those at their limit have ended.
  void sort_by_limit(std::span<const uint32_t> lanes, std::vector<uint32_t>& paused, std::vector<uint32_t>& ended) {
    slow_ = 0;
    if (lanes.empty()) return;
    std::vector<uint64_t> counts(lanes.size()), limits(lanes.size());
    fleet_.get(Field::instructions, lanes, counts);
    fleet_.get(Field::limit, lanes, limits);
    for (size_t i = 0; i < lanes.size(); i++) {
      const bool at_limit = counts[i] >= limits[i];
      (at_limit ? ended : paused).push_back(lanes[i]);
      if (!at_limit) long_lanes_.spent_slice(lanes[i]);
      slow_ += !at_limit;
    }
  }

  void execute() {
    const bool is_cpu = fleet_.device().kind == DeviceKind::cpu;
    std::vector<uint32_t> left_out;
    if (is_cpu && run_.on_ended) left_out = long_lanes_.leave_out(active_);
    impl_.lanes_left_out = left_out.size();
    // Elsewhere lanes seldom wait, and all others have a stop.
    if (is_cpu || any_wait()) options_.lanes = active_;
    else options_.lanes.reset();
    options_.instructions = next_slice();
    const RunResult result = run_round();
    total_.instructions += result.instructions;
    total_.batches += result.batches;
    std::vector<Stop> stops(active_.size());
    fleet_.get_stops(active_, stops);
    std::vector<uint32_t> paused;  // by cancel(), or at the end of its slice
    std::vector<uint32_t> at_budget;
    std::vector<uint32_t> ended;  // otherwise than by exiting
    const size_t ended_before = ended_.size();
    size_t exited = 0;
    for (size_t i = 0; i < stops.size(); i++) {
      switch (stops[i].reason) {
        case StopReason::syscall:
        case StopReason::cancelled: paused.push_back(active_[i]); break;
        case StopReason::budget: at_budget.push_back(active_[i]); break;
        case StopReason::out_of_memory: starved_.push_back(active_[i]); break;
        case StopReason::exited:
          ended_.push_back(active_[i]);
          exited++;
          break;
        default: ended.push_back(active_[i]); break;
      }
    }
    if (!keep_memory_ && exited != 0) memory_is_free(exited);
    sort_by_limit(at_budget, paused, ended);
    end(ended);
    at_once_.round_ended(ended_.size() - ended_before, starved_.empty());
    resume_paused(paused);
    active_ = std::move(paused);
    active_.insert(active_.end(), left_out.begin(), left_out.end());
  }

  uint64_t next_slice() {
    const Device& device = fleet_.device();
    const bool others_wait = run_.on_ended || any_wait();
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
      // A lane at the end of its slice has a stop while others run, and goes on in the next round.
      const auto goes_on = [&](uint32_t lane) {
        return signals[lane] == Signal::running || signals[lane] == Signal::checkpoint ||
               signals[lane] == Signal::syscall || signals[lane] == Signal::cancelled;
      };
      tell_progress(fleet_.poll().instructions,
                    static_cast<uint64_t>(std::count_if(active_.begin(), active_.end(), goes_on)));
    }
  }

  Impl& impl_;
  const LinuxRunOptions& run_;
  linux_process::Processes& processes_;
  Fleet& fleet_;
  linux_process::Admission admission_;
  LanesAtOnce at_once_;
  linux_process::LongLanes long_lanes_;
  const bool keep_memory_;
  RunOptions options_;
  RunResult total_;
  std::chrono::steady_clock::time_point begin_{};
  std::vector<uint32_t> lanes_;  // those that take part; those from begun_ on wait for their turn
  size_t begun_ = 0;
  std::vector<uint32_t> active_;            // they run next
  std::vector<uint32_t> starved_;           // they have stopped with out_of_memory
  std::vector<uint32_t> given_up_;          // they have starved together with others, and begin again
  std::vector<uint32_t> ended_;             // since on_ended was called
  uint64_t slice_ = linux_process::kSlice;  // instructions of a lane in the last round
  size_t slow_ = 0;                         // of active_: those that spent a whole slice
  std::optional<uint32_t> alone_;           // the lane that has begun again, and none beside it since
  bool memory_was_freed_ = false;           // since starved lanes last tried
  bool lacks_room_ = false;                 // a lane of given_up_ has found none since memory was given back
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
