// SPDX-License-Identifier: Apache-2.0
// Runs a lane for each line of a file with the guest of this folder, first as the file ALONE says, then as the file FILE says, in one
// process of the host:
//   isolation_host DEVICE ENGINE ROOT OWN GIVEN ALONE FILE
// Each run prints a line for each lane, and then what this process has: descriptors, threads, children, and the most memory so
// far in MiB.
#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
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

constexpr uint64_t kMebibyte = 1 << 20;
constexpr uint64_t kFiles = 2 * kMebibyte, kOutput = 64 * kMebibyte;
/// What isolation_test.py and docs/isolation.md say, too.
struct Limits {
  uint64_t memory, pool, instructions;
  const char* missing_calls;
};
constexpr Limits kOnTheCpu = {64 * kMebibyte, 192 * kMebibyte, 6'000'000, "20000"};
/// There a page takes room for 32 lanes, and all lanes stop for a call that the host serves.
constexpr Limits kOnAGpu = {64 * kMebibyte, 3072 * kMebibyte, 4'000'000, "1000"};

uint64_t entries_of(const char* folder) {
  DIR* const open_folder = opendir(folder);
  uint64_t count = 0;
  while (open_folder != nullptr && readdir(open_folder) != nullptr) count++;
  if (open_folder != nullptr) closedir(open_folder);
  return count;
}

const char* reason_of(const LaneOutcome& outcome) {
  switch (outcome.stop.reason) {
    case StopReason::exited: return outcome.signal == 0 ? "exited" : "signal";
    case StopReason::budget: return "budget";
    case StopReason::out_of_memory: return "out of memory";
    default: return outcome.signal == 0 ? "stopped" : "signal";
  }
}

/// As one word of a line, without what is not printed; a flood of equal bytes is shortened.
std::string text_of(std::span<const uint8_t> bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i++) {
    if (i >= 3 && bytes[i] == bytes[i - 1] && bytes[i] == bytes[i - 2] && bytes[i] == bytes[i - 3]) {
      if (text.back() != '~') text += '~';
    } else if (bytes[i] == '\n') {
      text += "; ";
    } else {
      text += bytes[i] >= ' ' && bytes[i] < 127 ? static_cast<char>(bytes[i]) : '?';
    }
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == ';')) text.pop_back();
  return text;
}

void run(const std::string& device, Engine engine, const std::shared_ptr<const FileTree>& root,
         const std::vector<std::string>& attempts) {
  const RootProgram program = load_program(*root, "/bin/isolation");
  const Limits& limits = device.starts_with("cpu") ? kOnTheCpu : kOnAGpu;
  FleetOptions fleet;
  fleet.device = device;
  fleet.engine = engine;
  fleet.lanes = attempts.size();
  fleet.memory = limits.memory;
  fleet.pool = limits.pool;
  LinuxOptions options;
  options.root = root;
  options.file_bytes = kFiles;
  options.working_folder = "/own";
  options.output_limit = kOutput;
  options.restartable = true;
  for (const std::string& attempt : attempts)
    options.lane_arguments.push_back({"/bin/isolation", attempt, limits.missing_calls});
  LinuxFleet processes(program.image, fleet, options);
  processes.fleet().fill(Field::limit, limits.instructions);
  LinuxRunOptions how;
  how.as_if_alone = true;
  processes.run(how);
  std::vector<uint64_t> counts(attempts.size());
  processes.fleet().get_all(Field::instructions, counts);
  for (uint32_t lane = 0; lane < attempts.size(); lane++) {
    const LaneOutcome outcome = processes.outcome(lane);
    std::printf("lane\t%s\t%s\t%d\t%llu\t%s\t%s\n", attempts[lane].c_str(), reason_of(outcome),
                outcome.signal != 0 ? outcome.signal : outcome.exit_status,
                static_cast<unsigned long long>(counts[lane]), text_of(processes.standard_output(lane)).c_str(),
                text_of(processes.standard_error(lane)).c_str());
  }
}

void print_host() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const bool children = waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD;
  std::printf("host\t%llu\t%llu\t%d\t%ld\n", static_cast<unsigned long long>(entries_of("/proc/self/fd")),
              static_cast<unsigned long long>(entries_of("/proc/self/task")), children ? 1 : 0, usage.ru_maxrss >> 10);
}

std::vector<std::string> lines_of(const char* path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

int run_all(char** given) {
  const std::string device = given[1], name = given[2];
  const Engine engine = name == "stepper"     ? Engine::stepper
                        : name == "translate" ? Engine::translate
                                              : Engine::interpreter;
  const BoundFolder binds[] = {{given[4], "/own", true}, {given[5], "/given", false}};
  const auto root = read_root(given[3], binds);
  for (const char* file : {given[6], given[7]}) {
    run(device, engine, root, lines_of(file));
    print_host();
  }
  return 0;
}

}  // namespace

int main(int count, char** given) {
  if (count != 8) return 2;
  try {
    return run_all(given);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "isolation_host: %s\n", problem.what());
    return 1;
  }
}
