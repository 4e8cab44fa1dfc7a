// SPDX-License-Identifier: Apache-2.0
// Rates and stragglers of a queue: arithmetic, with times that the test makes up.
#include "myriarm/queue_rate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "echo_guest.h"
#include "linux/input_lengths.h"
#include "linux/slice.h"
#include "linux_caller.h"
#include "myriarm/queue.h"

namespace myriarm {
namespace {

using namespace test;
using linux_process::InputLengths;
using linux_process::kSlice;

TEST(QueueRate, NothingIsKnownAtFirst) {
  QueueRate rate;
  EXPECT_EQ(rate.inputs_per_second(), 0);
  EXPECT_FALSE(rate.seconds_for(10).has_value());
  rate.add(0, 0, 0);
  rate.add(0, 0, 0);
  EXPECT_EQ(rate.inputs_per_second(), 0);
  EXPECT_FALSE(rate.seconds_for(10).has_value());
  rate.add(5, 0, 1000);
  EXPECT_EQ(rate.instructions_per_second(), 200);
  EXPECT_FALSE(rate.seconds_for(10).has_value()) << "no input has ended";
}

TEST(QueueRate, ASteadyRate) {
  QueueRate rate;
  for (int i = 0; i <= 1000; i++) {
    rate.add(i / 10.0, static_cast<uint64_t>(5 * i), static_cast<uint64_t>(700 * i));
    if (i == 0) continue;
    EXPECT_NEAR(rate.inputs_per_second(), 50, 1e-9);
    EXPECT_NEAR(rate.instructions_per_second(), 7000, 1e-6);
    EXPECT_NEAR(rate.seconds_for(100).value(), 2, 1e-9);
  }
  EXPECT_EQ(rate.seconds_for(0).value(), 0);
}

TEST(QueueRate, WhatIsLongAgoIsForgotten) {
  QueueRate rate(20);
  uint64_t done = 0;
  double now = 0;
  for (; now < 100; now += 0.01) rate.add(now, done += 10, 0);
  EXPECT_NEAR(rate.inputs_per_second(), 1000, 1);
  for (; now < 110; now += 0.01) rate.add(now, done, 0);
  EXPECT_NEAR(rate.inputs_per_second(), 500, 20) << "half of the window";
  for (; now < 121; now += 0.01) rate.add(now, done += 1, 0);
  EXPECT_NEAR(rate.inputs_per_second(), 52, 6);
  for (; now < 142; now += 0.01) rate.add(now, done += 1, 0);
  EXPECT_NEAR(rate.inputs_per_second(), 100, 1);
  rate.add(10'000, done + 5, 0);
  EXPECT_GT(rate.inputs_per_second(), 0) << "seldom told of, it still knows a rate";
}

TEST(InputLengths, LongestAndMedian) {
  InputLengths lengths;
  EXPECT_EQ(lengths.median(), 0u);
  EXPECT_EQ(lengths.longest(), 0u);
  lengths.add(7, 0);
  EXPECT_EQ(lengths.longest_number(), 7u);
  for (uint64_t i = 1; i <= 100; i++) lengths.add(1000 - i, i);
  EXPECT_EQ(lengths.median(), 50u) << "of 0 to 100";
  EXPECT_EQ(lengths.longest(), 100u);
  EXPECT_EQ(lengths.longest_number(), 900u);
  lengths.add(3, 100);
  lengths.add(4, 100);
  EXPECT_EQ(lengths.longest_number(), 3u) << "the first of those that took as many, in whichever order they come";
}

TEST(InputLengths, TheMedianOfAnythingIsWithinOnePercent) {
  for (uint64_t seed = 0; seed < 200; seed++) {
    std::mt19937_64 random(seed);
    InputLengths lengths;
    std::vector<uint64_t> all(1 + random() % 300);
    const unsigned shift = random() % 64;
    for (uint64_t i = 0; i < all.size(); i++) lengths.add(i, all[i] = random() >> shift >> random() % 4);
    std::sort(all.begin(), all.end());
    const uint64_t exact = all[(all.size() - 1) / 2];
    EXPECT_NEAR(static_cast<double>(lengths.median()), static_cast<double>(exact), static_cast<double>(exact) / 100);
    EXPECT_EQ(lengths.longest(), all.back());
    if (exact < 128) {
      EXPECT_EQ(lengths.median(), exact);
    }
  }
  InputLengths largest;
  largest.add(1, ~uint64_t{0});
  EXPECT_GT(largest.median(), ~uint64_t{0} / 100 * 99);
  InputLengths equal;
  for (uint64_t i = 0; i < 5; i++) equal.add(i, 1'000'001);
  EXPECT_LE(equal.median(), equal.longest());
}

/// Counts `rounds` * 2 instructions down, where rounds is the number that its first eight bytes of input are, and exits.
const std::vector<uint32_t> kCountDown = {
    0xd10043ff,  //        sub  sp, sp, #16
    0xd2800000,  //        mov  x0, #0
    0x910003e1,  //        mov  x1, sp
    0xd2800102,  //        mov  x2, #8
    0xd28007e8,  //        mov  x8, #63         read
    0xd4000001,  //        svc  #0
    0xf94003e9,  //        ldr  x9, [sp]
    0xf1000529,  // again: subs x9, x9, #1
    0x54ffffec,  //        b.gt again
    0xd2800ba8,  //        mov  x8, #93         exit
    0xd4000001,  //        svc  #0
};
constexpr uint64_t kBeside = 9;  // instructions

struct Ended {
  QueueProgress progress;
  uint64_t in_all = 0;
};

Ended count_down(uint64_t lanes, const std::vector<uint64_t>& rounds) {
  Queue queue(image_of(kCountDown), fleet_of(lanes), {});
  size_t at = 0;
  Ended ended;
  ended.progress = queue.run(
      [&](ProcessInput& input, uint64_t&, bool) {
        if (at == rounds.size()) return Supply::ended;
        std::vector<uint8_t> bytes(8);
        std::memcpy(bytes.data(), &rounds[at++], 8);
        input.standard_input = bytes;
        return Supply::input;
      },
      [&](QueueResult& result) {
        EXPECT_EQ(result.instructions, 2 * rounds[result.number] + kBeside);
        ended.in_all += result.instructions;
        return true;
      });
  EXPECT_EQ(ended.progress.instructions, ended.in_all);
  return ended;
}

TEST(QueueStragglers, LanesThatWaitForOthersAreCounted) {
  // One lane waits for nobody.
  EXPECT_EQ(count_down(1, {10, 100'000, 1000}).progress.idle_share(), 0);
  // Two that end in one round: the shorter one waits for the longer.
  EXPECT_EQ(count_down(2, {1000, 4000}).progress.lane_instructions, 2 * (8000 + kBeside));
  // Four lanes for one input.
  const Ended alone = count_down(4, {500});
  EXPECT_DOUBLE_EQ(alone.progress.idle_share(), 0.75);
  // The long one takes three rounds and a part. In each of them the other lane does one of the short ones.
  const uint64_t part = 1234;
  const uint64_t longest = 3 * kSlice + part - kBeside % 2;
  const Ended both = count_down(2, {(longest - kBeside) / 2, 100, 200, 300});
  EXPECT_EQ(both.progress.lane_instructions, 2 * (3 * kSlice + (longest - 1) % kSlice + 1));
  EXPECT_EQ(both.progress.longest_number, 0u);
  EXPECT_EQ(both.progress.longest_instructions, (longest - kBeside) / 2 * 2 + kBeside);
  EXPECT_NEAR(static_cast<double>(both.progress.median_instructions), 2 * 200 + kBeside, 5);
  // Two equal ones.
  EXPECT_EQ(count_down(2, {70'000, 70'000}).progress.idle_share(), 0);
}

}  // namespace
}  // namespace myriarm
