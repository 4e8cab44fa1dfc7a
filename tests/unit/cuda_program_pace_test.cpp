// SPDX-License-Identifier: Apache-2.0
// Which way the teams of a program go, by what the teams that keep to each way have retired.
#include <gtest/gtest.h>

#include <array>

#include "backends/cuda/interpreter/program_pace.h"

namespace myriarm::cuda {
namespace {

constexpr u64 kClocks = 2 * ProgramPace::kFewestClocks;

ProgramPace measured(std::array<u64, kWays> rates, u32 best) {
  ProgramPace pace = {};
  for (u32 way = 0; way < kWays; way++) {
    pace.clocks[way] = kClocks;
    pace.retired[way] = rates[way] * kClocks / 1000;
  }
  pace.best = best;
  return pace;
}

TEST(ProgramPace, BeginsWithLanesThatWait) { EXPECT_EQ(ProgramPace{}.choose(), u32{kLowestPc}); }

TEST(ProgramPace, TheWayThatRetiresTheMostIsChosen) {
  EXPECT_EQ(measured({500, 800, 1500}, kLowestPc).choose(), u32{kNobodyWaits});
  EXPECT_EQ(measured({500, 1500, 800}, kLowestPc).choose(), u32{kLeastProgress});
  EXPECT_EQ(measured({500, 1500, 800}, kNobodyWaits).choose(), u32{kLeastProgress});
  EXPECT_EQ(measured({1500, 800, 500}, kNobodyWaits).choose(), u32{kLowestPc});
}

TEST(ProgramPace, AWayThatIsHardlyFasterIsNot) {
  EXPECT_EQ(measured({1000, 1050, 1090}, kLowestPc).choose(), u32{kLowestPc});
  EXPECT_EQ(measured({1000, 1050, 1110}, kLowestPc).choose(), u32{kNobodyWaits});
  EXPECT_EQ(measured({1000, 1150, 1110}, kLowestPc).choose(), u32{kLeastProgress});
}

TEST(ProgramPace, AWayThatWasHardlyMeasuredIsLeftAlone) {
  ProgramPace pace = measured({500, 800, 1500}, kLowestPc);
  pace.clocks[kNobodyWaits] = ProgramPace::kFewestClocks - 1;
  EXPECT_EQ(pace.choose(), u32{kLeastProgress});
  pace.clocks[kLowestPc] = 0;
  EXPECT_EQ(pace.choose(), u32{kLowestPc});
}

TEST(ProgramPace, AFewTeamsKeepToEachWay) {
  std::array<u32, kWays> keep = {};
  for (u32 team = 0; team < kPilots; team++) {
    u32 same = 0;
    for (u32 best = 0; best < kWays; best++) same += way_of_team(team, kFewestTeams, best) == best;
    ASSERT_TRUE(same == 1 || same == kWays) << "either always its own way, or that of the others";
    if (same == 1) keep[way_of_team(team, kFewestTeams, kLowestPc)]++;
  }
  EXPECT_EQ(keep, (std::array<u32, kWays>{1, 1, 1}));
  EXPECT_EQ(way_of_team(kComparingTeam, kFewestTeams, kNobodyWaits), u32{kLowestPc});
  for (u32 team = 0; team < kFewestTeams - 1; team++) {
    EXPECT_EQ(way_of_team(team, kFewestTeams - 1, kNobodyWaits), u32{kLowestPc});
  }
}

}  // namespace
}  // namespace myriarm::cuda
