// SPDX-License-Identifier: Apache-2.0
// Runs a Linux program in many lanes and prints how each ended, and what it wrote.
//   linux_program PROGRAM [LANES [ARGUMENT]...]
// PROGRAM is a static AArch64 executable, which finds the number of its lane in the environment variable MYRIARM_LANE.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "myriarm/myriarm.h"

namespace {

void run(const std::string& path, uint64_t lanes, std::vector<std::string> arguments) {
  myriarm::FleetOptions fleet;
  fleet.lanes = lanes;
  myriarm::LinuxOptions process;
  process.arguments = std::move(arguments);
  myriarm::LinuxFleet machine(myriarm::load_elf(path), fleet, process);

  const myriarm::RunResult result = machine.run();

  for (uint32_t lane = 0; lane < lanes; lane++) {
    const myriarm::LaneOutcome end = machine.outcome(lane);
    if (end.signal != 0) std::printf("lane %u was killed by signal %d: ", lane, end.signal);
    else std::printf("lane %u exited with %d: ", lane, end.exit_status);
    const std::span<const uint8_t> output = machine.standard_output(lane);
    std::fwrite(output.data(), 1, output.size(), stdout);
    if (output.empty() || output.back() != '\n') std::putchar('\n');
  }
  std::printf("%llu instructions\n", static_cast<unsigned long long>(result.instructions));
  // Programs go on without the calls that myriarm lacks, and may then be wrong.
  for (const auto& [name, call] : machine.unimplemented()) {
    std::printf("not implemented: %s, called %llu times\n", name.c_str(), static_cast<unsigned long long>(call.count));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s PROGRAM [LANES [ARGUMENT]...]\n", argv[0]);
    return 2;
  }
  std::vector<std::string> arguments = {argv[1]};
  if (argc > 3) arguments.insert(arguments.end(), argv + 3, argv + argc);
  try {
    run(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 1, std::move(arguments));
  } catch (const myriarm::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
