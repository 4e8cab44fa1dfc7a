// SPDX-License-Identifier: Apache-2.0
// How the lanes of a team of processes take turns once they have parted. Which way is the fastest depends on the program, and for
// one team it cannot be told by trying: lanes that wait for each other may meet again only after long, and lanes that do not wait have
// parted for good. So of the many teams of a program a few keep to each way, and the others go as those do that have retired the most
// in the same time: docs/design/meeting-at-calls.md.
#pragma once

#include "core/portable.h"

namespace myriarm::cuda {

enum Way : u32 {
  kLowestPc,  // lanes wait for each other at calls and returns; then those go on that are deepest in the stack, at the lowest pc
  kLeastProgress,  // the same, but at the pc of the lane that has retired the least
  kNobodyWaits,    // each goes on at its own pc
  kWays,
};

/// Of each program. All zeros at first.
struct ProgramPace {
  /// Clocks of teams that a way has been measured for before it is compared, some 64 ms; and the share of both sums that is forgotten at each
  /// report of the team that compares, so that they are of the last half second.
  static constexpr u64 kFewestClocks = u64{1} << 27;
  static constexpr u32 kForgottenShift = 7;

  u64 retired[kWays], clocks[kWays];
  u32 best;

  /// The way that others are to go. Ways differ by some percent from time to time, so that one that is hardly faster would be one time
  /// the best, and one not.
  MYR_FN u32 choose() const {
    u32 way = best;
    for (u32 other = 0; other < kWays; other++) {
      if (clocks[way] < kFewestClocks || clocks[other] < kFewestClocks) continue;
      const float mine = (float)retired[way] / (float)clocks[way],
                  theirs = (float)retired[other] / (float)clocks[other];
      if (theirs > mine * (way == best ? 1.1f : 1.0f)) way = other;
    }
    return way;
  }
};

/// A fleet of fewer teams has none that keep to a way: all wait.
constexpr u32 kFewestTeams = 64;
/// Of so many teams one keeps to each way. The first of a program at this place compares them; it keeps to kLowestPc.
constexpr u32 kPilots = 32, kComparingTeam = 7;

/// The way of a team when its lanes begin.
MYR_FN u32 way_of_team(u32 team, u32 teams, u32 best) {
  if (teams < kFewestTeams) return kLowestPc;
  switch (team % kPilots) {
    case kComparingTeam: return kLowestPc;
    case 15: return kLeastProgress;
    case 23: return kNobodyWaits;
    default: return best;
  }
}

}  // namespace myriarm::cuda
