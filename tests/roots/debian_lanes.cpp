// SPDX-License-Identifier: Apache-2.0
// Runs different programs of a root beside each other, each in a lane of one fleet, and writes what they leave:
//   debian_lanes DEVICE ENGINE ROOT OWN SECONDS TABLE RESULTS
// OWN: a folder of the host that each lane has as /own, where it begins. SECONDS: when the run is cancelled; lanes that have not
// ended then are so reported. TABLE and RESULTS are texts, each of a number and a line feed, or of a length, a line feed, so many
// bytes and a line feed. TABLE: the standard input of all, the number of variables and each, and the number of commands, which
// all have their number of words and each word; a program's commands follow each other. RESULTS: for each command its status
// as a shell has it, or why it stopped; instructions, standard output and error, the number of files in /own and each with its path,
// mode and the number of its content, "large" if that has too many bytes; where a number is the next one, the content follows.
// At the end the calls that are missing.
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "myriarm/file_tree.h"
#include "myriarm/fleet.h"
#include "myriarm/linux.h"

namespace {

using namespace myriarm;

constexpr uint64_t kMemory = uint64_t{1} << 30;
constexpr uint64_t kOutput = uint64_t{16} << 30;        // over all lanes
constexpr uint64_t kCollected = uint64_t{100'000'000};  // bytes of all files of a lane

class Table {
 public:
  explicit Table(const char* path) : file_(path, std::ios::binary) {}
  uint64_t number() {
    std::string line;
    if (!std::getline(file_, line)) throw std::runtime_error("the table ends too early");
    return std::stoull(line);
  }
  std::string text() {
    std::string bytes(number(), '\0');
    file_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (file_.get() != '\n') throw std::runtime_error("a text of the table is not as long as it says");
    return bytes;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> all(number());
    for (std::string& each : all) each = text();
    return all;
  }

 private:
  std::ifstream file_;
};

class Results {
 public:
  explicit Results(const char* path) : file_(path, std::ios::binary) {}
  void add(uint64_t number) { file_ << number << '\n'; }
  void add(std::span<const uint8_t> bytes) {
    add(bytes.size());
    file_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())) << '\n';
  }
  void add(const std::string& text) { add({reinterpret_cast<const uint8_t*>(text.data()), text.size()}); }
  bool end() {
    file_.close();
    return !file_.fail();
  }

 private:
  std::ofstream file_;
};

std::string status_of(const LaneOutcome& outcome) {
  if (outcome.signal != 0) return std::to_string(128 + outcome.signal);
  return outcome.exit_status >= 0 ? std::to_string(outcome.exit_status) : name(outcome.stop.reason);
}

void run(char** given) {
  FleetOptions fleet;
  fleet.device = given[1];
  fleet.engine = std::string(given[2]) == "translate" ? Engine::translate : Engine::interpreter;
  fleet.memory = kMemory;
  const uint64_t team = find_device(fleet.device).team_lanes;
  const BoundFolder binds[] = {{given[4], "/own", true}};
  LinuxOptions options;
  options.root = read_root(given[3], binds);
  options.working_folder = "/own";
  options.output_limit = kOutput;
  options.keep_files = true;
  Table table(given[6]);
  const std::string input = table.text();
  options.standard_input.assign(input.begin(), input.end());
  options.environment = table.texts();

  std::vector<LinuxPlacement> programs;
  std::vector<uint32_t> lanes;  // of each command
  std::string last;
  std::vector<std::string> begin;
  for (uint64_t count = table.number(); count > 0; count--) {
    std::vector<std::string> words = table.texts();
    if (programs.empty() || words[0] != last) {
      last = words[0];
      RootProgram program = load_program(*options.root, last);
      begin = program.script_arguments.empty() ? std::vector{last} : program.script_arguments;
      programs.push_back({std::move(program.image), 0});
    }
    lanes.push_back(static_cast<uint32_t>(options.lane_arguments.size()));
    words.erase(words.begin());
    words.insert(words.begin(), begin.begin(), begin.end());
    options.lane_arguments.push_back(std::move(words));
    programs.back().lanes++;
    // Lanes of a team take turns where they do different things, so each command has one for itself: the others end soon.
    while (options.lane_arguments.size() % team != 0) {
      options.lane_arguments.push_back(begin);
      options.lane_arguments.back().emplace_back("--no-such-option");
      programs.back().lanes++;
    }
  }
  const size_t all_lanes = options.lane_arguments.size();
  std::fprintf(stderr, "%zu commands of %zu programs in %zu lanes\n", lanes.size(), programs.size(), all_lanes);

  LinuxFleet processes(programs, fleet, std::move(options));
  const double seconds = std::stod(given[5]);
  LinuxRunOptions how;
  how.progress_seconds = 10;
  how.progress = [&](const LinuxProgress& progress) {
    std::fprintf(stderr, "%6.1f s, %llu lanes have ended, %.3g instructions\n", progress.seconds,
                 static_cast<unsigned long long>(progress.lanes_done), static_cast<double>(progress.instructions));
    if (progress.seconds >= seconds) processes.cancel();
  };
  const RunResult result = processes.run(how);
  std::fprintf(stderr, "%.3g instructions\n", static_cast<double>(result.instructions));
  std::vector<uint64_t> counts(all_lanes);
  processes.fleet().get_all(Field::instructions, counts);
  Results results(given[7]);
  std::map<std::string, uint64_t> contents;
  for (size_t i = 0; i < lanes.size(); i++) {
    const uint32_t lane = lanes[i];
    results.add(status_of(processes.outcome(lane)));
    results.add(counts[lane]);
    results.add(processes.standard_output(lane));
    results.add(processes.standard_error(lane));
    const std::vector<CollectedFile> files = processes.collect(lane, "/own", kCollected);
    results.add(files.size());
    for (const CollectedFile& file : files) {
      results.add(file.path);
      results.add(file.mode);
      const std::string bytes = file.left_out ? "large" : std::string(file.bytes.begin(), file.bytes.end());
      const auto [at, is_new] = contents.emplace(bytes, contents.size());
      results.add(at->second);
      if (is_new) results.add(bytes);
    }
  }
  const auto missing = processes.unimplemented();
  results.add(missing.size());
  for (const auto& [call, first] : missing) results.add(call);
  if (!results.end()) throw std::runtime_error("the results could not be written");
}

}  // namespace

int main(int count, char** given) {
  if (count != 8) {
    std::fprintf(stderr, "usage: debian_lanes DEVICE ENGINE ROOT OWN SECONDS TABLE RESULTS\n");
    return 2;
  }
  try {
    run(given);
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "debian_lanes: %s\n", problem.what());
    return 1;
  }
}
