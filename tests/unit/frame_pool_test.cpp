// SPDX-License-Identifier: Apache-2.0
// Frames in the order of the pages of their lanes: who gets which, and when.
#include "backends/cpu/frame_pool.h"

#include <gtest/gtest.h>

namespace myriarm::cpu {
namespace {

constexpr u64 kLanes = 2, kPages = 16, kFrames = 4 * 2 * kLanes * kPages;

u32 taken(FramePool& pool, u64 lane, u64 page, bool is_zeroed = true) {
  bool zeroed = !is_zeroed;
  const u32 frame = pool.allocate_for(lane, page, zeroed);
  EXPECT_EQ(zeroed, is_zeroed) << "lane " << lane << ", page " << page;
  return frame;
}

TEST(FramePool, GivesFramesInTheOrderOfPages) {
  FramePool pool(3, kFrames, false, kLanes, kPages);
  ASSERT_TRUE(pool.has_order());
  const u32 first = taken(pool, 1, 4);
  EXPECT_GE(first, FramePool::kFirstImageFrame + 3);
  EXPECT_EQ(taken(pool, 1, 7), first + 3);
  EXPECT_EQ(taken(pool, 1, 3), first - 1);
  EXPECT_NE(taken(pool, 0, 4), first);
  EXPECT_EQ(pool.used_bytes(), 4 * kPageSize);
}

TEST(FramePool, HasAnotherFrameForAPageWhoseFrameIsHeld) {
  FramePool pool(3, kFrames, false, kLanes, kPages);
  const u32 first = taken(pool, 0, 4), second = taken(pool, 0, 4), third = taken(pool, 0, 4);
  EXPECT_EQ(taken(pool, 0, 5), first + 1);
  EXPECT_EQ(taken(pool, 0, 5), second + 1) << "these are in order too";
  EXPECT_NE(third, 0u);
  EXPECT_NE(third, first);
  EXPECT_NE(third, second);
  pool.retain(first);
  pool.release(first);
  EXPECT_NE(taken(pool, 0, 4), first) << "one holder is left";
  pool.release(first);
  EXPECT_EQ(taken(pool, 0, 4, false), first) << "the frame is free, and not zero";
}

TEST(FramePool, CountsFramesWithAnOrderAsOthers) {
  FramePool pool(3, kFrames, false, kLanes, kPages);
  bool zeroed = false;
  const u32 first = taken(pool, 0, 4);
  for (u64 i = 1; i < kFrames; i++) ASSERT_NE(pool.allocate(zeroed), first);
  EXPECT_EQ(pool.allocate_for(1, 4, zeroed), 0u) << "the pool is spent";
  EXPECT_EQ(pool.allocate(zeroed), 0u);
  pool.release(first);
  EXPECT_EQ(pool.used_bytes(), (kFrames - 1) * kPageSize);
  EXPECT_NE(pool.allocate(zeroed), first) << "it serves its own page alone";
  EXPECT_EQ(pool.allocate_for(1, 4, zeroed), 0u);
}

TEST(FramePool, HasNoOrderForWindowsThatAreMoreThanAPartOfIt) {
  FramePool pool(3, kFrames, false, kFrames, kPages);
  EXPECT_FALSE(pool.has_order());
  bool zeroed = false;
  EXPECT_NE(pool.allocate_for(7, 4, zeroed), 0u);
  EXPECT_TRUE(zeroed);
}

}  // namespace
}  // namespace myriarm::cpu
