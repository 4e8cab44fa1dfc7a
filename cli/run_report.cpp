// SPDX-License-Identifier: Apache-2.0
// What `myriarm run` prints about a run that has ended. There may be hundreds of thousands of lanes: each field is
// fetched once for all of them, and JSON is written lane by lane.
#include "run_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>

#include "lane_report.h"
#include "text.h"
#include "translation_text.h"

namespace myriarm::cli {
namespace {

constexpr size_t kMostGroups = 10;

std::string_view text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
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

int exit_status(const Run& run) {
  int highest = 0;
  for (uint32_t lane = 0; lane < run.fleet.lanes(); lane++) highest = std::max(highest, exit_status(run.outcome(lane)));
  return highest;
}

nlohmann::ordered_json unimplemented_json(const std::map<std::string, UnimplementedCall>& calls) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [name, call] : calls) {
    object[name] = {{"count", call.count}, {"lane", call.lane}, {"pc", hex(call.pc)}, {"call", call.text}};
  }
  return object;
}

void write_json(const Run& run, bool registers, Output& to) {
  using nlohmann::ordered_json;
  Fleet& fleet = run.fleet;
  ordered_json head = {
      {"device", fleet.device().id},
      {"engine", name(fleet.engine())},
      {"lanes", fleet.lanes()},
      {"instructions", run.result.instructions},
      {"seconds", run.result.seconds},
      {"ips", ips(run.result)},
      {"unimplemented",
       unimplemented_json(run.process ? run.process->unimplemented() : std::map<std::string, UnimplementedCall>())},
  };
  if (run.explains) head["translation"] = translation_json(fleet.translation());
  to.print("{},\"lane_results\":[", open_object(head));
  std::vector<uint64_t> pcs(fleet.lanes()), counts(fleet.lanes());
  fleet.get_all(Field::pc, pcs);
  fleet.get_all(Field::instructions, counts);
  Registers all;
  if (registers) all = fetch_registers(fleet);
  for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
    LaneOutcome end = run.outcome(lane);
    ordered_json entry = {{"lane", lane}};
    if (!run.input_names.empty()) entry["input"] = run.input_names[lane];
    add_outcome(entry, end, counts[lane], pcs[lane]);
    if (registers) {
      ordered_json values;
      for (size_t r = 0; r < all.names.size(); r++) values[all.names[r]] = hex(all.values[r][lane]);
      entry["registers"] = std::move(values);
    }
    add_fault(entry, end.stop);
    to.print("{}\n{}", lane ? "," : "", open_object(entry));
    write_streams(run.output(lane, false), run.output(lane, true), to);
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

void print_unimplemented(const std::map<std::string, UnimplementedCall>& calls, Output& to) {
  constexpr size_t kMostNames = 12;
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
