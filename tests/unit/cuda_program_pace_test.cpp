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
  pace.comparisons = ProgramPace::kFewestComparisons;
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

TEST(ProgramPace, AChoiceStandsForAWhile) {
  ProgramPace pace = measured({500, 800, 1500}, kLowestPc);
  pace.comparisons--;
  EXPECT_EQ(pace.choose(), u32{kLowestPc});
}

/// How many of the teams with numbers below kPilots have a way that is not the best one.
std::array<u32, kWays> pilots(u32 tick, u32 best, bool settled) {
  std::array<u32, kWays> teams = {};
  for (u32 number = 0; number < kPilots; number++) teams[way_of_team(number, kFewestTeams, tick, best, settled)]++;
  return teams;
}

TEST(ProgramPace, OneTeamOf32IsThePilotOfEachWay) {
  using Teams = std::array<u32, kWays>;
  const u32 tick = 2 << kTermShift;
  EXPECT_EQ(pilots(tick, kLowestPc, false), (Teams{kPilots - 2, 1, 1}));
  EXPECT_EQ(pilots(tick, kLeastProgress, false), (Teams{1, kPilots - 2, 1}));
  EXPECT_EQ(pilots(tick, kNobodyWaits, false), (Teams{1, 1, kPilots - 2}));
  EXPECT_EQ(pilots(tick, kNobodyWaits, true), (Teams{0, 0, kPilots}));
  EXPECT_EQ(pilots(tick, kLowestPc, true), (Teams{kPilots - 1, 0, 1}));
}

TEST(ProgramPace, TheTeamsBearPartingTheirLanesInTurn) {
  u32 terms = 0;
  for (u32 term = 0; term < kPilots; term++) {
    const u32 tick = term << kTermShift;
    const u32 way = way_of_team(40, kFewestTeams, tick, kLowestPc, false);
    EXPECT_EQ(way_of_team(40, kFewestTeams, tick + (1 << kTermShift) - 1, kLowestPc, false), way);
    terms += way == kNobodyWaits;
  }
  EXPECT_EQ(terms, 1u);
}

TEST(ProgramPace, AProgramWithFewTeamsHasNoPilots) {
  for (u32 number = 0; number < kFewestTeams - 1; number++) {
    EXPECT_EQ(way_of_team(number, kFewestTeams - 1, 0, kNobodyWaits, true), u32{kLowestPc});
  }
}

}  // namespace
}  // namespace myriarm::cuda
