// SPDX-License-Identifier: Apache-2.0
// Fleets with more lanes than a device runs at once. On a GPU, launches of these may be ended by time and run different numbers of blocks at
// once, to find out what is the faster way (docs/design/first-level-cache.md): on an emulated GPU, which has two multiprocessors, those of
// 2,048 lanes.
#include <gtest/gtest.h>

#include "linux_caller.h"
#include "myriarm/linux.h"

namespace myriarm {
namespace {

using namespace test;

constexpr uint32_t kStoreX1 = 0xf9000021;    // str x1, [x1]
constexpr uint32_t kCountDown = 0xf1000400;  // subs x0, x0, #1
constexpr uint32_t kTwoBackNe = 0x54ffffc1;  // b.ne -2
constexpr uint64_t kLanes = 2048;

TEST(LinuxFullFleet, EachLaneRunsAllOfItsInstructionsHoweverLaunchesGo) {
  LinuxFleet machine(image_of({kStoreX1, kCountDown, kTwoBackNe, kSvc, kBrk}), fleet_of(kLanes), LinuxOptions{});
  Fleet& fleet = machine.fleet();
  std::vector<uint64_t> rounds(kLanes);
  // Some eight seconds on an emulated GPU: the other number of blocks is tried after eight launches of 0.27 s in which most lanes are under way.
  const uint64_t least = test_device() == "cpu" ? 1000 : 150000;
  uint64_t all = 0;
  for (uint64_t lane = 0; lane < kLanes; lane++) {
    rounds[lane] = least + lane;
    all += 3 * rounds[lane] + 1;
  }
  fleet.set_all(x(0), rounds);
  fleet.fill(x(1), kData);
  fleet.fill(x(8), kExit);
  const RunResult result = machine.run();
  EXPECT_EQ(result.stops[static_cast<unsigned>(StopReason::exited)], kLanes);
  EXPECT_EQ(result.instructions, all);
  std::vector<uint64_t> retired(kLanes);
  fleet.get_all(Field::instructions, retired);
  for (uint64_t lane = 0; lane < kLanes; lane++) EXPECT_EQ(retired[lane], 3 * rounds[lane] + 1) << "lane " << lane;
}

}  // namespace
}  // namespace myriarm
