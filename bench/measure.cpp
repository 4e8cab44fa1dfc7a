// SPDX-License-Identifier: Apache-2.0
// Timing, tables and JSON of the benchmark programs.
#include "measure.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <iterator>
#include <thread>

// bench/guests/*.c, compiled for this machine
uint64_t mixed(uint32_t seed, int iterations);
uint64_t nbody(uint32_t seed, int iterations);

namespace myriarm::bench {

const Guest guests[kGuests] = {{"mixed", mixed}, {"nbody", nbody}};

namespace {

struct CheckValue {
  const Guest& guest;
  uint32_t seed;
  int iterations;
  uint64_t result;
};
// From a native build and from QEMU user mode.
constexpr CheckValue kCheckValues[] = {
    {guests[0], 0, 1, 0x0000001647233d8f},      {guests[0], 0, 10, 0xcc0884efa9414ef2},
    {guests[0], 1, 1, 0x000000127e5c108d},      {guests[0], 7, 1, 0x00000014dceb8467},
    {guests[0], 12345, 10, 0x24c8176d4d19db3d}, {guests[1], 0, 1, 0xbfc5a4236f17f43d},
    {guests[1], 0, 10, 0xbfc5a4b78ad1c18a},     {guests[1], 7, 1, 0xbfc5a4236f17bfd6},
    {guests[1], 12345, 10, 0xbfc5a4b7896513e0}};

std::string rate_text(double rate) {
  char text[32];
  const char* units[] = {"", "k", "M", "G", "T"};
  int unit = 0;
  while (rate >= 1000 && unit < 4) rate /= 1000, unit++;
  std::snprintf(text, sizeof text, "%.2f %s", rate, units[unit]);
  return text;
}

}  // namespace

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Times::min() const { return *std::min_element(seconds.begin(), seconds.end()); }
double Times::max() const { return *std::max_element(seconds.begin(), seconds.end()); }
double Times::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  size_t half = sorted.size() / 2;
  return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

Report::Report(int argc, char** argv, std::string commit) : commit_(std::move(commit)) {
  for (int i = 0; i < argc; i++) command_.append(i ? " " : "").append(argv[i]);
}

void Report::begin(const std::string& title) {
  title_ = title;
  std::printf("\n%s\n  %-34s %-8s %9s %14s %10s %10s %10s %12s\n", title.c_str(), "", "device", "lanes", "instructions",
              "min s", "median s", "max s", "median IPS");
}

void Report::add(const std::string& what, const std::string& device, uint64_t lanes, uint64_t instructions,
                 const Times& times, nlohmann::json more) {
  const double rate = instructions ? static_cast<double>(instructions) / times.median() : 0;
  std::printf("  %-34s %-8s %9" PRIu64 " %14" PRIu64 " %10.4f %10.4f %10.4f %12s\n", what.c_str(), device.c_str(),
              lanes, instructions, times.min(), times.median(), times.max(),
              instructions ? rate_text(rate).c_str() : "");
  std::fflush(stdout);
  char date[32];
  std::time_t time = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&time));
  nlohmann::json row = std::move(more);
  row["table"] = title_;
  row["what"] = what;
  row["device"] = device;
  row["lanes"] = lanes;
  row["instructions"] = instructions;
  row["seconds"] = times.seconds;
  row["seconds_median"] = times.median();
  if (instructions) row["ips_median"] = rate;
  row["machine"] = cpu_name();
  for (const Device& known : devices()) {
    if (device == known.id) row["device_name"] = known.name;
  }
  row["commit"] = commit_;
  row["command"] = command_;
  row["date"] = date;
  rows_.push_back(std::move(row));
}

void Report::note(const std::string& text) { std::printf("  %s\n", text.c_str()); }

void Report::write(const std::string& file) const {
  if (file.empty()) return;
  std::ofstream stream;
  if (file != "-") {
    stream.open(file, std::ios::app);
    if (!stream) throw ArgumentError("cannot write " + file + ": give --json a file in a folder that exists");
  }
  for (const auto& row : rows_) {
    const std::string line = row.dump() + "\n";
    if (file == "-") std::fputs(line.c_str(), stdout);
    else stream << line;
  }
}

int main_of(const char* name, int (*run)(int argc, char** argv), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 2;
  }
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, name = "unknown processor";
  while (std::getline(file, line)) {
    if (!line.starts_with("model name")) continue;
    name = line.substr(line.find(':') + 2);
    break;
  }
  return name + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads";
}

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ArgumentError("cannot read " + path + ": give --guests the folder of the prebuilt guests");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

FleetResult run_fleet(const FleetRun& run) {
  FleetResult result;
  double start = now_seconds();
  Fleet fleet(run.program, run.options);
  result.create_seconds = now_seconds() - start;
  std::vector<uint64_t> lanes(fleet.lanes());
  for (size_t lane = 0; lane < lanes.size() && run.lane_in_x0; lane++) lanes[lane] = lane;
  for (int repeat = 0; repeat <= run.repeats; repeat++) {  // the first is the warm-up
    fleet.set_all(x(0), lanes);
    fleet.fill(Field::pc, run.program.entry);
    fleet.fill(Field::sp, run.program.stack_pointer);
    fleet.fill(Field::instructions, 0);
    fleet.fill(Field::limit, run.limit);
    fleet.resume_all();
    start = now_seconds();
    result.instructions = fleet.run().instructions;
    if (repeat) result.times.seconds.push_back(now_seconds() - start);
  }
  result.x0.resize(lanes.size());
  fleet.get_all(x(0), result.x0);
  std::span<const Stop> stops = fleet.stops();
  result.stops.assign(stops.begin(), stops.end());
  result.pool_bytes = fleet.pool_used();
  return result;
}

const Guest& guest_named(const std::string& name) {
  for (const Guest& guest : guests) {
    if (name == guest.name) return guest;
  }
  throw ArgumentError("there is no guest " + name + ": the guests are mixed and nbody");
}

void check_guest(const Guest& guest, const FleetResult& result, bool lane_in_x0, int iterations) {
  const std::string program = std::string(" of the ") + guest.name + " program";
  const size_t lanes = result.x0.size();
  for (size_t lane = 0; lane < lanes; lane++) {
    if (result.stops[lane].reason == StopReason::halt) continue;
    throw Error("lane " + std::to_string(lane) + program + " stopped with " + name(result.stops[lane].reason) +
                " instead of halt: the measurement is void");
  }
  const size_t step = std::max<size_t>(1, lane_in_x0 ? lanes / 61 : lanes);
  for (size_t lane = 0; lane < lanes; lane++) {
    bool wrong;
    if (lane_in_x0) {
      wrong = (lane % step == 0 || lane + 1 == lanes) &&
              result.x0[lane] != guest.native(static_cast<uint32_t>(lane), iterations);
    } else {
      wrong = result.x0[lane] != (lane ? result.x0[0] : guest.native(0, iterations));
    }
    if (wrong) throw Error("lane " + std::to_string(lane) + program + " has a wrong result: the measurement is void");
  }
}

void check_native() {
  for (const CheckValue& value : kCheckValues) {
    if (value.guest.native(value.seed, value.iterations) != value.result) {
      throw Error(std::string(value.guest.name) +
                  ".c compiled for this machine gives wrong results: check it in bench/guests, and its compiler flags");
    }
  }
}

}  // namespace myriarm::bench
