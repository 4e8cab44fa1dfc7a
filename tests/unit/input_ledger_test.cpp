// SPDX-License-Identifier: Apache-2.0
// Where each input of a shared queue is. shared_queue_test.cpp has the queue.
#include "linux/input_ledger.h"

#include <gtest/gtest.h>

namespace myriarm {
namespace {

using linux_process::InputLedger;

const ProcessInput kInput;

QueueResult result_of(uint64_t number) {
  QueueResult result;
  result.number = number;
  return result;
}

TEST(InputLedger, AResultCountsFromTheDeviceThatHasTheInput) {
  InputLedger ledger(true, 1 << 20);
  for (uint64_t i = 0; i < 3; i++) ledger.add(i, kInput);
  ProcessInput input;
  uint64_t number;
  ASSERT_TRUE(ledger.take(0, input, number));
  ASSERT_TRUE(ledger.take(0, input, number));
  ledger.give_back(0);
  ASSERT_TRUE(ledger.take(1, input, number));
  EXPECT_EQ(number, 0u) << "what was given back comes first";
  EXPECT_FALSE(ledger.put(0, result_of(0))) << "another device has it";
  EXPECT_TRUE(ledger.put(1, result_of(0)));
  EXPECT_FALSE(ledger.put(1, result_of(0))) << "it has its result";
  ASSERT_TRUE(ledger.pass_on().has_value());
  EXPECT_FALSE(ledger.pass_on().has_value());
  EXPECT_FALSE(ledger.all_have_results());
  ASSERT_TRUE(ledger.take(1, input, number));
  EXPECT_EQ(number, 1u);
}

TEST(InputLedger, NumbersNeedNotRise) {
  InputLedger ledger(false, 1 << 20);
  for (const uint64_t number : {9, 4, 7}) ledger.add(number, kInput);
  EXPECT_THROW(ledger.add(4, kInput), ArgumentError) << "it waits";
  ProcessInput input;
  uint64_t number;
  for (const uint64_t expected : {9, 4, 7}) {
    ASSERT_TRUE(ledger.take(expected == 7 ? 1 : 0, input, number));
    EXPECT_EQ(number, expected);
  }
  EXPECT_THROW(ledger.add(4, kInput), ArgumentError) << "a device has it";
  EXPECT_EQ(ledger.first_with(0), 0u);
  EXPECT_EQ(ledger.first_with(1), 2u);
  ledger.give_back(0);
  EXPECT_FALSE(ledger.put(0, result_of(9))) << "it was given back";
  EXPECT_TRUE(ledger.any_outstanding_below(1));
  ledger.end_before(0);
  EXPECT_FALSE(ledger.any_outstanding_below(1));
  ASSERT_TRUE(ledger.take(1, input, number));
  EXPECT_EQ(number, 4u) << "the first that was given back cannot run";
  for (const uint64_t ended : {7, 4}) EXPECT_TRUE(ledger.put(1, result_of(ended)));
  EXPECT_TRUE(ledger.all_have_results());
  ledger.add(4, kInput);
  ledger.add(9, kInput);
  EXPECT_EQ(ledger.waiting(), 2u) << "numbers of inputs that are gone are free";
}

}  // namespace
}  // namespace myriarm
