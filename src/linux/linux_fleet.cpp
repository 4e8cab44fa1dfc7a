// SPDX-License-Identifier: Apache-2.0
// LinuxFleet: makes a fleet of processes, and lets them begin as there is room for them. The fleet serves their calls.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "linux/admission.h"
#include "linux/common_part.h"
#include "linux/process_layout.h"
#include "linux/processes.h"
#include "linux/slice.h"
#include "myriarm/linux.h"

namespace myriarm {
namespace {

using linux_process::CommonPart;
using linux_process::InitialStack;
using linux_process::LaneBytes;
using linux_process::Processes;
using linux_process::ProcessLayout;

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

[[noreturn]] void refuse_own_words() {
  throw ArgumentError(
      "fork_after: all lanes have the arguments and the environment of their common part; give none of them others, or "
      "leave fork_after out");
}

/// Throws ArgumentError if something is given for another number of lanes, or both for all lanes and for each.
void check_options(const LinuxOptions& options, uint64_t lanes) {
  const auto check = [&](const char* name, size_t count, const char* common, bool common_given) {
    if (count == 0) return;
    if (count != lanes) {
      throw ArgumentError(std::string(name) + " are given for " + std::to_string(count) + " lanes, and the fleet has " +
                          std::to_string(lanes) + "; give one for each lane");
    }
    if (common_given) {
      throw ArgumentError(std::string("both ") + name + " and " + common + " are given; leave one of them out");
    }
  };
  check("lane_arguments", options.lane_arguments.size(), "arguments", !options.arguments.empty());
  check("lane_environments", options.lane_environments.size(), "environment", !options.environment.empty());
  check("standard_inputs", options.standard_inputs.size(), "standard_input", !options.standard_input.empty());
  check("files", options.files.size(), "", false);
  const bool own_words = !options.lane_arguments.empty() || !options.lane_environments.empty();
  if (own_words && options.fork_after.kind != ForkPoint::Kind::start) refuse_own_words();
  for (uint32_t lane : options.traced_lanes) {
    if (lane >= lanes) {
      throw ArgumentError("traced_lanes names lane " + std::to_string(lane) + ", and the fleet has lanes 0 to " +
                          std::to_string(lanes - 1));
    }
  }
}

/// Throws ArgumentError if there is no program, or several have a common part, or arguments in two places.
void check_placements(std::span<const LinuxPlacement> programs, const LinuxOptions& options) {
  if (programs.empty()) throw ArgumentError("a fleet needs a program; give at least one");
  if (programs.size() > 1 && options.fork_after.kind != ForkPoint::Kind::start) {
    throw ArgumentError("fork_after: several programs have no part in common; make a fleet for each, or leave it out");
  }
  for (const LinuxPlacement& program : programs) {
    if (program.arguments.empty() || (options.arguments.empty() && options.lane_arguments.empty())) continue;
    throw ArgumentError("arguments are given for program " + program.image.program.name +
                        " and for all lanes; leave one of them out");
  }
}

/// Puts the path of the input file in the place of its mark in all arguments.
void name_input_file(std::vector<std::string>& arguments) {
  constexpr std::string_view kMark = kInputFileMark, kPath = kInputFile;
  for (std::string& argument : arguments) {
    for (size_t at = 0; (at = argument.find(kMark, at)) != std::string::npos; at += kPath.size()) {
      argument.replace(at, kMark.size(), kPath);
    }
  }
}

}  // namespace

struct LinuxFleet::Impl {
  /// What lanes that run the same program have in common.
  struct PlacedProcess {
    uint64_t lanes_end = 0;  ///< one more than the last of its lanes; they follow those of the program before it
    linux_process::StackFacts stack;
    uint64_t lane_bytes = 0;  ///< address of LaneBytes on the stack that the program has; 0: it has none
    std::vector<std::string> arguments, arguments_with_file;
  };
  /// A program, laid out, and what its lanes have.
  struct LaidOut {
    Placement placement;
    PlacedProcess process;
  };

  /// `common`: what the lanes begin with; null: the start of the program.
  Impl(std::vector<LaidOut>& programs, const FleetOptions& fleet_options, LinuxOptions& options, CommonPart* common)
      : seed(options.seed),
        keep_memory(options.keep_memory),
        forked(common != nullptr),
        lane_digits(common ? common->lane_digits : 0),
        processes(make_processes(programs, options, common)),
        fleet(make_fleet(programs, fleet_options, common)),
        environment(std::move(options.environment)) {
    for (LaidOut& program : programs) placed.push_back(std::move(program.process));
    if (options.restartable) beginning.emplace(fleet.snapshot());
    std::vector<uint32_t> lanes(fleet.lanes());
    std::iota(lanes.begin(), lanes.end(), 0);
    const auto& own_arguments = options.lane_arguments;
    const auto& own_environments = options.lane_environments;
    write_stacks(lanes, {}, [&](size_t lane) {
      return whole_stack(placed_at(static_cast<uint32_t>(lane)), own_arguments.empty() ? nullptr : &own_arguments[lane],
                         own_environments.empty() ? nullptr : &own_environments[lane]);
    });
  }

  std::shared_ptr<Processes> make_processes(const std::vector<LaidOut>& programs, LinuxOptions& options,
                                            CommonPart* common) const {
    uint64_t lanes = 0;
    for (const LaidOut& program : programs) {
      if (program.placement.lanes <= kMostLanes) lanes += program.placement.lanes;  // the fleet refuses more
    }
    auto made = std::make_shared<Processes>(lanes, options, cancelled);
    if (common) made->begin_with(std::move(common->output), std::move(common->unimplemented));
    return made;
  }

  Fleet make_fleet(std::vector<LaidOut>& programs, FleetOptions made, CommonPart* common) const {
    made.processes = {processes, seed, keep_memory};
    std::vector<Placement> placements;
    placements.reserve(programs.size());
    for (LaidOut& program : programs) placements.push_back(std::move(program.placement));
    if (common) placements.front().program = common->program;
    return {placements, made};
  }

  const PlacedProcess& placed_at(uint32_t lane) const {
    return *std::upper_bound(placed.begin(), placed.end(), lane,
                             [](uint32_t value, const PlacedProcess& process) { return value < process.lanes_end; });
  }

  /// The stack of a process that has arguments or an environment of its own, or whose program has none; else nothing. Null:
  /// what all have. Throws ArgumentError if they are too large.
  std::optional<InitialStack> whole_stack(const PlacedProcess& process, const std::vector<std::string>* own_arguments,
                                          const std::vector<std::string>* own_environment) const {
    if (forked || (!own_arguments && !own_environment && process.lane_bytes != 0)) return std::nullopt;
    return linux_process::initial_stack(process.stack, own_arguments ? *own_arguments : process.arguments,
                                        own_environment ? *own_environment : environment);
  }

  /// Writes what the stack of each lane has of its own: all of it, or LaneBytes, or after a common part their digits alone.
  /// `numbers`: see restart(); empty: those of the lanes. `stack_of(i)` gives the whole_stack() of lanes[i].
  template <class StackOf>
  void write_stacks(std::span<const uint32_t> lanes, std::span<const uint64_t> numbers, StackOf stack_of) {
    constexpr size_t kBatchBytes = size_t{16} << 20;
    std::vector<Transfer> transfers;
    std::vector<uint8_t> buffer;
    std::vector<uint32_t> moved;  // lanes whose stack pointer is not the program's
    std::vector<uint64_t> stack_pointers;
    if (forked && lane_digits == 0) return;
    for (size_t i = 0; i < lanes.size(); i++) {
      const LaneBytes own = linux_process::lane_bytes(seed, numbers.empty() ? lanes[i] : numbers[i]);
      std::span<const uint8_t> bytes = own;
      uint64_t address = placed_at(lanes[i]).lane_bytes;
      std::optional<InitialStack> whole = stack_of(i);
      if (forked) {
        bytes = bytes.first(linux_process::kLaneDigitBytes);
        address = lane_digits;
      } else if (whole) {
        std::copy(own.begin(), own.end(), &whole->bytes[whole->lane_bytes - whole->stack_pointer]);
        bytes = whole->bytes;
        address = whole->stack_pointer;
        moved.push_back(lanes[i]);
        stack_pointers.push_back(address);
      }
      transfers.push_back({lanes[i], static_cast<uint32_t>(bytes.size()), address, buffer.size()});
      buffer.insert(buffer.end(), bytes.begin(), bytes.end());
      if (buffer.size() < kBatchBytes && i + 1 < lanes.size()) continue;
      fleet.write_later(transfers, buffer);
      transfers.clear();
      buffer.clear();
    }
    if (!moved.empty()) fleet.set(Field::sp, moved, stack_pointers);
  }

  void restart(std::span<const uint32_t> lanes, std::span<const uint64_t> numbers, std::span<ProcessInput> inputs) {
    if (!beginning) {
      throw StateError("the processes of this fleet cannot begin again; make it with LinuxOptions::restartable");
    }
    if (numbers.size() != lanes.size() || inputs.size() != lanes.size()) {
      throw ArgumentError("restart: there are " + std::to_string(lanes.size()) + " lanes, " +
                          std::to_string(numbers.size()) + " numbers and " + std::to_string(inputs.size()) +
                          " inputs; give as many of each");
    }
    // What can be refused is, before anything has changed.
    std::vector<std::optional<InitialStack>> stacks(inputs.size());
    for (size_t i = 0; i < inputs.size(); i++) {
      ProcessInput& input = inputs[i];
      check_lane(lanes[i]);
      if (forked && (input.arguments || input.environment)) refuse_own_words();
      if (input.file && input.arguments) name_input_file(*input.arguments);
      const PlacedProcess& process = placed_at(lanes[i]);
      const bool named = input.file && process.arguments_with_file != process.arguments;
      stacks[i] = whole_stack(process,
                              input.arguments ? &*input.arguments
                              : named         ? &process.arguments_with_file
                                              : nullptr,
                              input.environment ? &*input.environment : nullptr);
    }
    fleet.restore(*beginning, lanes);
    for (size_t i = 0; i < lanes.size(); i++) processes->restart(lanes[i], numbers[i], inputs[i]);
    fleet.process_inputs_changed(lanes);
    write_stacks(lanes, numbers, [&](size_t i) { return std::move(stacks[i]); });
  }

  bool takes_inputs(bool as_file) const {
    if (!beginning || placed.size() != 1 || !fleet.takes_inputs() || fleet.engine() != Engine::interpreter)
      return false;
    if (!processes->inputs_are_bytes(as_file)) return false;
    // Without a common part, a process that has a file has other arguments.
    return forked || (placed[0].lane_bytes != 0 && (!as_file || placed[0].arguments == placed[0].arguments_with_file));
  }
  void work_off(InputRun run, uint64_t instructions) {
    run.instructions = instructions;
    processes->describe(run);
    run.start_bytes_at = forked ? lane_digits : placed[0].lane_bytes;
    run.start_bytes = forked ? kernel::kLaneDigitBytes : kernel::kStartBytes;
    run.cancelled = [this, asked = std::move(run.cancelled)] { return cancelled.load() || (asked && asked()); };
    note_waiting_cancel();
    if (!take_cancel()) fleet.work_off(*beginning, run);
    take_cancel();
  }

  class Run;
  RunResult run(const LinuxRunOptions& options);
  void sum_up(RunResult& total, const std::vector<uint32_t>& lanes) const;

  void cancel() {
    (void)fleet.lanes();  // throws if the fleet is inherited; a thread that is not here may then hold the mutex
    std::lock_guard lock(mutex);
    cancelled = true;
    fleet.cancel();
  }
  /// To be called when a run begins. A cancel() that a run of the fleet alone has taken counts no longer, and one that was
  /// asked of the fleet alone does.
  void note_waiting_cancel() {
    std::lock_guard lock(mutex);
    if (!fleet.is_running()) cancelled = fleet.take_cancel();
  }
  /// Whether cancel() was called since the last call of take_cancel().
  bool take_cancel() {
    std::lock_guard lock(mutex);
    fleet.take_cancel();
    return cancelled.exchange(false);
  }
  void check_lane(uint32_t lane) const {
    if (lane < fleet.lanes()) return;
    throw ArgumentError("there is no lane " + std::to_string(lane) + "; the fleet has lanes 0 to " +
                        std::to_string(fleet.lanes() - 1));
  }

  std::atomic<bool> cancelled = false;  ///< written with `mutex` held
  const uint64_t seed;
  const bool keep_memory;
  const bool forked;           ///< the lanes begin after a common part
  const uint64_t lane_digits;  ///< CommonPart::lane_digits
  const std::shared_ptr<Processes> processes;
  Fleet fleet;
  std::vector<PlacedProcess> placed;  ///< in the order of their lanes
  const std::vector<std::string> environment;
  std::optional<Snapshot> beginning;  ///< before anything was written to the stacks
  std::mutex mutex;
};

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
  Processes& processes_;
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

LinuxFleet::LinuxFleet(const ElfImage& image, const FleetOptions& fleet, LinuxOptions options)
    : LinuxFleet(std::vector<LinuxPlacement>{{image, fleet.lanes, {}}}, fleet, std::move(options)) {}

LinuxFleet::LinuxFleet(std::span<const LinuxPlacement> programs, const FleetOptions& fleet, LinuxOptions options) {
  check_placements(programs, options);
  uint64_t lanes = 0, window_begin = ~uint64_t{0};
  for (const LinuxPlacement& program : programs) {
    lanes += program.lanes;
    window_begin = std::min(window_begin, linux_process::window_begin_of(program.image));
  }
  check_options(options, lanes);
  const bool forks = options.fork_after.kind != ForkPoint::Kind::start;
  const bool names_file = !options.files.empty() || (forks && options.restartable);
  if (names_file) {
    for (std::vector<std::string>& arguments : options.lane_arguments) name_input_file(arguments);
  }
  std::vector<Impl::LaidOut> laid_out;
  std::optional<CommonPart> common;
  lanes = 0;
  const std::vector<std::string> common_arguments = std::move(options.arguments);
  for (const LinuxPlacement& program : programs) {
    options.arguments = program.arguments.empty() ? common_arguments : program.arguments;
    if (names_file) name_input_file(options.arguments);
    ProcessLayout layout = linux_process::lay_out_process(program.image, window_begin, fleet.memory, options);
    if (forks) {
      (void)find_device(fleet.device);  // a mistake there is told at once
      common = linux_process::run_common_part(layout, fleet, options);
    }
    lanes += program.lanes;
    Impl::PlacedProcess process = {lanes, layout.stack, layout.lane_bytes, options.arguments, options.arguments};
    name_input_file(process.arguments_with_file);
    laid_out.push_back({{std::move(layout.program), program.lanes}, std::move(process)});
  }
  impl_ = std::make_unique<Impl>(laid_out, fleet, options, common ? &*common : nullptr);
}
LinuxFleet::~LinuxFleet() {
  if (impl_->fleet.inherited()) (void)impl_.release();  // a thread that is not here may have been changing it
}

Fleet& LinuxFleet::fleet() { return impl_->fleet; }

RunResult LinuxFleet::run(const std::function<void(const LinuxProgress&)>& progress) {
  LinuxRunOptions options;
  options.progress = progress;
  return run(options);
}

RunResult LinuxFleet::run(const LinuxRunOptions& options) {
  (void)impl_->fleet.lanes();  // throws if the fleet is closed or inherited
  return impl_->run(options);
}

void LinuxFleet::restart(std::span<const uint32_t> lanes, std::span<const uint64_t> numbers,
                         std::span<ProcessInput> inputs) {
  impl_->restart(lanes, numbers, inputs);
}

bool LinuxFleet::takes_inputs(bool as_file) const { return impl_->takes_inputs(as_file); }
void LinuxFleet::work_off(InputRun run, uint64_t instructions) { impl_->work_off(std::move(run), instructions); }

void LinuxFleet::cancel() { impl_->cancel(); }
bool LinuxFleet::is_cancelled() const { return impl_->cancelled; }

LaneOutcome LinuxFleet::outcome(uint32_t lane) const {
  impl_->check_lane(lane);
  return lane_outcome(impl_->fleet.stops()[lane]);
}

std::span<const uint8_t> LinuxFleet::standard_output(uint32_t lane) const {
  impl_->check_lane(lane);
  return impl_->processes->output(lane, 1);
}
std::span<const uint8_t> LinuxFleet::standard_error(uint32_t lane) const {
  impl_->check_lane(lane);
  return impl_->processes->output(lane, 2);
}
std::map<std::string, UnimplementedCall> LinuxFleet::unimplemented() const {
  (void)impl_->fleet.lanes();  // throws if the fleet is closed or inherited
  return impl_->processes->unimplemented_calls();
}

}  // namespace myriarm
