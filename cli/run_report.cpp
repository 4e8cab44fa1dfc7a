// SPDX-License-Identifier: Apache-2.0
// What `myriarm run` prints about a run that has ended. There may be hundreds of thousands of lanes: each field is
// fetched once for all of them, and JSON is written lane by lane.
#include "run_report.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>

#include "json_text.h"
#include "text.h"

namespace myriarm::cli {
namespace {

// The numbers that shells and coreutils' timeout use.
constexpr int kSignalStatus = 128;
constexpr int kBudgetStatus = 124;
constexpr int kCancelledStatus = kSignalStatus + SIGINT;
constexpr int kOutOfMemoryStatus = kSignalStatus + SIGKILL;
constexpr int kUnservedStatus = 1;
constexpr size_t kMostGroups = 10;

std::string signal_name(int number) {
  switch (number) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGILL: return "SIGILL";
    case SIGTRAP: return "SIGTRAP";
    case SIGABRT: return "SIGABRT";
    case SIGFPE: return "SIGFPE";
    case SIGPIPE: return "SIGPIPE";
    case SIGTERM: return "SIGTERM";
    case SIGKILL: return "SIGKILL";
    default: return fmt::format("signal {}", number);
  }
}

std::string_view text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// How a lane ended, in words that are the same for lanes that ended alike.
std::string verdict(const LaneOutcome& outcome) {
  std::string text = name(outcome.stop.reason);
  if (outcome.stop.reason == StopReason::exited) {
    return outcome.signal ? fmt::format("ended itself with {}", signal_name(outcome.signal))
                          : fmt::format("exited with {}", outcome.exit_status);
  }
  if (outcome.stop.reason == StopReason::fault) text += fmt::format(" ({})", name(outcome.stop.fault));
  if (outcome.signal) text += fmt::format(", {}", signal_name(outcome.signal));
  return text;
}

/// Numbers in rising order as text: "0-3, 7, 9-12". Long lists are cut short.
std::string lane_list(const std::vector<uint32_t>& lanes) {
  constexpr int kMostRanges = 8;
  std::string text;
  int ranges = 0;
  for (size_t i = 0; i < lanes.size(); ranges++) {
    size_t last = i;
    while (last + 1 < lanes.size() && lanes[last + 1] == lanes[last] + 1) last++;
    if (ranges == kMostRanges) return text + ", ...";
    text += fmt::format("{}{}", ranges ? ", " : "", lanes[i]);
    if (last > i) text += fmt::format("-{}", lanes[last]);
    i = last + 1;
  }
  return text;
}

struct Registers {
  std::vector<std::string> names;
  std::vector<std::vector<uint64_t>> values;  // by register, then by lane
};

Registers fetch_registers(const Fleet& fleet) {
  Registers registers;
  auto add = [&](std::string name, Field field) {
    registers.names.push_back(std::move(name));
    registers.values.emplace_back(fleet.lanes());
    fleet.get_all(field, registers.values.back());
  };
  for (unsigned n = 0; n <= 30; n++) add(fmt::format("x{}", n), x(n));
  add("sp", Field::sp);
  add("nzcv", Field::nzcv);
  return registers;
}

void print_all(std::string_view text, Output& to) {
  to.write(text);
  if (!text.empty() && text.back() != '\n') to.write("\n");
}

/// Writes the members of a JSON object that have what a lane wrote to a stream. Text alone would lose bytes that are not
/// UTF-8.
void write_stream(const char* name, std::span<const uint8_t> bytes, Output& to) {
  to.print(",\"{}\":", name);
  if (write_json_string(bytes, to)) return;
  to.print(",\"{}_base64\":", name);
  write_base64(bytes, to);
}

double ips(const RunResult& result) {
  return result.seconds > 0 ? static_cast<double>(result.instructions) / result.seconds : 0;
}

}  // namespace

LaneOutcome Run::outcome(uint32_t lane) const {
  if (process) return process->outcome(lane);
  LaneOutcome outcome;
  outcome.stop = fleet.stops()[lane];
  // A bare program ends with HLT or SVC, so HLT is no fault.
  if (outcome.stop.reason != StopReason::halt) outcome.signal = linux_signal(outcome.stop);
  return outcome;
}

std::span<const uint8_t> Run::output(uint32_t lane, bool error_stream) const {
  if (!process) return {};
  return error_stream ? process->standard_error(lane) : process->standard_output(lane);
}

int Run::exit_status(uint32_t lane) const {
  LaneOutcome end = outcome(lane);
  if (end.signal) return kSignalStatus + end.signal;
  switch (end.stop.reason) {
    case StopReason::exited: return end.exit_status;
    case StopReason::halt: return 0;
    case StopReason::budget: return kBudgetStatus;
    case StopReason::out_of_memory: return kOutOfMemoryStatus;
    case StopReason::syscall: return kUnservedStatus;
    default: return kCancelledStatus;
  }
}

int exit_status(const Run& run) {
  int highest = 0;
  for (uint32_t lane = 0; lane < run.fleet.lanes(); lane++) highest = std::max(highest, run.exit_status(lane));
  return highest;
}

void write_json(const Run& run, bool registers, Output& to) {
  using nlohmann::ordered_json;
  /// The text of an object without its closing brace, for members to follow.
  auto open_object = [](const ordered_json& value) {
    // Names of files need not be UTF-8.
    std::string text = value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    text.pop_back();
    return text;
  };
  Fleet& fleet = run.fleet;
  ordered_json head = {
      {"device", fleet.device().id},
      {"engine", name(fleet.engine())},
      {"lanes", fleet.lanes()},
      {"instructions", run.result.instructions},
      {"seconds", run.result.seconds},
      {"ips", ips(run.result)},
      {"unimplemented", ordered_json::object()},
  };
  const std::map<std::string, UnimplementedCall> missing =
      run.process ? run.process->unimplemented() : std::map<std::string, UnimplementedCall>();
  for (const auto& [name, call] : missing) {
    head["unimplemented"][name] = {
        {"count", call.count}, {"lane", call.lane}, {"pc", hex(call.pc)}, {"call", call.text}};
  }
  to.print("{},\"lane_results\":[", open_object(head));
  std::vector<uint64_t> pcs(fleet.lanes()), counts(fleet.lanes());
  fleet.get_all(Field::pc, pcs);
  fleet.get_all(Field::instructions, counts);
  Registers all;
  if (registers) all = fetch_registers(fleet);
  for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
    LaneOutcome end = run.outcome(lane);
    ordered_json entry = {
        {"lane", lane},      {"stop", name(end.stop.reason)}, {"exit_status", nullptr},
        {"signal", nullptr}, {"instructions", counts[lane]},  {"pc", hex(pcs[lane])},
    };
    if (!run.input_names.empty()) entry["input"] = run.input_names[lane];
    if (end.stop.reason == StopReason::exited && !end.signal) entry["exit_status"] = end.exit_status;
    if (end.signal) entry["signal"] = end.signal;
    if (registers) {
      ordered_json values;
      for (size_t r = 0; r < all.names.size(); r++) values[all.names[r]] = hex(all.values[r][lane]);
      entry["registers"] = std::move(values);
    }
    entry["fault"] = nullptr;
    if (end.stop.reason == StopReason::fault) {
      entry["fault"] = {{"kind", name(end.stop.fault)}, {"address", hex(end.stop.address)}};
    }
    to.print("{}\n{}", lane ? "," : "", open_object(entry));
    write_stream("stdout", run.output(lane, false), to);
    write_stream("stderr", run.output(lane, true), to);
    to.write("}");
  }
  to.write("\n]}\n");
}

void print_outputs(const Run& run, Output& out, Output& err) {
  using Key = std::tuple<std::string_view, std::string_view, std::string>;
  std::map<Key, std::vector<uint32_t>> same;
  for (uint32_t lane = 0; lane < run.fleet.lanes(); lane++) {
    same[{text_of(run.output(lane, false)), text_of(run.output(lane, true)), verdict(run.outcome(lane))}].push_back(
        lane);
  }
  std::vector<const std::pair<const Key, std::vector<uint32_t>>*> groups;
  groups.reserve(same.size());
  for (const auto& group : same) groups.push_back(&group);
  std::sort(groups.begin(), groups.end(), [](auto a, auto b) { return a->second.front() < b->second.front(); });
  for (size_t i = 0; i < groups.size() && i < kMostGroups; i++) {
    const auto& [key, lanes] = *groups[i];
    const auto& [standard_output, standard_error, end] = key;
    out.print("== {} {}: {}\n", lanes.size() == 1 ? "lane" : "lanes", lane_list(lanes), end);
    print_all(standard_output, out);
    out.flush();
    print_all(standard_error, err);
    err.flush();
  }
  if (groups.size() > kMostGroups) {
    size_t rest = 0;
    for (size_t i = kMostGroups; i < groups.size(); i++) rest += groups[i]->second.size();
    out.print("== {} other lanes ended in {} other ways; --json has them all\n", grouped(rest),
              grouped(groups.size() - kMostGroups));
  }
  out.flush();
}

void print_unimplemented(const Run& run, Output& to) {
  if (!run.process) return;
  constexpr size_t kMostNames = 12;
  const std::map<std::string, UnimplementedCall> calls = run.process->unimplemented();
  std::string missing;
  size_t names = 0;
  for (const auto& [name, call] : calls) {
    if (names++ == kMostNames) {
      missing += fmt::format(" and {} others", grouped(calls.size() - kMostNames));
      break;
    }
    missing += fmt::format("{}{} {}", missing.empty() ? "" : ", ", name, grouped(call.count));
  }
  if (missing.empty()) return;
  to.print(
      "myriarm: system calls that are not implemented were answered with ENOSYS: {}; --ignore-unimplemented leaves "
      "this line out\n",
      missing);
}

void print_summary(const Run& run, Output& to) {
  Fleet& fleet = run.fleet;
  auto line = [&](const char* label, const std::string& value) { to.print("{:<14}{}\n", label, value); };
  line("device", fmt::format("{} ({}), {}", fleet.device().id, fleet.device().name, name(fleet.engine())));
  line("lanes", grouped(fleet.lanes()));
  line("instructions", fmt::format("{} ({})", grouped(run.result.instructions),
                                   with_unit(static_cast<double>(run.result.instructions))));
  line("seconds", fmt::format("{:.6f}", run.result.seconds));
  line("IPS", with_unit(ips(run.result)));
  std::map<StopReason, uint64_t> reasons;
  for (const Stop& stop : fleet.stops()) reasons[stop.reason]++;
  std::string stops;
  for (const auto& [reason, count] : reasons) {
    stops += fmt::format("{}{} {}", stops.empty() ? "" : ", ", name(reason), grouped(count));
  }
  line("stops", stops);
  if (run.process) {
    constexpr size_t kMostCalls = 5;
    size_t shown = 0;
    for (const auto& [name, call] : run.process->unimplemented()) {
      if (shown++ == kMostCalls) break;
      line(shown == 1 ? "missing" : "", fmt::format("{}, first in lane {}, pc {}", call.text, call.lane, hex(call.pc)));
    }
  }
  if (fleet.lanes() != 1) return;
  LaneOutcome end = run.outcome(0);
  std::string where = fmt::format("pc {}", hex(fleet.get(Field::pc, 0)));
  if (end.stop.reason == StopReason::fault) where += fmt::format(", address {}", hex(end.stop.address));
  if (end.stop.reason == StopReason::undefined) {
    where += fmt::format(", word {:#010x} {}", end.stop.address,
                         disassemble(static_cast<uint32_t>(end.stop.address), fleet.get(Field::pc, 0)));
  }
  if (end.stop.reason != StopReason::exited || end.signal) line("ended by", fmt::format("{}, {}", verdict(end), where));
}

void print_registers(const Run& run, Output& to) {
  Registers all = fetch_registers(run.fleet);
  for (size_t r = 0; r < all.names.size(); r++) {
    to.print("{:<5}{:#018x}{}", all.names[r], all.values[r][0], r % 3 == 2 ? "\n" : "   ");
  }
}

}  // namespace myriarm::cli
