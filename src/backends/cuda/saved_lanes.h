// SPDX-License-Identifier: Apache-2.0
// What a snapshot of a CUDA fleet holds, most of it on the device, and what a restore makes of it.
#pragma once

#include <utility>

#include "backends/cuda/device_memory.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/process/saved_spaces.h"

namespace myriarm::cuda {

/// A lane that has more than its first space.
struct SavedSpaces {
  LaneSpaces spaces;
  std::vector<std::pair<u8, u32>> tables;  // its places but the first, and their indices in SavedLanes::table_list
  u32 first_copy = 0, copies = 0;          // in SavedTables::copies
};

struct SavedLanes {
  std::vector<u32> lanes;        // rising
  std::vector<bool> has_memory;  // of these lanes, in this order
  // The state of these lanes, in this order.
  DeviceArray<u64> planes, vectors;  // vectors: as View::vectors
  DeviceArray<StopRecord> stops;
  DeviceArray<u8> flat_memory;  // windows, where memory is flat and on the device
  std::vector<u8> host_memory;  // where it is flat and on the host
  // The pages of the teams that the lanes are in.
  std::vector<u32> teams, programs;
  DeviceArray<u32> team_index, team_list, team_programs, first, entries;
  DeviceArray<u64> touched;
  DeviceArray<Split> splits;
  DeviceArray<u8> permissions;
  u64 entry_count = 0;
  SavedTeams pages = {};
  // Further tables, if some lanes have several spaces.
  std::vector<u32> several;  // by place in `lanes`: the lane's index in `spaces`, or kNotSaved; empty: none has
  std::vector<SavedSpaces> spaces;
  std::vector<SavedTable> table_list;
  DeviceArray<SavedTable> device_table_list;
  DeviceArray<u32> table_entries;
  DeviceArray<Split> table_splits;
  DeviceArray<u8> copies;
  u64 table_entry_count = 0;
  SavedTables tables = {};

  u32 place_of(u32 lane) const;  // index of a lane in `lanes`
  /// Null: the lane has its first space alone.
  const SavedSpaces* spaces_of(u32 lane) const {
    const u32 index = several.empty() ? kNotSaved : several[place_of(lane)];
    return index == kNotSaved ? nullptr : &spaces[index];
  }
};

/// A restore, before anything has changed.
struct RestorePlan {
  std::vector<TeamSources> teams;
  std::vector<u32> programs;     // of all teams, afterwards
  std::vector<TeamMask> leaves;  // the lanes that leave their further tables first
  // Of lanes that get several spaces.
  std::vector<RestoredTable> tables;
  std::vector<RestoredLane> lanes;
  std::vector<CopiedPage> copies;
  u32 tables_end = 0;  // the number behind those of all tables that belong to teams afterwards
  RestoreCounts team_counts = {}, table_counts = {};
};

}  // namespace myriarm::cuda
