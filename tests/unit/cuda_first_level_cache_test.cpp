// SPDX-License-Identifier: Apache-2.0
// How a multiprocessor divides its memory into shared memory and cache. Needs no device.
#include <gtest/gtest.h>

#include "backends/cuda/first_level_cache.h"

namespace myriarm::cuda {
namespace {

constexpr Multiprocessors kH200 = {132, 228 << 10, 1 << 10};
constexpr u32 kBlock = kWarps * kSharedSlots * 32 * 8;

TEST(FirstLevelCache, BlocksThatDoNotFillADeviceLeaveTheRestToIt) {
  EXPECT_EQ(blocks_of_teams(1), 1u);
  EXPECT_EQ(blocks_of_teams(2048), 512u);
  EXPECT_EQ(blocks_at_once(1, kH200, false), 1u);
  EXPECT_EQ(blocks_at_once(512, kH200, false), 4u);
  EXPECT_EQ(blocks_at_once(4 * 132, kH200, false), 4u);
  EXPECT_EQ(blocks_at_once(4 * 132 + 1, kH200, false), 5u);
  EXPECT_EQ(blocks_at_once(100000, kH200, false), u32{kManyBlocks});
  EXPECT_EQ(blocks_at_once(100000, kH200, true), kBlocksWithCache);
  EXPECT_EQ(blocks_at_once(100, kH200, true), 1u);
}

TEST(FirstLevelCache, IsAChoiceWhereFewerBlocksHaveAsMuchToDo) {
  EXPECT_FALSE(cache_is_a_choice(512, kH200)) << "all of them run at once";
  EXPECT_FALSE(cache_is_a_choice(4 * 132 + 1, kH200)) << "a second round for one block";
  EXPECT_FALSE(cache_is_a_choice(6 * 132, kH200)) << "a second round that is half empty";
  EXPECT_TRUE(cache_is_a_choice(8 * 132, kH200)) << "two full rounds, and six at once leave the second one as short";
  EXPECT_TRUE(cache_is_a_choice(12 * 132, kH200));
}

TEST(FirstLevelCache, ThePercentageHoldsTheBlocks) {
  for (u32 blocks = 1; blocks <= kManyBlocks; blocks++) {
    const u64 bytes = u64(shared_percent(kH200, blocks, kBlock)) * kH200.shared_bytes / 100;
    EXPECT_GE(bytes, blocks * (kBlock + 1024));
    EXPECT_LT(bytes, blocks * (kBlock + 1024) + kH200.shared_bytes / 100);
  }
  EXPECT_EQ(shared_percent(kH200, 7, kBlock), 100) << "more than there is";
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
