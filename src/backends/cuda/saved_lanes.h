// SPDX-License-Identifier: Apache-2.0
// What a snapshot of a CUDA fleet holds, most of it on the device.
#pragma once

#include "backends/cuda/device_memory.h"
#include "backends/cuda/kernels.h"

namespace myriarm::cuda {

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
  DeviceArray<u8> permissions;
  u64 entry_count = 0;
  SavedTeams pages = {};

  u32 place_of(u32 lane) const;  // index of a lane in `lanes`
};

}  // namespace myriarm::cuda
