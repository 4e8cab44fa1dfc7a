// SPDX-License-Identifier: Apache-2.0
// What a snapshot of the CPU backend holds: only pages that differ from the program's, whose frames lanes and snapshots
// share until a lane writes to them. With flat memory nothing can be shared, and the windows are copied.
#pragma once

#include <memory>
#include <vector>

#include "backends/cpu/flat_memory.h"
#include "backends/cpu/interpreter/lane_code.h"
#include "core/stop.h"

namespace myriarm::cpu {

struct PageSnapshot {
  u32 page;
  u32 entry;  // without kPageCode
};

/// A further address space of a lane: LaneSpace.
struct SpaceSnapshot {
  u32 number, lender;
  std::unique_ptr<LaneCode> code;
  u64 first_page = 0, page_count = 0;  // of FleetSnapshot::pages: all entries
};

struct LaneSnapshot {
  u32 program = 0;
  bool has_memory = true;
  std::unique_ptr<LaneCode> code;  // null: the program's
  u64 touched = 0;
  u64 first_page = 0, page_count = 0;  // of FleetSnapshot::pages
  u32 running_space = 0;
  bool has_common_pages = false;  // one frame may be several of its pages
  std::vector<SpaceSnapshot> spaces;
  StopRecord stop = {};
};

struct FleetSnapshot {
  std::vector<u32> lanes;  // rising
  std::vector<LaneSnapshot> kept;
  std::vector<PageSnapshot> pages;  // entries that differ from the program's, in rising order of page in each space
  std::vector<u64> arrays;          // of lanes.size() values each: CpuBackend::array(0) and up
  std::vector<u64> vectors;         // 64 of each lane
  FlatMemory windows;
};

}  // namespace myriarm::cpu
