// SPDX-License-Identifier: Apache-2.0
#include "linux/common_part.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <span>

#include "linux/input_calls.h"
#include "support/text.h"

namespace myriarm::linux_process {
namespace {

using Kind = ForkPoint::Kind;

constexpr uint32_t kBreakpoint = 0xd4200000;  // BRK #0
constexpr uint64_t kInstructionBytes = 4;

std::string name_of(const ForkPoint& point) {
  if (point.kind == Kind::read) return "a call that reads its input";
  return point.name.empty() ? hex(point.address) : point.name;
}

/// How a process has ended, as the rest of "the process ...".
std::string end_of(const Stop& stop) {
  if (const int signal = linux_signal(stop)) return "is ended by signal " + std::to_string(signal);
  if (stop.reason == StopReason::exited) return "exits with " + std::to_string(stop.detail);
  return std::string("stops (") + name(stop.reason) + ")";
}

/// The one lane that runs the common part.
class CommonLane {
 public:
  CommonLane(const ProcessLayout& layout, const FleetOptions& options, const LinuxOptions& process)
      : name_(layout.stack.program),
        point_(process.fork_after),
        limit_(process.fork_limit),
        lane_bytes_(layout.lane_bytes),
        own_bytes_(linux_process::lane_bytes(process.seed, 0)),
        processes_(make_processes(options, process)),
        fleet_(layout.program, fleet_options(options, process)) {
    fleet_.write(0, lane_bytes_, own_bytes_);
  }

  CommonPart run() {
    if (point_.kind == Kind::address) run_to_address();
    else run_to_input();
    CommonPart part;
    const auto digits = std::span(own_bytes_).first(kLaneDigitBytes);
    if (std::ranges::equal(mapped_bytes(fleet_, lane_bytes_, kLaneDigitBytes), digits)) part.lane_digits = lane_bytes_;
    part.program = fleet_.freeze(0);
    for (unsigned stream : {1u, 2u}) {
      const std::span<const uint8_t> bytes = processes_->output(0, stream);
      part.output[stream - 1].assign(bytes.begin(), bytes.end());
    }
    part.unimplemented = processes_->unimplemented_calls();
    return part;
  }

 private:
  std::shared_ptr<Processes> make_processes(const FleetOptions& fleet, const LinuxOptions& given) const {
    LinuxOptions options;
    options.seed = given.seed;
    options.root = given.root;
    options.output_limit = Processes::output_share(given.output_limit, fleet.lanes);
    options.on_call = given.on_call;
    auto processes = std::make_shared<Processes>(1, options, cancelled_);
    processes->keep_breakpoints();
    return processes;
  }

  FleetOptions fleet_options(const FleetOptions& given, const LinuxOptions& process) const {
    FleetOptions options;
    options.device = "cpu";
    options.memory = given.memory;
    options.threads = 1;
    options.engine = given.engine;
    options.compile_threads = given.compile_threads;
    options.translation_cache = given.translation_cache;
    options.processes = {processes_, process.seed, true, false};
    return options;
  }

  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    throw ArgumentError(name_ + ": " + what + "; " + remedy);
  }

  /// Runs until the process stops, and returns why. A call that asks for input is not made.
  Stop run_to_stop() {
    RunOptions options;
    options.instructions = limit_;
    options.on_syscall = [](Fleet& fleet, const SyscallBatch& batch) {
      if (asks_for_input(fleet, static_cast<uint32_t>(batch.numbers[0]), batch.arguments)) {
        batch.actions[0] = SyscallAction::stop;
      }
    };
    fleet_.run(options);
    return fleet_.stops()[0];
  }

  [[noreturn]] void fail_before_point(const Stop& stop) const {
    const std::string point = name_of(point_);
    if (stop.reason == StopReason::syscall) {
      fail("the process asks for its input before it comes to " + point,
           "fork it at the first such call, which is the point 'read'");
    }
    if (stop.reason == StopReason::budget) {
      fail("the process does not come to " + point + " in " + std::to_string(limit_) + " instructions",
           "give a point that it comes to");
    }
    fail("the process " + end_of(stop) + " before it comes to " + point, "give a point that it comes to");
  }

  void run_to_address() {
    const uint64_t address = point_.address, page = address / kPageBytes * kPageBytes;
    uint8_t permissions = 0;
    if (page >= fleet_.memory_begin() && page < fleet_.memory_end()) {
      const uint32_t lane = 0;
      fleet_.permissions({&lane, 1}, page, kPageBytes, {&permissions, 1});
    }
    if (address % kInstructionBytes != 0 || !(permissions & kExecute)) {
      fail(name_of(point_) + " is no address of an instruction", "give one, or the name of a function");
    }
    const std::vector<uint8_t> instruction = fleet_.read(0, address, kInstructionBytes);
    std::array<uint8_t, kInstructionBytes> breakpoint;
    std::memcpy(breakpoint.data(), &kBreakpoint, sizeof kBreakpoint);
    fleet_.write(0, address, breakpoint);
    const Stop stop = run_to_stop();
    if (stop.reason != StopReason::breakpoint || fleet_.get(Field::pc, 0) != address) fail_before_point(stop);
    fleet_.write(0, address, instruction);
  }

  void run_to_input() {
    const Stop stop = run_to_stop();
    if (stop.reason != StopReason::syscall) fail_before_point(stop);
    // The SVC has retired. Each lane executes it again, with its own input.
    fleet_.set(Field::pc, 0, fleet_.get(Field::pc, 0) - kInstructionBytes);
    fleet_.set(Field::instructions, 0, fleet_.get(Field::instructions, 0) - 1);
  }

  const std::string name_;
  const ForkPoint point_;
  const uint64_t limit_;
  const uint64_t lane_bytes_;
  const LaneBytes own_bytes_;
  const std::atomic<bool> cancelled_ = false;
  const std::shared_ptr<Processes> processes_;
  Fleet fleet_;
};

}  // namespace

CommonPart run_common_part(const ProcessLayout& layout, const FleetOptions& fleet, const LinuxOptions& options) {
  return CommonLane(layout, fleet, options).run();
}

}  // namespace myriarm::linux_process
