// SPDX-License-Identifier: Apache-2.0
// Which of two kernels runs a fleet, by what their launches have retired.
#include <gtest/gtest.h>

#include "backends/cuda/translated/kernel_choice.h"

namespace myriarm::cuda {
namespace {

/// Launches in a row, of which those of each kernel have a rate. Returns how many of the last half were interpreted.
int interpreted(KernelChoice& choice, int launches, double translated, double interpreted) {
  int count = 0;
  for (int i = 0; i < launches; i++) {
    const bool interprets = choice.next() == KernelChoice::kInterpreted;
    count += interprets && i >= launches / 2;
    choice.ended(static_cast<u64>(1000 * (interprets ? interpreted : translated)), 1);
  }
  return count;
}

TEST(KernelChoice, BeginsWithTranslatedCode) {
  KernelChoice choice;
  EXPECT_EQ(choice.next(), KernelChoice::kTranslated);
  EXPECT_EQ(choice.most_ticks(), 0u);
}

TEST(KernelChoice, TheFasterKernelRunsNearlyAllLaunches) {
  KernelChoice choice;
  EXPECT_LE(interpreted(choice, 200, 10, 1), 4);
  EXPECT_GE(interpreted(choice, 400, 1, 10), 195) << "it has become the faster one";
  EXPECT_LE(interpreted(choice, 400, 10, 1), 4) << "and so has the other";
}

TEST(KernelChoice, OneThatIsHardlyFasterDoesNotTakeItsPlace) {
  KernelChoice choice;
  EXPECT_LE(interpreted(choice, 200, 100, 105), 4);
}

TEST(KernelChoice, ATrialIsShort) {
  KernelChoice choice;
  while (choice.next() == KernelChoice::kTranslated) choice.ended(1000, 1);
  EXPECT_GT(choice.most_ticks(), 0u);
  choice.ended(5000, 1);
  EXPECT_EQ(choice.next(), KernelChoice::kInterpreted);
  EXPECT_EQ(choice.most_ticks(), 0u);
}

TEST(KernelChoice, ALaunchWithoutTimeSaysNothing) {
  KernelChoice choice;
  for (int i = 0; i < 100; i++) choice.ended(1000, 0);
  EXPECT_EQ(choice.next(), KernelChoice::kTranslated);
}

}  // namespace
}  // namespace myriarm::cuda
