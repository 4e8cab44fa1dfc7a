// SPDX-License-Identifier: Apache-2.0
// Processes in so many teams that on a GPU some of these are pilots of each way in which parted lanes take turns (program_pace.h): these
// have the state and the counts that lanes have on the CPU. There, a fleet is compared with one of the interpreter.
#include "mode_fixture.h"
#include "process_words.h"
#include "silent_host.h"

namespace fleet_test {
namespace {

constexpr uint64_t kLanes = 66 * 32 + 5;
constexpr uint32_t kExitGroupCall = 94;
constexpr uint32_t kSp = 31, kLink = 30;

int32_t size_of(const Words& words) { return static_cast<int32_t>(words.size()); }

/// x19 turns, each of which calls one of two functions, both or neither, by bits of a random number in x20. One has a loop, the other calls
/// it from deeper in the stack.
Words parting() {
  const Words loop = {guest::madd(20, 20, 26, 19), guest::subs(22, 22, 1), guest::b_cond(guest::kNe, -2)};
  const Words shallow = Words{guest::add(21, kLink, 0), guest::movz(22, 3)} +
                        Words{guest::tbnz(20, 19, 2), guest::movz(22, 40)} + loop + value_of(25, kData) +
                        Words{guest::str(3, 20, 25), guest::add(kLink, 21, 0), guest::ret()};
  const Words before_call = {guest::add(24, kLink, 0), guest::sub(kSp, kSp, 64)};
  const Words deep = before_call + Words{guest::bl(-size_of(shallow) - size_of(before_call)),
                                         guest::ldr(3, 23, 25),
                                         guest::madd(20, 23, 26, 20),
                                         guest::add(kSp, kSp, 64),
                                         guest::add(kLink, 24, 0),
                                         guest::ret()};
  const Words end = Words{guest::add(0, 20, 0)} + make_call(kExitGroupCall) + Words{guest::hlt(7)};
  const Words tail = Words{guest::subs(19, 19, 1), guest::b_cond(guest::kNe, -6)} + end;
  return Words{guest::madd(20, 20, 26, 19), guest::tbnz(20, 17, 2), guest::bl(size_of(tail) + 3),
               guest::tbnz(20, 23, 2), guest::bl(size_of(tail) + 1 + size_of(shallow))} +
         tail + shallow + deep;
}

Fleet parting_fleet(bool on_the_cpu) {
  Program program = program_of(parting());
  program.process = myriarm::ProcessStart{kUnmapped, kEnd, 4 * kPageBytes, "/bin/test"};
  FleetOptions options = options_of(kLanes);
  if (on_the_cpu) options.device = "cpu";
  options.processes.host = std::make_shared<myriarm::test::SilentHost>();
  options.processes.keep_memory = true;
  Fleet fleet(program, options);
  std::vector<uint64_t> seeds(kLanes), turns(kLanes);
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    seeds[lane] = lane * uint64_t{0x9E3779B97F4A7C15};
    turns[lane] = 100 + lane % 7;
  }
  const auto lanes = lanes_up_to(kLanes);
  fleet.set(x(19), lanes, turns);
  fleet.set(x(20), lanes, seeds);
  fleet.fill(x(26), 0x9E3779B1);
  fleet.fill(Field::sp, kEnd);
  return fleet;
}

TEST(PartedProcesses, HaveTheSameStateInWhicheverWayTheyTakeTurns) {
  Fleet fleet = parting_fleet(false), expected = parting_fleet(true);
  // Parts of a run, so that launches begin with lanes that have parted.
  for (const uint64_t instructions : {1000, 1, 4000, 100000}) {
    RunOptions options;
    options.instructions = instructions;
    fleet.run(options);
    expected.run(options);
    if (!expect_same(states_of(fleet), states_of(expected), "after " + std::to_string(instructions))) return;
  }
  for (const Stop& stop : expected.stops()) ASSERT_EQ(stop.reason, StopReason::exited);
}

}  // namespace
}  // namespace fleet_test
