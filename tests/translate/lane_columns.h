// SPDX-License-Identifier: Apache-2.0
// The registers of a lane as a region for a GPU sees them, in memory of this process: a column of "shared memory" at an address of 32
// bits, planes of vector registers and system fields, and what the lanes of the team have in common.
#pragma once

#include <sys/mman.h>

#include <stdexcept>

#include "translate/find_page.h"

namespace myriarm::translate {

class LaneColumns {
 public:
  /// The lane at `place` of its team. `pages`: its memory, as a region is told of it.
  template <u32 kTeam>
  LaneColumns(u32 place, const PagedMemory<kTeam>& pages) : place_(place) {
    void* low = mmap(nullptr, kLowBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (low == MAP_FAILED) throw std::runtime_error("no memory at an address of 32 bits");
    low_ = static_cast<u8*>(low);
    *facts() = {};
    facts()->frames = reinterpret_cast<u64>(pages.frames);
    facts()->table = reinterpret_cast<u64>(pages.table);
    facts()->first_page = pages.first_page;
    facts()->page_count = pages.page_count;
    facts()->vectors = reinterpret_cast<u64>(vectors_);
    for (size_t i = 0; i < kFields; i++) facts()->system[i] = reinterpret_cast<u64>(system_[i]);
    facts()->vector_plane = sizeof vectors_[0];
    facts()->granule_step = pages.granule_step;
    facts()->lane_step = 8;
    facts()->columns = address(low_ + kColumnsAt);
    forget_found();
  }
  ~LaneColumns() { munmap(low_, kLowBytes); }
  LaneColumns(const LaneColumns&) = delete;

  u32 column() const { return facts()->columns + place_ * 8; }
  u32 team() const { return address(low_); }
  /// To be called when the page table has changed.
  void forget_found() {
    for (u64& found : facts()->found) found = kNoFoundEntry;
  }

  u64& slot(u32 number, u32 lane) const {
    return reinterpret_cast<u64*>(low_ + kColumnsAt + number * kColumnStep)[lane];
  }
  u64& slot(u32 number) const { return slot(number, place_); }
  u64& vector(u32 n, u32 half, u32 lane) { return vectors_[half * 32 + n][lane]; }
  u64& vector(u32 n, u32 half) { return vector(n, half, place_); }
  u64& system(size_t field) { return system_[field][place_]; }

 private:
  static constexpr size_t kFields = static_cast<size_t>(SystemField::count);
  static constexpr size_t kColumnsAt = kPageSize, kLowBytes = size_t{8} * kPageSize;
  static u32 address(const u8* at) { return static_cast<u32>(reinterpret_cast<u64>(at)); }
  DeviceTeamFacts* facts() const { return reinterpret_cast<DeviceTeamFacts*>(low_); }

  const u32 place_;
  u64 vectors_[64][kDeviceTeam] = {}, system_[kFields][kDeviceTeam] = {};
  u8* low_ = nullptr;
};

/// What myriarm_find_page() gives in a region that runs with this column and team.
inline DevicePage page_found_for(u32 column, u32 team, u64 address) {
  auto* facts = reinterpret_cast<DeviceTeamFacts*>(u64{team});
  return find_page(facts, (column - facts->columns) / 8, address);
}

}  // namespace myriarm::translate
