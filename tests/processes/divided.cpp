// SPDX-License-Identifier: Apache-2.0
// However a run of processes is divided, and wherever snapshots are taken and restored, or a lane becomes another one, what they
// write is the same:
//   divided DEVICE WAYS ROOT PROGRAM ARGUMENT...     prints the output of a whole run; status 1 if another one differs. WAYS: so
//                                                    many for each engine; the first is not to divide it
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "myriarm/file_tree.h"
#include "myriarm/fleet.h"
#include "myriarm/linux.h"

namespace {

using namespace myriarm;

LinuxFleet make(const std::string& device, const std::shared_ptr<const FileTree>& root, const RootProgram& program,
                std::vector<std::string> arguments, Engine engine, uint64_t lanes) {
  FleetOptions fleet;
  fleet.device = device;
  fleet.lanes = lanes;
  fleet.engine = engine;
  LinuxOptions options;
  options.root = root;
  options.arguments = std::move(arguments);
  return {program.image, fleet, options};
}

std::string output_of(const LinuxFleet& processes, uint32_t lane) {
  const auto bytes = processes.standard_output(lane);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

int main(int count, char** given) {
  if (count < 5) return 2;
  const std::string device = given[1];
  const auto ways = static_cast<uint32_t>(std::atoi(given[2]));
  const auto root = read_root(given[3], {});
  const RootProgram program = load_program(*root, given[4]);
  const std::vector<std::string> arguments(given + 4, given + count);
  // On a GPU lanes have their page tables in common.
  const uint64_t lanes = device == "cpu" ? 2 : 3;
  std::string expected;
  int wrong = 0;
  std::vector<Engine> engines = {Engine::interpreter, Engine::stepper};
  if (device == "cpu") engines.push_back(Engine::translate);  // on a GPU it interprets lanes with several processes
  for (const Engine engine : engines) {
    for (uint32_t seed = 0; seed < ways; seed++) {
      LinuxFleet processes = make(device, root, program, arguments, engine, lanes);
      Fleet& fleet = processes.fleet();
      std::mt19937 random(seed);
      std::optional<Snapshot> kept;
      uint64_t steps = 0, restores = 0;
      for (bool goes_on = true; goes_on; steps++) {
        RunOptions options;
        options.instructions = seed == 0 ? ~uint64_t{0} : random() % (seed == 1 ? 300'000 : 90'000) + 1;
        if (seed != 0 && random() % 8 == 0) options.instructions = random() % 50 + 1;
        fleet.run(options);
        goes_on = false;
        for (const Stop& stop : fleet.stops()) goes_on = goes_on || stop.reason == StopReason::budget;
        if (seed < 2 || !goes_on) continue;
        switch (random() % 4) {
          case 0: kept.emplace(fleet.snapshot()); break;
          case 1:
            if (kept && restores++ < 60) fleet.restore(*kept);
            break;
          case 2:
            if (restores++ < 60) {
              const uint32_t to = random() % lanes, from = (to + 1 + random() % (lanes - 1)) % lanes;
              fleet.fork(from, std::span(&to, 1));
            }
            break;
          default: break;
        }
      }
      for (uint32_t lane = 0; lane < lanes; lane++) {
        const std::string output = output_of(processes, lane);
        if (expected.empty()) expected = output;
        if (output == expected && fleet.stops()[lane].reason == StopReason::exited) continue;
        wrong++;
        std::fprintf(stderr, "engine %d, seed %u, lane %u: after %llu steps it has written\n%s\n",
                     static_cast<int>(engine), seed, lane, static_cast<unsigned long long>(steps), output.c_str());
      }
      std::fprintf(stderr, "engine %d, seed %u: %llu steps, %llu restores\n", static_cast<int>(engine), seed,
                   static_cast<unsigned long long>(steps), static_cast<unsigned long long>(restores));
    }
  }
  std::fwrite(expected.data(), 1, expected.size(), stdout);
  return wrong == 0 ? 0 : 1;
}
