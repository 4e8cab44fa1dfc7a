// SPDX-License-Identifier: Apache-2.0
// LinuxFleet: makes a fleet of processes and alternates between running lanes and serving their system calls.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "linux/admission.h"
#include "linux/process_layout.h"
#include "linux/syscall_server.h"
#include "myriarm/linux.h"

namespace myriarm {
namespace {

using linux_process::InitialStack;
using linux_process::LaneBytes;
using linux_process::ProcessLayout;
using linux_process::SyscallServer;

/// Seconds between two calls of `progress` while lanes run.
constexpr double kProgressInterval = 0.25;
/// Instructions of a lane in a round while other lanes wait to begin: some milliseconds, so that one that computes for
/// long does not keep them waiting.
constexpr uint64_t kSlice = 2'000'000;
/// The same if lanes that have ended may be restarted: until the round ends they are idle.
constexpr uint64_t kSliceOfQueue = 200'000;

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
  for (uint32_t lane : options.traced_lanes) {
    if (lane >= lanes) {
      throw ArgumentError("traced_lanes names lane " + std::to_string(lane) + ", and the fleet has lanes 0 to " +
                          std::to_string(lanes - 1));
    }
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

int linux_signal(const Stop& stop) {
  switch (stop.reason) {
    case StopReason::fault: return stop.fault == FaultKind::alignment ? SIGBUS : SIGSEGV;
    case StopReason::undefined:
    case StopReason::halt: return SIGILL;  // without a debugger HLT is an undefined instruction
    case StopReason::breakpoint: return SIGTRAP;
    case StopReason::exited: return stop.detail & kKilledStatus ? static_cast<int>(stop.detail & 0xff) : 0;
    default: return 0;
  }
}

struct LinuxFleet::Impl {
  Impl(const ProcessLayout& layout, const FleetOptions& fleet_options, LinuxOptions& options)
      : fleet(layout.program, fleet_options),
        seed(options.seed),
        keep_memory(options.keep_memory),
        stack(layout.stack),
        lane_bytes(layout.lane_bytes),
        server(fleet, layout, options, cancelled),
        arguments(std::move(options.arguments)),
        environment(std::move(options.environment)),
        arguments_with_file(arguments) {
    name_input_file(arguments_with_file);
    if (options.restartable) beginning.emplace(fleet.snapshot());
    std::vector<uint32_t> lanes(fleet.lanes());
    std::iota(lanes.begin(), lanes.end(), 0);
    const auto& own_arguments = options.lane_arguments;
    const auto& own_environments = options.lane_environments;
    write_stacks(lanes, {}, [&](size_t lane) {
      return Words{own_arguments.empty() ? nullptr : &own_arguments[lane],
                   own_environments.empty() ? nullptr : &own_environments[lane]};
    });
  }

  /// What a process has of its own; null: what all have.
  struct Words {
    const std::vector<std::string>* arguments;
    const std::vector<std::string>* environment;
  };

  /// Writes what the stack of each lane has of its own: all of it, or LaneBytes. `numbers`: see restart(); empty: those of
  /// the lanes. `words_of(i)` gives the Words of lanes[i].
  template <class WordsOf>
  void write_stacks(std::span<const uint32_t> lanes, std::span<const uint64_t> numbers, WordsOf words_of) {
    constexpr size_t kBatchBytes = size_t{16} << 20;
    std::vector<Transfer> transfers;
    std::vector<uint8_t> buffer;
    std::vector<uint32_t> moved;  // lanes whose stack pointer is not the program's
    std::vector<uint64_t> stack_pointers;
    for (size_t i = 0; i < lanes.size(); i++) {
      const LaneBytes own = linux_process::lane_bytes(seed, numbers.empty() ? lanes[i] : numbers[i]);
      std::span<const uint8_t> bytes = own;
      uint64_t address = lane_bytes;
      InitialStack whole;
      if (const Words words = words_of(i); words.arguments || words.environment || lane_bytes == 0) {
        whole = linux_process::initial_stack(stack, words.arguments ? *words.arguments : arguments,
                                             words.environment ? *words.environment : environment);
        std::copy(own.begin(), own.end(), &whole.bytes[whole.lane_bytes - whole.stack_pointer]);
        bytes = whole.bytes;
        address = whole.stack_pointer;
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
    for (ProcessInput& input : inputs) {
      if (input.file && input.arguments) name_input_file(*input.arguments);
    }
    fleet.restore(*beginning, lanes);
    for (size_t i = 0; i < lanes.size(); i++) server.restart(lanes[i], numbers[i], inputs[i]);
    write_stacks(lanes, numbers, [&](size_t i) {
      const bool named = inputs[i].file && arguments_with_file != arguments;
      return Words{inputs[i].arguments ? &*inputs[i].arguments
                   : named             ? &arguments_with_file
                                       : nullptr,
                   inputs[i].environment ? &*inputs[i].environment : nullptr};
    });
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
  /// Whether cancel() was called since the last call of take_cancel().
  bool take_cancel() {
    std::lock_guard lock(mutex);
    return cancelled.exchange(false);
  }
  /// Uses up a cancel of the fleet that came too late, so that it does not end the next run. Every lane has a stop, so
  /// this run executes nothing.
  void take_back_cancel() {
    RunOptions options;
    options.go_on = false;
    fleet.run(options);
  }
  void check_lane(uint32_t lane) const {
    if (lane < fleet.lanes()) return;
    throw ArgumentError("there is no lane " + std::to_string(lane) + "; the fleet has lanes 0 to " +
                        std::to_string(fleet.lanes() - 1));
  }

  Fleet fleet;
  std::atomic<bool> cancelled = false;  ///< written with `mutex` held
  const uint64_t seed;
  const bool keep_memory;
  const linux_process::StackFacts stack;
  const uint64_t lane_bytes;  ///< address of LaneBytes on the stack that the program has; 0: it has none
  SyscallServer server;
  std::vector<std::string> arguments, environment, arguments_with_file;
  std::optional<Snapshot> beginning;  ///< before anything was written to the stacks
  std::mutex mutex;
};

/// One call of LinuxFleet::run().
class LinuxFleet::Impl::Run {
 public:
  Run(Impl& impl, const LinuxRunOptions& run)
      : run_(run),
        fleet_(impl.fleet),
        server_(impl.server),
        admission_(fleet_, !impl.keep_memory),
        keep_memory_(impl.keep_memory) {
    options_.go_on = false;  // a lane that has reached its limit is done
  }

  RunResult go(Impl& impl) {
    const auto& progress = run_.progress;
    const auto begin = std::chrono::steady_clock::now();
    auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
    if (progress) options_.timeout = kProgressInterval;
    find_lanes();
    while (true) {
      serve();
      retry_starved();
      tell_ended();
      begin_more();
      const uint64_t left = active_.size() + starved_.size() + waiting();
      if (progress) progress({fleet_.lanes() - left, total_.instructions, seconds()});
      if (active_.empty()) break;
      if (impl.take_cancel()) {
        active_.insert(active_.end(), lanes_.begin() + static_cast<ptrdiff_t>(begun_), lanes_.end());
        fleet_.set_stops(active_, std::vector<Stop>(active_.size(), {StopReason::cancelled, FaultKind::none, 0, 0}));
        impl.take_back_cancel();
        break;
      }
      execute();
    }
    total_.seconds = seconds();
    if (impl.take_cancel()) impl.take_back_cancel();  // it came too late for this run and must not end the next
    lanes_.insert(lanes_.end(), first_calling_.begin(), first_calling_.end());
    impl.sum_up(total_, lanes_);
    return total_;
  }

 private:
  uint64_t waiting() const { return lanes_.size() - begun_; }

  void find_lanes() {
    server_.retry_stores();
    const std::span<const Stop> stops = fleet_.stops();
    for (uint32_t lane = 0; lane < fleet_.lanes(); lane++) {
      if (is_final(stops[lane].reason) || server_.has_pending_store(lane)) continue;
      (stops[lane].reason == StopReason::syscall ? first_calling_ : lanes_).push_back(lane);
    }
    calling_ = first_calling_;
    admission_.begun(calling_.size());
  }

  /// Serves the lanes that have stopped at an SVC. `active_` becomes those that go on.
  void serve() {
    const SyscallServer::Served served = server_.serve(calling_);
    total_.instructions -= std::min(total_.instructions, served.taken_back);
    active_.insert(active_.end(), served.resumed.begin(), served.resumed.end());
    starved_.insert(starved_.end(), served.starved.begin(), served.starved.end());
    ended_.insert(ended_.end(), served.exited.begin(), served.exited.end());
    if (keep_memory_ || served.exited.empty()) return;
    fleet_.release_memory(served.exited);
    admission_.exited(served.exited.size());
    memory_was_freed_ = true;
  }

  /// Lets lanes that found no memory try again, once other lanes have given theirs back. If none is left to do so, they
  /// keep their stop.
  void retry_starved() {
    if (starved_.empty()) return;
    if (std::exchange(memory_was_freed_, false)) {
      server_.retry_stores();
      const auto waits = [&](uint32_t lane) { return server_.has_pending_store(lane); };
      const auto first = std::stable_partition(starved_.begin(), starved_.end(), waits);
      const std::vector<uint32_t> again(first, starved_.end());
      starved_.erase(first, starved_.end());
      if (!again.empty()) fleet_.resume(again);
      active_.insert(active_.end(), again.begin(), again.end());
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
      if (stops[i].reason != StopReason::none) paused.push_back(next[i]);
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
    options_.instructions = run_.on_ended ? kSliceOfQueue : waiting() != 0 ? kSlice : kEndless;
    const RunResult result = fleet_.run(options_);
    total_.instructions += result.instructions;
    total_.batches += result.batches;
    std::vector<Stop> stops(active_.size());
    fleet_.get_stops(active_, stops);
    calling_.clear();
    std::vector<uint32_t> paused;  // by the time-out, by cancel(), or at the end of its slice
    std::vector<uint32_t> at_budget;
    for (size_t i = 0; i < stops.size(); i++) {
      switch (stops[i].reason) {
        case StopReason::syscall: calling_.push_back(active_[i]); break;
        case StopReason::cancelled: paused.push_back(active_[i]); break;
        case StopReason::budget: at_budget.push_back(active_[i]); break;
        case StopReason::out_of_memory: starved_.push_back(active_[i]); break;
        default: ended_.push_back(active_[i]); break;
      }
    }
    sort_by_limit(at_budget, paused);
    if (!paused.empty()) fleet_.resume(paused);
    active_ = std::move(paused);
  }

  const LinuxRunOptions& run_;
  Fleet& fleet_;
  SyscallServer& server_;
  linux_process::Admission admission_;
  const bool keep_memory_;
  RunOptions options_;
  RunResult total_;
  std::vector<uint32_t> first_calling_;  // lanes that were at an SVC when the run began
  std::vector<uint32_t> lanes_;          // the others that take part; those from begun_ on wait for their turn
  size_t begun_ = 0;
  std::vector<uint32_t> active_;   // they run next
  std::vector<uint32_t> calling_;  // they have stopped at an SVC
  std::vector<uint32_t> starved_;  // they have stopped with out_of_memory
  std::vector<uint32_t> ended_;    // since on_ended was called
  size_t slow_ = 0;                // of active_: those that spent a whole slice
  bool memory_was_freed_ = false;  // since starved lanes last tried
};

RunResult LinuxFleet::Impl::run(const LinuxRunOptions& options) { return Run(*this, options).go(*this); }

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

LinuxFleet::LinuxFleet(const ElfImage& image, const FleetOptions& fleet, LinuxOptions options) {
  check_options(options, fleet.lanes);
  if (!options.files.empty()) {
    name_input_file(options.arguments);
    for (std::vector<std::string>& arguments : options.lane_arguments) name_input_file(arguments);
  }
  const ProcessLayout layout = linux_process::lay_out_process(image, fleet.memory, options);
  impl_ = std::make_unique<Impl>(layout, fleet, options);
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

void LinuxFleet::cancel() { impl_->cancel(); }
bool LinuxFleet::is_cancelled() const { return impl_->cancelled; }

LaneOutcome LinuxFleet::outcome(uint32_t lane) const {
  impl_->check_lane(lane);
  LaneOutcome outcome;
  outcome.stop = impl_->fleet.stops()[lane];
  outcome.signal = linux_signal(outcome.stop);
  if (outcome.stop.reason == StopReason::exited && !outcome.signal) {
    outcome.exit_status = static_cast<int>(outcome.stop.detail);
  }
  return outcome;
}

std::span<const uint8_t> LinuxFleet::standard_output(uint32_t lane) const {
  impl_->check_lane(lane);
  return impl_->server.output(lane, 0);
}
std::span<const uint8_t> LinuxFleet::standard_error(uint32_t lane) const {
  impl_->check_lane(lane);
  return impl_->server.output(lane, 1);
}
std::map<std::string, UnimplementedCall> LinuxFleet::unimplemented() const {
  (void)impl_->fleet.lanes();  // throws if the fleet is closed or inherited
  return impl_->server.unimplemented_calls();
}

}  // namespace myriarm
