// SPDX-License-Identifier: Apache-2.0
// How a multiprocessor divides its memory into shared memory and cache. Needs no device.
#include "backends/cuda/first_level_cache.h"

#include <gtest/gtest.h>

namespace myriarm::cuda {
namespace {

constexpr Multiprocessors kH200 = {132, 228 << 10, 1 << 10}, kA100 = {108, 164 << 10, 1 << 10}, kT4 = {40, 64 << 10, 0};
constexpr u32 kBlock = kWarps * kSharedSlots * 32 * 8;

TEST(FirstLevelCache, AMultiprocessorRunsAsManyBlocksAsThereAreAndAsFit) {
  EXPECT_EQ(blocks_of_teams(1), 1u);
  EXPECT_EQ(blocks_of_teams(2048), 512u);
  EXPECT_EQ(blocks_at_once(1, kBlock, kH200, false), 1u);
  EXPECT_EQ(blocks_at_once(512, kBlock, kH200, false), 4u);
  EXPECT_EQ(blocks_at_once(4 * 132 + 1, kBlock, kH200, false), 5u);
  EXPECT_EQ(blocks_at_once(100000, kBlock, kH200, false), u32{kManyBlocks});
  EXPECT_EQ(blocks_at_once(100000, kBlock, kH200, true), kFewAtOnce);
  EXPECT_EQ(blocks_at_once(100, kBlock, kH200, true), 1u);
  EXPECT_EQ(blocks_at_once(100000, kBlock, kA100, false), 4u);
  EXPECT_EQ(blocks_at_once(100000, kBlock, kT4, false), 1u);
  EXPECT_EQ(blocks_at_once(100000, 2 * kT4.shared_bytes, kT4, false), 1u) << "the launch is refused elsewhere";
}

TEST(FirstLevelCache, FewBlocksAreAChoiceWhereTheyHaveAsMuchToDo) {
  EXPECT_FALSE(few_is_a_choice(512, kBlock, kH200)) << "all of them run at once";
  EXPECT_FALSE(few_is_a_choice(4 * 132 + 1, kBlock, kH200)) << "a second round for one block";
  EXPECT_FALSE(few_is_a_choice(6 * 132, kBlock, kH200)) << "a second round that is half empty";
  EXPECT_TRUE(few_is_a_choice(8 * 132, kBlock, kH200)) << "two full rounds, where six at once have a short second one";
  EXPECT_TRUE(few_is_a_choice(12 * 132, kBlock, kH200));
  EXPECT_FALSE(few_is_a_choice(12 * 108, kBlock, kA100)) << "no more than four fit there";
  EXPECT_FALSE(few_is_a_choice(12 * 40, kBlock, kT4));
}

u64 bytes_of(int percent) { return u64(percent) * kH200.shared_bytes / 100; }
constexpr u64 bytes_for(u32 blocks) { return u64{blocks} * (kBlock + 1024); }

TEST(FirstLevelCache, SharedMemoryHasRoomForOneBlockMoreIfTheKernelAllowsIt) {
  const u64 unit = kH200.shared_bytes / 100 + 1;
  const struct {
    u32 blocks, room;
  } cases[] = {{1, 2}, {132, 2}, {2 * 132, 3}, {3 * 132, 3}, {512, 5}, {5 * 132, 6}, {12 * 132, 6}};
  for (const auto& [blocks, room] : cases) {
    const u64 bytes = bytes_of(shared_percent(blocks, kBlock, kH200, false));
    EXPECT_GE(bytes, bytes_for(room)) << blocks << " blocks";
    EXPECT_LT(bytes, bytes_for(room) + unit) << blocks << " blocks";
  }
  const u64 few = bytes_of(shared_percent(12 * 132, kBlock, kH200, true));
  EXPECT_GE(few, bytes_for(kFewAtOnce));
  EXPECT_LT(few, bytes_for(kFewAtOnce) + unit);
  EXPECT_EQ(shared_percent(12 * 40, kBlock, kT4, false), 100) << "no more than there is";
}

TEST(FirstLevelCache, AShortLastRoundCounts) {
  EXPECT_DOUBLE_EQ(full_part(12 * 132, kH200, 6), 1.0);
  EXPECT_DOUBLE_EQ(full_part(12 * 132, kH200, 4), 1.0);
  EXPECT_DOUBLE_EQ(full_part(5 * 132, kH200, 5), 1.0);
  EXPECT_DOUBLE_EQ(full_part(5 * 132, kH200, 4), 5.0 / 8);
  EXPECT_DOUBLE_EQ(full_part(132, kH200, 6), 1.0 / 6);
}

}  // namespace
}  // namespace myriarm::cuda
