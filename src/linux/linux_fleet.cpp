// SPDX-License-Identifier: Apache-2.0
// LinuxFleet: makes a fleet of processes, and puts them back to their beginning with other inputs.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "linux/linux_fleet_impl.h"

namespace myriarm {
namespace {

using linux_process::CommonPart;
using linux_process::InitialStack;
using linux_process::LaneBytes;
using linux_process::Processes;
using linux_process::ProcessLayout;

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
  // If it is restartable, they are numbers of inputs.
  for (uint32_t lane : options.traced_lanes) {
    if (!options.restartable && lane >= lanes) {
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

using Words = std::vector<std::string>;
const Words* pointer_to(const std::optional<Words>& words) { return words ? &*words : nullptr; }

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

LinuxFleet::Impl::Impl(std::vector<LaidOut>& programs, const FleetOptions& fleet_options, LinuxOptions& options,
                       CommonPart* common)
    : seed(options.seed),
      keep_memory(options.keep_memory),
      keep_files(options.keep_files || !options.collect.empty()),
      root(options.root),
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
  if (!options.restartable || (own_arguments.empty() && own_environments.empty())) return;
  for (uint32_t lane : lanes) {  // for begin_again()
    ProcessInput words;
    if (!own_arguments.empty()) words.arguments = std::move(options.lane_arguments[lane]);
    if (!own_environments.empty()) words.environment = std::move(options.lane_environments[lane]);
    processes->restart(lane, lane, words);
  }
}

std::shared_ptr<Processes> LinuxFleet::Impl::make_processes(const std::vector<LaidOut>& programs, LinuxOptions& options,
                                                            CommonPart* common) const {
  uint64_t lanes = 0;
  for (const LaidOut& program : programs) {
    if (program.placement.lanes <= kMostLanes) lanes += program.placement.lanes;  // the fleet refuses more
  }
  auto made = std::make_shared<Processes>(lanes, options, cancelled);
  if (common) made->begin_with(std::move(common->output), std::move(common->unimplemented));
  return made;
}

Fleet LinuxFleet::Impl::make_fleet(std::vector<LaidOut>& programs, FleetOptions made, CommonPart* common) const {
  made.processes = {processes, seed, keep_memory, keep_files};
  std::vector<Placement> placements;
  placements.reserve(programs.size());
  for (LaidOut& program : programs) placements.push_back(std::move(program.placement));
  if (common) placements.front().program = common->program;
  return {placements, made};
}

const LinuxFleet::Impl::PlacedProcess& LinuxFleet::Impl::placed_at(uint32_t lane) const {
  return *std::upper_bound(placed.begin(), placed.end(), lane,
                           [](uint32_t value, const PlacedProcess& process) { return value < process.lanes_end; });
}

std::optional<InitialStack> LinuxFleet::Impl::whole_stack(const PlacedProcess& process,
                                                          const std::vector<std::string>* own_arguments,
                                                          const std::vector<std::string>* own_environment) const {
  if (forked || (!own_arguments && !own_environment && process.lane_bytes != 0)) return std::nullopt;
  return linux_process::initial_stack(process.stack, own_arguments ? *own_arguments : process.arguments,
                                      own_environment ? *own_environment : environment);
}

std::optional<InitialStack> LinuxFleet::Impl::stack_of(uint32_t lane, const std::vector<std::string>* own_arguments,
                                                       const std::vector<std::string>* own_environment,
                                                       bool has_file) const {
  const PlacedProcess& process = placed_at(lane);
  const bool named = has_file && process.arguments_with_file != process.arguments;
  return whole_stack(process, own_arguments == nullptr && named ? &process.arguments_with_file : own_arguments,
                     own_environment);
}

template <class StackOf>
void LinuxFleet::Impl::write_stacks(std::span<const uint32_t> lanes, std::span<const uint64_t> numbers,
                                    StackOf stack_of) {
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

void LinuxFleet::Impl::restart(std::span<const uint32_t> lanes, std::span<const uint64_t> numbers,
                               std::span<ProcessInput> inputs) {
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
    stacks[i] = stack_of(lanes[i], pointer_to(input.arguments), pointer_to(input.environment), input.file.has_value());
  }
  const auto tell_processes = [&] {
    for (size_t i = 0; i < lanes.size(); i++) processes->restart(lanes[i], numbers[i], inputs[i]);
  };
  if (give_beginning(lanes, numbers, tell_processes, [&](size_t i) { return std::move(stacks[i]); })) return;
  fleet.set(Field::limit, lanes, std::vector<uint64_t>(lanes.size(), kEndless));  // as at the beginning
}

template <class TellProcesses, class StackOf>
bool LinuxFleet::Impl::give_beginning(std::span<const uint32_t> lanes, std::span<const uint64_t> numbers,
                                      TellProcesses tell_processes, StackOf stack_of) {
  // A device that has failed, and not only has no room, says so again at the next call.
  const auto finds_room = [](auto&& work) {
    try {
      work();
    } catch (const DeviceError&) {
      return false;
    }
    return true;
  };
  bool has_room = finds_room([&] { fleet.restore(*beginning, lanes); });
  tell_processes();
  fleet.process_inputs_changed(lanes);
  has_room = has_room && finds_room([&] { write_stacks(lanes, numbers, stack_of); });
  if (has_room) {
    for (const uint32_t lane : lanes) without_room.erase(lane);
    return true;
  }
  fleet.release_memory(lanes);
  fleet.set_stops(lanes, std::vector<Stop>(lanes.size(), {StopReason::out_of_memory, FaultKind::none, 0, 0}));
  without_room.insert(lanes.begin(), lanes.end());
  return false;
}

bool LinuxFleet::Impl::begin_again(std::span<const uint32_t> lanes) {
  std::vector<Processes::Given> given;
  std::vector<uint64_t> numbers, limits(lanes.size());
  std::vector<std::optional<InitialStack>> stacks;
  for (uint32_t lane : lanes) {
    given.push_back(processes->given(lane));
    numbers.push_back(given.back().number);
    const Processes::OwnInput none, &own = given.back().input ? *given.back().input : none;
    stacks.push_back(stack_of(lane, pointer_to(own.arguments), pointer_to(own.environment), own.file.has_value()));
  }
  fleet.get(Field::limit, lanes, limits);
  const auto tell_processes = [&] {
    for (size_t i = 0; i < lanes.size(); i++) processes->begin_again(lanes[i], given[i]);
  };
  const bool has_room = give_beginning(lanes, numbers, tell_processes, [&](size_t i) { return std::move(stacks[i]); });
  fleet.set(Field::limit, lanes, limits);
  return has_room;
}

bool LinuxFleet::Impl::takes_inputs(bool as_file) const {
  if (!beginning || placed.size() != 1 || !fleet.takes_inputs() || fleet.engine() == Engine::stepper) return false;
  if (!processes->inputs_are_bytes(as_file)) return false;
  // Without a common part, a process that has a file has other arguments.
  return forked || (placed[0].lane_bytes != 0 && (!as_file || placed[0].arguments == placed[0].arguments_with_file));
}

void LinuxFleet::Impl::work_off(InputRun run, uint64_t instructions) {
  run.instructions = instructions;
  processes->describe(run);
  run.start_bytes_at = forked ? lane_digits : placed[0].lane_bytes;
  run.start_bytes = forked ? kernel::kLaneDigitBytes : kernel::kStartBytes;
  run.cancelled = [this, asked = std::move(run.cancelled)] { return cancelled.load() || (asked && asked()); };
  note_waiting_cancel();
  if (!take_cancel()) fleet.work_off(*beginning, run);
  take_cancel();
}

void LinuxFleet::Impl::cancel() {
  (void)fleet.lanes();  // throws if the fleet is inherited; a thread that is not here may then hold the mutex
  std::lock_guard lock(mutex);
  cancelled = true;
  fleet.cancel();
}

void LinuxFleet::Impl::note_waiting_cancel() {
  std::lock_guard lock(mutex);
  if (!fleet.is_running()) cancelled = fleet.take_cancel();
}

bool LinuxFleet::Impl::take_cancel() {
  std::lock_guard lock(mutex);
  fleet.take_cancel();
  return cancelled.exchange(false);
}

void LinuxFleet::Impl::check_lane(uint32_t lane) const {
  if (lane < fleet.lanes()) return;
  throw ArgumentError("there is no lane " + std::to_string(lane) + "; the fleet has lanes 0 to " +
                      std::to_string(fleet.lanes() - 1));
}

LinuxFleet::LinuxFleet(const ElfImage& image, const FleetOptions& fleet, LinuxOptions options)
    : LinuxFleet(std::vector<LinuxPlacement>{{image, fleet.lanes, {}}}, fleet, std::move(options)) {}

LinuxFleet::LinuxFleet(std::span<const LinuxPlacement> programs, const FleetOptions& given, LinuxOptions options) {
  FleetOptions fleet = given;
  if (fleet.memory == kUsualMemory) fleet.memory = kLinuxMemory;
  check_placements(programs, options);
  uint64_t lanes = 0, window_begin = ~uint64_t{0};
  for (const LinuxPlacement& program : programs) {
    lanes += program.lanes;
    window_begin = std::min(window_begin, linux_process::window_begin_of(program.image));
  }
  check_options(options, lanes);
  if (options.root) linux_process::widen_window(window_begin, fleet.memory);
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

uint64_t LinuxFleet::lanes_left_out() const { return impl_->lanes_left_out; }
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
std::vector<CollectedFile> LinuxFleet::collect(uint32_t lane, const std::string& path, uint64_t most_bytes) const {
  impl_->check_lane(lane);
  if (!impl_->root) throw StateError("collect: the processes have no root, so that there are no files; give them one");
  return impl_->fleet.collect(lane, *impl_->root, path, most_bytes);
}
std::map<std::string, UnimplementedCall> LinuxFleet::unimplemented() const {
  (void)impl_->fleet.lanes();  // throws if the fleet is closed or inherited
  return impl_->processes->unimplemented_calls();
}

}  // namespace myriarm
