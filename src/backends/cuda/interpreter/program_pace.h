// SPDX-License-Identifier: Apache-2.0
// How the lanes of a team of processes take turns once they have parted. Which way is the fastest depends on the program, and one team
// cannot find it by trying: lanes that have parted may meet again only after they have waited for each other for long. So of the many teams
// of a program a few, the pilots, keep to each way, and the others go the way of those that retire the most in the same time:
// docs/design/meeting-at-calls.md.
#pragma once

#include "core/portable.h"

namespace myriarm::cuda {

enum Way : u32 {
  kLowestPc,  // lanes wait for each other at calls and returns; then those go on that are deepest in the stack, at the lowest pc
  kLeastProgress,  // the same, but at the pc of the lane that has retired the least
  kNobodyWaits,    // each goes on at its own pc
  kWays,
};

/// Of each program. The host sets the last two; all others are 0 at first.
struct ProgramPace {
  /// The ways are compared each report, some four milliseconds. After a change of the best one so many comparisons pass until the next.
  static constexpr u32 kFewestComparisons = 32;
  /// After so many, a second, the pilots that wait go the best way too if no inputs are to come: the run would end with the slowest of them.
  static constexpr u32 kSettled = 256;
  /// Clocks that a way must have been measured for: some two reports of a team.
  static constexpr u64 kFewestClocks = u64{1} << 24;
  /// The share of both sums that is forgotten with each comparison, so that they are of the last half second.
  static constexpr u32 kForgottenShift = 7;

  u64 retired[kWays], clocks[kWays];
  u32 best;
  u32 comparisons;  // since `best` changed
  u32 compared_at;  // the tick of the last one
  u32 first_team, teams;

  /// The best way, from now on. Rates vary by some percent, so a way that is hardly faster would win one time and lose the next.
  MYR_FN u32 choose() const {
    u32 way = best;
    if (comparisons < kFewestComparisons) return way;
    for (u32 other = 0; other < kWays; other++) {
      if (clocks[way] < kFewestClocks || clocks[other] < kFewestClocks) continue;
      const float mine = (float)retired[way] / (float)clocks[way],
                  theirs = (float)retired[other] / (float)clocks[other];
      if (theirs > mine * (way == best ? 1.1f : 1.0f)) way = other;
    }
    return way;
  }
};

/// Of so many teams one is the pilot of each way. A program with fewer than kFewestTeams has none: all wait.
constexpr u32 kPilots = 32, kFewestTeams = 64;
/// A pilot of kNobodyWaits is one for 2^kTermShift ticks, a second: it parts its lanes, and so the teams bear this in turn. Those of the other
/// ways stay, since lanes that begin to wait when they have parted do not show what waiting from the start brings.
constexpr u32 kTermShift = 9;

/// The way of team `number` of the `teams` of its program. `settled`: no pilot has to wait any more.
MYR_FN u32 way_of_team(u32 number, u32 teams, u32 tick, u32 best, bool settled) {
  if (teams < kFewestTeams) return kLowestPc;
  const u32 place = number % kPilots;
  if (place == 7 && !settled) return kLowestPc;
  if (place == 15 && !settled) return kLeastProgress;
  return (number + (tick >> kTermShift)) % kPilots == 23 ? (u32)kNobodyWaits : best;
}

}  // namespace myriarm::cuda
