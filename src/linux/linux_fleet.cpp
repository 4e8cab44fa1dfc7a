// SPDX-License-Identifier: Apache-2.0
// LinuxFleet: makes a fleet of processes and alternates between running lanes and serving their system calls.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include "linux/process_layout.h"
#include "linux/syscall_server.h"
#include "myriarm/linux.h"

namespace myriarm {
namespace {

using linux_process::LaneBytes;
using linux_process::ProcessLayout;
using linux_process::SyscallServer;

/// Ends Fleet::run() some times a second, so that progress can be shown while lanes compute.
class Ticker {
 public:
  explicit Ticker(Fleet& fleet) : fleet_(fleet), thread_([this] { work(); }) {}
  ~Ticker() {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::milliseconds(250), [this] { return done_; })) fleet_.cancel();
  }
  Fleet& fleet_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

/// A stop that run() ends with, whatever the time it is given.
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

int linux_signal(const Stop& stop) {
  switch (stop.reason) {
    case StopReason::fault: return stop.fault == FaultKind::alignment ? SIGBUS : SIGSEGV;
    case StopReason::undefined:
    case StopReason::halt: return SIGILL;  // HLT is undefined without a debugger
    case StopReason::breakpoint: return SIGTRAP;
    default: return 0;
  }
}

struct LinuxFleet::Impl {
  Impl(const ProcessLayout& layout, const FleetOptions& fleet_options, const LinuxOptions& options)
      : fleet(layout.program, fleet_options), server(fleet, layout, options) {
    write_lane_bytes(layout.lane_bytes, options.seed);
  }

  void write_lane_bytes(uint64_t address, uint64_t seed) {
    std::vector<Transfer> transfers;
    std::vector<uint8_t> buffer;
    for (uint64_t lane = 0; lane < fleet.lanes(); lane++) {
      LaneBytes bytes = linux_process::lane_bytes(seed, static_cast<uint32_t>(lane));
      transfers.push_back({static_cast<uint32_t>(lane), static_cast<uint32_t>(bytes.size()), address, buffer.size()});
      buffer.insert(buffer.end(), bytes.begin(), bytes.end());
    }
    fleet.write(transfers, buffer);
  }

  RunResult run(const std::function<void(const LinuxProgress&)>& progress);

  Fleet fleet;
  SyscallServer server;
  void check_lane(uint32_t lane) const {
    if (lane < fleet.lanes()) return;
    throw ArgumentError("there is no lane " + std::to_string(lane) + "; the fleet has " +
                        std::to_string(fleet.lanes()));
  }

  std::atomic<bool> cancelled = false;
};

RunResult LinuxFleet::Impl::run(const std::function<void(const LinuxProgress&)>& progress) {
  RunResult total;
  auto begin = std::chrono::steady_clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };

  server.retry_stores();
  std::vector<uint32_t> calling, paused, active;
  std::span<const Stop> stops = fleet.stops();
  for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
    if (is_final(stops[lane].reason) || server.has_pending_store(lane)) continue;
    if (stops[lane].reason == StopReason::syscall) calling.push_back(lane);
    else if (stops[lane].reason == StopReason::none) active.push_back(lane);
    else paused.push_back(lane);
  }
  uint64_t done = fleet.lanes() - calling.size() - active.size() - paused.size();
  {
    std::unique_ptr<Ticker> ticker;
    if (progress) ticker = std::make_unique<Ticker>(fleet);
    while (true) {
      if (!paused.empty()) fleet.resume(paused);
      active.insert(active.end(), paused.begin(), paused.end());
      std::vector<uint32_t> served = server.serve(calling);
      done += calling.size() - served.size();
      active.insert(active.end(), served.begin(), served.end());
      if (progress) progress({done, total.instructions, seconds()});
      if (active.empty()) break;
      if (cancelled.exchange(false)) {
        fleet.set_stops(active, std::vector<Stop>(active.size(), {StopReason::cancelled, FaultKind::none, 0, 0}));
        break;
      }
      total.instructions += fleet.run().instructions;
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
  }
  total.seconds = seconds();
  // A tick that came too late would end the next run of the fleet: this one, in which no lane runs.
  if (progress) fleet.run();
  for (const Stop& stop : fleet.stops()) total.stopped += stop.reason != StopReason::none;
  return total;
}

LinuxFleet::LinuxFleet(const ElfImage& image, const FleetOptions& fleet, const LinuxOptions& options)
    : impl_(std::make_unique<Impl>(linux_process::lay_out_process(image, fleet.memory, options), fleet, options)) {}
LinuxFleet::~LinuxFleet() = default;

Fleet& LinuxFleet::fleet() { return impl_->fleet; }

RunResult LinuxFleet::run(const std::function<void(const LinuxProgress&)>& progress) { return impl_->run(progress); }

void LinuxFleet::cancel() {
  impl_->cancelled = true;
  impl_->fleet.cancel();
}

LaneOutcome LinuxFleet::outcome(uint32_t lane) const {
  impl_->check_lane(lane);
  LaneOutcome outcome;
  outcome.stop = impl_->fleet.stops()[lane];
  if (outcome.stop.reason == StopReason::exited) outcome.exit_status = static_cast<int>(outcome.stop.detail);
  outcome.signal = linux_signal(outcome.stop);
  return outcome;
}

const std::vector<uint8_t>& LinuxFleet::standard_output(uint32_t lane) const {
  impl_->check_lane(lane);
  return impl_->server.output(lane, 0);
}
const std::vector<uint8_t>& LinuxFleet::standard_error(uint32_t lane) const {
  impl_->check_lane(lane);
  return impl_->server.output(lane, 1);
}
std::map<std::string, uint64_t> LinuxFleet::unimplemented() const { return impl_->server.unimplemented_calls(); }

}  // namespace myriarm
