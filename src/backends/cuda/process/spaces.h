// SPDX-License-Identifier: Apache-2.0
// The address spaces of lanes with several processes, as kernels see them: further page tables, each of which belongs to one team
// and has pages of those lanes of it that have a space there. Tables are numbered: first come those of the teams, which have the
// pages that are the lane's, whichever process runs. docs/design/spaces-on-a-gpu.md.
#pragma once

#include "core/portable.h"
#include "kernel/process.h"

namespace myriarm::cuda {

/// Spaces of a lane: one for each process, and one that execve() makes.
constexpr u32 kMostSpaces = kernel::kMostProcesses + 1;
/// Tables of a team: its own, in place 0, and further ones. A lane needs one for each of its processes, and one more for each
/// that has borrowed memory from a process which has ended; with common memory, it has them alone.
constexpr u32 kTeamTables = 255;
constexpr u8 kNoPlace = 0xFF;

/// The spaces of a lane, by number: in which of its team's tables the process's own kernel pages are, and in which the guest's. And in
/// which the pages are that all processes of the lane have: the team's, until pages of the layer are to be the guest's too.
struct LaneSpaces {
  u8 running;
  u8 lane;
  u8 own[kMostSpaces];  // kNoPlace: there is no such space
  u8 guest[kMostSpaces];
  u8 is_answered;  // the call that the host gave back (kCallsHere), with this result
  i64 result;
};

/// The numbers of the tables of the space that runs, and of the one that has the lane's pages.
struct LaneTables {
  u32 guest, own, lane;
};

struct SpacesView {
  LaneTables* running;  // of each lane; null: no lane has asked for a second space, and each runs in its team's table
  LaneSpaces* lanes;
  u32*
      numbers;  // kTeamTables of each team: the number of its table in this place; 0: there is none yet. That of place 0 is not here
  u32* present;    // as many: the lanes that have a space in this table. If none does, all of its entries are 0
  u32* exclusive;  // as many: not 0: one lane has this table alone
  u32* away;       // of each team: the lanes whose pages of the lane are in a further table
  u32* owners;     // of each further table: team * kTeamTables + place
  u32* next;       // the number of the first table that is nobody's yet
  u32 end;         // the number behind the last one
  u32 is_final;    // not 0: there is no memory for more tables
  u32* tables;     // entries of the further tables
};

}  // namespace myriarm::cuda
