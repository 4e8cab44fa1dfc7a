// SPDX-License-Identifier: Apache-2.0
// Which of two ways launches go. What of it concerns kernels of translated code is in cuda_kernel_choice_test.cpp.
#include "backends/cuda/launch_choice.h"

#include <gtest/gtest.h>

namespace myriarm::cuda {
namespace {

void run_until_a_trial(LaunchChoice& choice) {
  while (choice.next() == 0) choice.ended(1000, 1);
}

TEST(LaunchChoice, TriesTheOtherWayForAsLongAsItIsToldAndMoreSeldomIfThatIsNoFaster) {
  LaunchChoice choice(6);
  for (const int pause : {8, 16, 32, 64, 64}) {
    for (int i = 0; i < pause; i++) {
      EXPECT_EQ(choice.next(), 0u);
      EXPECT_EQ(choice.most_ticks(), 0u);
      choice.ended(1000, 1);
    }
    EXPECT_EQ(choice.next(), 1u);
    EXPECT_EQ(choice.most_ticks(), 6u);
    choice.ended(1050, 1);
  }
}

TEST(LaunchChoice, ATrialThatEndedOtherwiseSaysNothing) {
  LaunchChoice choice;
  run_until_a_trial(choice);
  choice.ended_otherwise();
  EXPECT_EQ(choice.next(), 0u) << "else launches that all end otherwise would go the way that is tried";
  run_until_a_trial(choice);
  choice.ended(5000, 1);
  EXPECT_EQ(choice.next(), 1u);
  EXPECT_EQ(choice.most_ticks(), 0u) << "it is the best way now";
}

}  // namespace
}  // namespace myriarm::cuda
