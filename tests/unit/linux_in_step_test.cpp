// SPDX-License-Identifier: Apache-2.0
// Fleets whose lanes run the same code for longer than a step of a GPU's run (docs/design/lanes-in-step.md): what lanes retire, where they
// stop and what others see of them is as if they did not wait for each other. When they wait is cuda_lanes_in_step_test.cpp's subject.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "linux_caller.h"
#include "myriarm/linux.h"
#include "until.h"

namespace myriarm {
namespace {

using namespace test;

constexpr uint32_t kLanes = 70;                 // of three teams, the last one with few
constexpr uint64_t kInstructions = 100'000;     // of a lane: some steps
constexpr uint32_t kStoreX1 = 0xf9000021;       // str x1, [x1]
constexpr uint32_t kCountDownX19 = 0xf1000673;  // subs x19, x19, #1
constexpr uint32_t kNop = 0xd503201f;
constexpr uint32_t kFourBackNe = 0x54ffff81;  // b.ne -4

/// Each lane stores, calls getpid(), and counts x19 down. Then it exits.
const std::vector<uint32_t> kCalls = {kStoreX1,    0xd2801588 /* mov x8, #172 */, kSvc, kCountDownX19,
                                      kFourBackNe, 0xd2800ba8 /* mov x8, #93 */,  kSvc, kBrk};

void begin(Fleet& fleet, const std::vector<uint64_t>& rounds) {
  fleet.set_all(x(19), rounds);
  fleet.fill(x(1), kData);
}

/// Runs lanes that never end until each has retired 200,000 instructions, and gives `see` their signals again and again meanwhile.
void run_for_some_steps(LinuxFleet& machine, const std::function<void(const std::vector<Signal>&)>& see) {
  std::thread other([&] {
    std::vector<Signal> signals(kLanes);
    std::vector<uint64_t> retired(kLanes);
    until([&] {
      machine.fleet().poll_lanes(retired, signals);
      see(signals);
      return *std::min_element(retired.begin(), retired.end()) > 200'000;
    });
    machine.cancel();
  });
  machine.run();
  other.join();
}

void expect_what_lanes_would_retire_alone(Engine engine) {
  LinuxRunOptions options;
  options.engine = engine;
  LinuxFleet machine(image_of(kCalls), fleet_of(kLanes), LinuxOptions{});
  Fleet& fleet = machine.fleet();
  std::vector<uint64_t> rounds(kLanes, kInstructions / 5), limits(kLanes, kEndless);
  rounds[3] = 10;                  // ends in the first step
  rounds[40] = kInstructions / 2;  // and this one after all others
  limits[5] = 23'457;              // of instructions, within a step
  limits[64] = 16'384;             // at the end of the first one
  // And at many other counts, in two teams.
  for (uint32_t i = 0; i < 32; i++) limits[(i % 2 == 0 ? 8 : 42) + i / 2] = 11'111 + 2'750 * i;
  begin(fleet, rounds);
  fleet.set_all(Field::limit, limits);
  fleet.set(x(1), 33, kData + 0x1000 - 3);  // a store to two pages is no simple one, so that this team falls behind
  machine.run(options);
  std::vector<uint64_t> retired(kLanes);
  fleet.get_all(Field::instructions, retired);
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    const bool limited = limits[lane] != kEndless;
    EXPECT_EQ(retired[lane], limited ? limits[lane] : 5 * rounds[lane] + 2) << lane;
    EXPECT_EQ(machine.outcome(lane).stop.reason, limited ? StopReason::budget : StopReason::exited) << lane;
  }
  fleet.fill(Field::limit, kEndless);
  machine.run(options);
  fleet.get_all(Field::instructions, retired);
  for (uint32_t lane = 0; lane < kLanes; lane++) EXPECT_EQ(retired[lane], 5 * rounds[lane] + 2) << lane;
}

TEST(LinuxInStep, LanesRetireWhatTheyWouldAlone) { expect_what_lanes_would_retire_alone(Engine::interpreter); }
TEST(LinuxInStep, TranslatedLanesRetireWhatTheyWouldAlone) { expect_what_lanes_would_retire_alone(Engine::translate); }

TEST(LinuxInStep, ATeamThatIsMuchSlowerAndTheOthersRetireAll) {
  LinuxFleet machine(image_of({kStoreX1, kCountDownX19, 0x54ffffc1 /* b.ne -8 */, kBrk}), fleet_of(kLanes),
                     LinuxOptions{});
  Fleet& fleet = machine.fleet();
  begin(fleet, std::vector<uint64_t>(kLanes, kInstructions / 4));
  fleet.set(x(1), 33, kData + 0x1000 - 3);
  machine.run();
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    EXPECT_EQ(machine.outcome(lane).stop.reason, StopReason::breakpoint) << lane;
    EXPECT_EQ(fleet.get(Field::instructions, lane), 3 * (kInstructions / 4)) << lane;
  }
}

TEST(LinuxInStep, LanesOfATeamThatAreAtOnePcStayThereWhateverTheirCounts) {
  if (test_device() == "cpu") GTEST_SKIP() << "a CPU runs one lane after the other";
  // A lane whose x2 is not 0 retires two instructions more. All meet at the call, and then there is none any more.
  LinuxFleet machine(image_of({0xb4000062 /* cbz x2, 12 */, kNop, kNop, 0x94000001 /* bl 4 */, kStoreX1, kCountDownX19,
                               0x17fffffe /* b -8 */}),
                     fleet_of(kLanes), LinuxOptions{});
  Fleet& fleet = machine.fleet();
  begin(fleet, std::vector<uint64_t>(kLanes));
  std::vector<uint64_t> more(kLanes);
  for (uint32_t lane = 0; lane < kLanes; lane++) more[lane] = lane % 3 == 0;
  fleet.set_all(x(2), more);
  run_for_some_steps(machine, [](const std::vector<Signal>&) {});
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    const uint32_t first = lane / 32 * 32;
    EXPECT_EQ(fleet.get(Field::pc, lane), fleet.get(Field::pc, first)) << lane;
    EXPECT_EQ(fleet.get(Field::instructions, lane) + 2 * more[first],
              fleet.get(Field::instructions, first) + 2 * more[lane])
        << lane;
  }
}

TEST(LinuxInStep, NobodySeesALaneStopBetweenTwoSteps) {
  if (test_device() == "cpu") GTEST_SKIP() << "a CPU runs lanes in slices, and shows where these end";
  LinuxFleet machine(image_of({kStoreX1, 0x17ffffff /* b -4 */}), fleet_of(kLanes), LinuxOptions{});
  Fleet& fleet = machine.fleet();
  begin(fleet, std::vector<uint64_t>(kLanes));
  uint64_t stopped = 0;
  run_for_some_steps(machine, [&](const std::vector<Signal>& signals) {
    if (fleet.is_running()) stopped += std::count(signals.begin(), signals.end(), Signal::checkpoint);
  });
  EXPECT_EQ(stopped, 0u);
  for (uint32_t lane = 0; lane < kLanes; lane++) EXPECT_EQ(machine.outcome(lane).stop.reason, StopReason::cancelled);
}

}  // namespace
}  // namespace myriarm
