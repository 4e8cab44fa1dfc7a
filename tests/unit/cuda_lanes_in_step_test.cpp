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
  lanes.launch_ended(kLanes * instructions, kLanes, 0, static_cast<double>(instructions) / rate);
  ASSERT_TRUE(lanes.is_over());
  lanes.begin_next(kCompared, 0);
}
void step_until_a_trial(LanesInStep& lanes, double rate) {
  for (int i = 0; i < 100 && !lanes.tries(); i++) step(lanes, rate);
  ASSERT_TRUE(lanes.tries());
}

TEST(LanesInStep, StepsGrowUntilTheyAreNotShortAndShrinkWhereTheyAreLong) {
  for (const u32 rounds : {2u, 3u}) {
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
  EXPECT_FALSE(lanes.tries()) << "only the first round would run";
  lanes.launch_ended(1, kLanes / 2, kLanes / 2, 100);
  EXPECT_FALSE(lanes.is_over());
  lanes.launch_ended(1, kLanes / 2 - 1, 1, 1);
  ASSERT_TRUE(lanes.is_over());
  lanes.begin_next(kCompared, 0);
  EXPECT_FALSE(lanes.is_in_use());
}

TEST(LanesInStep, LanesThatFoundMemoryEndTheirStepFirst) {
  LanesInStep lanes(true, 1);
  lanes.launch_ended(1, kLanes - 10, 0, 0.01);
  lanes.resumed(10);
  EXPECT_FALSE(lanes.is_over());
  lanes.launch_ended(1, 10, 0, 0.01);
  EXPECT_TRUE(lanes.is_over());
}

TEST(LanesInStep, LanesThatAreElsewhereWaitNoMore) {
  LanesInStep lanes(true, 1);
  lanes.launch_ended(1, kLanes, 0, 0.01);
  lanes.begin_next(kCompared, kCompared / 8);
  EXPECT_TRUE(lanes.is_in_use()) << "one of eight";
  lanes.launch_ended(1, kLanes, 0, 0.01);
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
  lanes.launch_ended(1, kLanes - 1, 1, 1.9 * expected);
  EXPECT_FALSE(lanes.is_over());
  EXPECT_LE(lanes.most_ticks(), std::max(static_cast<u64>(0.11 * expected * 476), LanesInStep::kLookingTicks));
  lanes.launch_ended(1, 0, 1, 0.2 * expected);
  ASSERT_TRUE(lanes.is_over());
  lanes.begin_next(kCompared, 0);
  EXPECT_FALSE(lanes.is_in_use()) << "a lane that is always slow would hold the others up in each step";
}

TEST(LanesInStep, WhereMostLanesAreSlowTheOthersWait) {
  LanesInStep lanes(true, 1);
  step(lanes, kRate);
  lanes.launch_ended(1, kLanes / 2 - 1, kLanes / 2 + 1, 100);
  EXPECT_FALSE(lanes.is_over());
  lanes.launch_ended(1, kLanes / 2 + 1, 0, 100);
  ASSERT_TRUE(lanes.is_over());
  lanes.begin_next(kCompared, 0);
  EXPECT_TRUE(lanes.is_in_use()) << "the whole program is slower here";
}

/// A launch of a trial, at so many times the instructions a second of steps.
void launch(LanesInStep& lanes, double times) {
  ASSERT_FALSE(lanes.is_over());
  const double seconds = static_cast<double>(lanes.most_ticks()) / 476;
  lanes.launch_ended(static_cast<u64>(kLanes * kRate * times * seconds), 0, kLanes, seconds);
}

TEST(LanesInStep, ATrialThatIsClearlyFasterIsTheLast) {
  LanesInStep lanes(true, 1);
  step_until_a_trial(lanes, kRate);
  EXPECT_EQ(lanes.instructions(), ~u64{0});
  EXPECT_GE(lanes.most_ticks(), LanesInStep::kShort / 4 * 470);
  // First lanes get out of step, and that does not count.
  for (int i = 0; i < 2; i++) launch(lanes, 0.5);
  // Then they become faster.
  for (const double times : {1.05, 1.1, 1.14, 1.16}) launch(lanes, times);
  ASSERT_TRUE(lanes.is_over());
  EXPECT_FALSE(lanes.end_trial());
  EXPECT_FALSE(lanes.is_in_use());
}

TEST(LanesInStep, ATrialIsShortWhereLanesAreSlowerAndTakesTwoStepsAtMost) {
  LanesInStep lanes(true, 1);
  step_until_a_trial(lanes, kRate);
  for (const double times : {1.1, 1.1, 0.96}) launch(lanes, times);
  ASSERT_TRUE(lanes.is_over());
  EXPECT_TRUE(lanes.end_trial());
  step(lanes, kRate);  // to the same count
  step_until_a_trial(lanes, kRate);
  for (int i = 0; i < 8; i++) launch(lanes, i == 3 ? 1.1 : 0.98);
  ASSERT_TRUE(lanes.is_over());
  EXPECT_TRUE(lanes.end_trial());
}

TEST(LanesInStep, AShortLaunchOfATrialSaysNothing) {
  LanesInStep lanes(true, 1);
  step_until_a_trial(lanes, kRate);
  for (int i = 0; i < 2; i++) launch(lanes, 1.1);
  lanes.launch_ended(1, 0, kLanes, 0.01);
  EXPECT_FALSE(lanes.is_over());
  lanes.launch_ended(u64{1} << 60, 0, kLanes, 0.01);
  EXPECT_FALSE(lanes.is_over());
}

TEST(LanesInStep, ATrialThatIsHardlyFasterIsMadeMoreSeldom) {
  LanesInStep lanes(true, 1);
  step_until_a_trial(lanes, kRate);
  for (const int pause : {4, 8, 16, 32, 64, 64}) {
    for (int i = 0; i < 3; i++) launch(lanes, 0.9);
    ASSERT_TRUE(lanes.is_over());
    ASSERT_TRUE(lanes.end_trial());
    // Lanes come to the same count: that says nothing about how long a step takes.
    const u64 instructions = lanes.instructions();
    lanes.launch_ended(1, kLanes, 0, 0.001);
    ASSERT_TRUE(lanes.is_over());
    lanes.begin_next(kCompared, 0);
    EXPECT_EQ(lanes.instructions(), instructions);
    for (int i = 0; i < pause; i++) {
      EXPECT_FALSE(lanes.tries());
      step(lanes, kRate);
    }
    EXPECT_TRUE(lanes.tries());
  }
}

TEST(LanesInStep, RunsWithoutStepsAreNotEnded) {
  LanesInStep lanes(false, 1);
  EXPECT_FALSE(lanes.is_in_use());
  EXPECT_EQ(lanes.most_ticks(), 0u);
  EXPECT_FALSE(lanes.is_over());
}

}  // namespace
}  // namespace myriarm::cuda
