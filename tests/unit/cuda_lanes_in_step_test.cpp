// SPDX-License-Identifier: Apache-2.0
// When lanes wait for each other, and for how long. That a run retires the same with it is linux_in_step_test.cpp's subject.
#include "backends/cuda/lanes_in_step.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace myriarm::cuda {
namespace {

constexpr u64 kLanes = 1000;
constexpr u32 kCompared = 968;
constexpr double kRate = 2e6;  // instructions a second of each lane

/// One launch in which all lanes come to the end of their step, at so many instructions a second of each.
void step(LanesInStep& lanes, double rate) {
  const u64 instructions = lanes.instructions();
  lanes.launch_ended(kLanes, 0, static_cast<double>(instructions) / rate);
  ASSERT_TRUE(lanes.is_over());
  lanes.begin_next(kCompared, 0);
}

TEST(LanesInStep, StepsGrowUntilTheyAreNotShortAndShrinkWhereTheyAreLong) {
  for (const u32 rounds : {1u, 2u, 3u}) {
    LanesInStep lanes(true, rounds);
    EXPECT_EQ(lanes.instructions(), LanesInStep::kFirst);
    const auto seconds = [&](double rate) { return static_cast<double>(lanes.instructions()) / rate; };
    while (seconds(kRate) < LanesInStep::kShort * rounds) step(lanes, kRate);
    EXPECT_LE(seconds(kRate), LanesInStep::kLong * rounds);
    const u64 instructions = lanes.instructions();
    step(lanes, kRate);
    EXPECT_EQ(lanes.instructions(), instructions);
    step(lanes, kRate / 8);
    EXPECT_EQ(lanes.instructions(), instructions / 2);
  }
}

TEST(LanesInStep, WithSeveralRoundsOfBlocksTheLastOneIsNoSlowLane) {
  LanesInStep lanes(true, 2);
  for (int i = 0; i < 40; i++) step(lanes, kRate);
  lanes.launch_ended(kLanes / 2, kLanes / 2, 100);
  EXPECT_FALSE(lanes.is_over());
  lanes.launch_ended(kLanes - 1, 1, 1);
  ASSERT_TRUE(lanes.is_over());
  lanes.begin_next(kCompared, 0);
  EXPECT_FALSE(lanes.is_in_use());
}

TEST(LanesInStep, AStepIsNotOverBeforeLanesThatFoundMemoryHaveGoneOn) {
  LanesInStep lanes(true, 1);
  lanes.launch_ended(kLanes - 10, 0, 0.01);
  lanes.resumed(10);
  EXPECT_FALSE(lanes.is_over());
  lanes.launch_ended(kLanes, 0, 0.01);
  EXPECT_TRUE(lanes.is_over());
}

TEST(LanesInStep, LanesThatAreElsewhereWaitNoMore) {
  LanesInStep lanes(true, 1);
  lanes.launch_ended(kLanes, 0, 0.01);
  lanes.begin_next(kCompared, kCompared / 8);
  EXPECT_TRUE(lanes.is_in_use()) << "one of eight";
  lanes.launch_ended(kLanes, 0, 0.01);
  lanes.begin_next(kCompared, kCompared / 8 + 1);
  EXPECT_FALSE(lanes.is_in_use());
  EXPECT_EQ(lanes.instructions(), ~u64{0});
  EXPECT_EQ(lanes.most_ticks(), 0u);
}

TEST(LanesInStep, ALaneThatTakesMuchLongerIsWaitedForOnce) {
  LanesInStep lanes(true, 1);
  step(lanes, kRate);
  step(lanes, kRate);
  const double expected = static_cast<double>(lanes.instructions()) / kRate;
  EXPECT_GE(lanes.most_ticks(), 2 * expected * 470);
  lanes.launch_ended(kLanes - 1, 1, 1.9 * expected);
  EXPECT_FALSE(lanes.is_over());
  EXPECT_LE(lanes.most_ticks(), std::max(static_cast<u64>(0.11 * expected * 476), LanesInStep::kLookingTicks));
  lanes.launch_ended(kLanes - 1, 1, 0.2 * expected);
  ASSERT_TRUE(lanes.is_over());
  lanes.begin_next(kCompared, 0);
  EXPECT_FALSE(lanes.is_in_use()) << "a lane that is always slow would hold the others up in each step";
}

TEST(LanesInStep, WhereMostLanesAreSlowTheOthersWait) {
  LanesInStep lanes(true, 1);
  step(lanes, kRate);
  lanes.launch_ended(kLanes / 2 - 1, kLanes / 2 + 1, 100);
  EXPECT_FALSE(lanes.is_over());
  lanes.launch_ended(kLanes, 0, 100);
  ASSERT_TRUE(lanes.is_over());
  lanes.begin_next(kCompared, 0);
  EXPECT_TRUE(lanes.is_in_use()) << "the whole program is slower here";
}

TEST(LanesInStep, RunsWithoutStepsAreNotEnded) {
  LanesInStep lanes(false, 1);
  EXPECT_FALSE(lanes.is_in_use());
  EXPECT_EQ(lanes.most_ticks(), 0u);
  EXPECT_FALSE(lanes.is_over());
}

}  // namespace
}  // namespace myriarm::cuda
