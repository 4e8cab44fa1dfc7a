// SPDX-License-Identifier: Apache-2.0
// Which page tables of a team lanes get when they are restored.
#include "backends/cuda/free_places.h"

#include <gtest/gtest.h>

#include <numeric>

namespace myriarm::cuda {
namespace {

struct Team {
  u32 numbers[kTeamTables] = {}, present[kTeamTables] = {}, exclusive[kTeamTables] = {};
  /// So many places with a table.
  explicit Team(u32 tables) { std::iota(numbers + 1, numbers + 1 + tables, 100u); }
  FreePlaces free(u32 restored) const { return {numbers, present, exclusive, restored}; }
};
constexpr bool kAlone = true, kShares = false;

TEST(FreePlaces, AreThoseThatTheLanesHad) {
  Team team(5);
  team.present[3] = 0b0101;
  team.present[4] = 0b1000;
  FreePlaces free = team.free(0b0101);
  EXPECT_EQ(free.keeping(3), 0u);
  EXPECT_EQ(free.keeping(4), 0b1000u);
  EXPECT_EQ(free.take(3, kAlone), 3u);
  EXPECT_EQ(free.take(4, kShares), 4u);
  EXPECT_EQ(free.take(5, kShares), 5u);
}

TEST(FreePlaces, OfOthersAreSharedUnlessOneHasThemAlone) {
  Team team(2);
  team.present[1] = team.present[2] = 0b10;
  team.exclusive[2] = 1;
  FreePlaces free = team.free(0b01);
  EXPECT_EQ(free.take(2, kShares), 3u);
  EXPECT_EQ(free.take(1, kAlone), 4u);
  EXPECT_EQ(free.take(1, kShares), 1u);
}

TEST(FreePlaces, LeaveNoPlaceWithoutATableInFrontOfOne) {
  const Team team(1);
  FreePlaces free = team.free(0);
  EXPECT_EQ(free.take(200, kAlone), 1u);
  EXPECT_EQ(free.take(200, kShares), 2u);
  EXPECT_EQ(free.take(3, kShares), 3u);
}

TEST(FreePlaces, MayBeAllTaken) {
  Team team(kTeamTables - 1);
  for (u32 place = 1; place < kTeamTables; place++) {
    team.present[place] = 0b10;
    team.exclusive[place] = place != 77;
  }
  FreePlaces free = team.free(0b01);
  EXPECT_EQ(free.take(5, kAlone), kTeamTables);
  EXPECT_EQ(free.take(5, kShares), 77u);
  EXPECT_EQ(free.take(5, kShares), kTeamTables);
  FreePlaces all = team.free(~0u);
  for (u32 place = 1; place < kTeamTables; place++) EXPECT_EQ(all.take(1, kAlone), place);
  EXPECT_EQ(all.take(1, kAlone), kTeamTables);
}

}  // namespace
}  // namespace myriarm::cuda
