// SPDX-License-Identifier: Apache-2.0
// LinuxFleet: makes a fleet of processes and alternates between running lanes and serving their system calls.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <utility>

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
void name_input_file(LinuxOptions& options) {
  const auto replace = [](std::vector<std::string>& arguments) {
    constexpr std::string_view kMark = kInputFileMark, kPath = kInputFile;
    for (std::string& argument : arguments) {
      for (size_t at = 0; (at = argument.find(kMark, at)) != std::string::npos; at += kPath.size()) {
        argument.replace(at, kMark.size(), kPath);
      }
    }
  };
  replace(options.arguments);
  for (std::vector<std::string>& arguments : options.lane_arguments) replace(arguments);
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
      : fleet(layout.program, fleet_options), seed(options.seed), server(fleet, layout, options, cancelled) {
    write_stacks(layout, options);
  }

  /// Writes what the stack of each lane has of its own: all of it, or LaneBytes.
  void write_stacks(const ProcessLayout& layout, const LinuxOptions& options) {
    constexpr size_t kBatchBytes = size_t{16} << 20;
    const bool whole = layout.lane_bytes == 0;
    std::vector<Transfer> transfers;
    std::vector<uint8_t> buffer;
    std::vector<uint64_t> stack_pointers;
    for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
      const LaneBytes own = linux_process::lane_bytes(seed, lane);
      std::span<const uint8_t> bytes = own;
      uint64_t address = layout.lane_bytes;
      InitialStack stack;
      if (whole) {
        stack = linux_process::initial_stack(
            layout.stack, options.lane_arguments.empty() ? options.arguments : options.lane_arguments[lane],
            options.lane_environments.empty() ? options.environment : options.lane_environments[lane]);
        std::copy(own.begin(), own.end(), &stack.bytes[stack.lane_bytes - stack.stack_pointer]);
        bytes = stack.bytes;
        address = stack.stack_pointer;
        stack_pointers.push_back(address);
      }
      transfers.push_back({lane, static_cast<uint32_t>(bytes.size()), address, buffer.size()});
      buffer.insert(buffer.end(), bytes.begin(), bytes.end());
      if (buffer.size() < kBatchBytes && lane + 1 < fleet.lanes()) continue;
      fleet.write(transfers, buffer);
      transfers.clear();
      buffer.clear();
    }
    if (whole) fleet.set_all(Field::sp, stack_pointers);
  }

  RunResult run(const std::function<void(const LinuxProgress&)>& progress);
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
  SyscallServer server;
  std::mutex mutex;
};

RunResult LinuxFleet::Impl::run(const std::function<void(const LinuxProgress&)>& progress) {
  RunResult total;
  auto begin = std::chrono::steady_clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };

  server.retry_stores();
  std::vector<uint32_t> calling, paused, active, all;
  std::span<const Stop> stops = fleet.stops();
  for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
    if (is_final(stops[lane].reason) || server.has_pending_store(lane)) continue;
    all.push_back(lane);
    if (stops[lane].reason == StopReason::syscall) calling.push_back(lane);
    else if (stops[lane].reason == StopReason::none) active.push_back(lane);
    else paused.push_back(lane);
  }
  uint64_t done = fleet.lanes() - all.size();
  RunOptions options;
  options.go_on = false;  // a lane that has reached its limit is done
  if (progress) options.timeout = kProgressInterval;
  while (true) {
    if (!paused.empty()) fleet.resume(paused);
    active.insert(active.end(), paused.begin(), paused.end());
    const SyscallServer::Served served = server.serve(calling);
    total.instructions -= std::min(total.instructions, served.taken_back);
    done += calling.size() - served.resumed.size();
    active.insert(active.end(), served.resumed.begin(), served.resumed.end());
    if (progress) progress({done, total.instructions, seconds()});
    if (active.empty()) break;
    if (take_cancel()) {
      fleet.set_stops(active, std::vector<Stop>(active.size(), {StopReason::cancelled, FaultKind::none, 0, 0}));
      take_back_cancel();
      break;
    }
    const RunResult result = fleet.run(options);
    total.instructions += result.instructions;
    total.batches += result.batches;
    calling.clear();
    paused.clear();
    stops = fleet.stops();
    for (uint32_t lane : active) {
      if (stops[lane].reason == StopReason::syscall) calling.push_back(lane);
      else if (stops[lane].reason == StopReason::cancelled) paused.push_back(lane);
      else done++;
    }
    active.clear();
  }
  total.seconds = seconds();
  if (take_cancel()) take_back_cancel();  // it came too late for this run and must not end the next
  sum_up(total, all);
  return total;
}

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
  if (!options.files.empty()) name_input_file(options);
  const ProcessLayout layout = linux_process::lay_out_process(image, fleet.memory, options);
  impl_ = std::make_unique<Impl>(layout, fleet, options);
}
LinuxFleet::~LinuxFleet() {
  if (impl_->fleet.inherited()) (void)impl_.release();  // a thread that is not here may have been changing it
}

Fleet& LinuxFleet::fleet() { return impl_->fleet; }

RunResult LinuxFleet::run(const std::function<void(const LinuxProgress&)>& progress) {
  (void)impl_->fleet.lanes();  // throws if the fleet is closed or inherited
  return impl_->run(progress);
}

void LinuxFleet::cancel() { impl_->cancel(); }

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
