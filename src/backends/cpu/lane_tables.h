// SPDX-License-Identifier: Apache-2.0
// The page tables of a fleet's lanes. A lane has a table of its own only from the first change of its memory, or its
// first run, until it gives its memory back. Before, it reads the table of its program; after, an empty one. Lanes share
// these two, and nothing may write to them. Tables that were given back go to lanes that begin later, so the host's
// memory for tables is that of the most lanes which had one at the same time.
// Tables lie close together, without the entries of pages that few lanes ever change (threads, pipes, files that they write), so
// that what begins a table shares a page of the host with what ends the one before. A lane that needs more entries gets a table
// that is whole.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backends/common/page_slices.h"
#include "backends/cpu/host_memory.h"
#include "backends/cpu/lane_spaces.h"
#include "backends/cpu/program_pages.h"

namespace myriarm::cpu {

class LaneTables {
 public:
  /// Tables begin with `pages` entries, in which all that the programs map has its place; `whole` makes those that have more.
  /// Throws DeviceError if the host refuses the addresses for a table of each lane and each program.
  LaneTables(u64 lanes, u64 pages, size_t programs, SpaceTables& whole);

  /// A lane that runs `program` and has changed nothing.
  void begin(u64 lane, u32 program) { place_of_[lane] = kFirstProgram + program; }
  bool has_own(u64 lane) const { return place_of_[lane] >= first_own_; }
  bool is_empty(u64 lane) const { return place_of_[lane] == kEmpty; }

  /// The entries that the lane's table has. Pages behind them are what LaneEntries::entry_behind() says.
  u64 pages(u64 lane) const { return whole_[lane] != nullptr ? whole_tables_.pages() : pages_; }

  /// The table of lanes without memory, in which no page is mapped.
  u32* empty() const { return at(kEmpty); }
  /// The lane's entries, for reading only. Only one thread at a time may call it for lanes without a table of their own.
  const u32* entries(u64 lane, const ProgramPages& program);
  /// The lane's own table. If it had none, the entries are those that `program` begins with, whatever entries() said;
  /// `number` is the program's. Threads may call it at the same time for different lanes.
  u32* own(u64 lane, const ProgramPages& program, u32 number);
  /// Gives a lane that has a table of its own a whole one with the same entries. `touched`: the slices in
  /// which they may differ from those that program `number` begins with. Null, and nothing is done: the host refuses
  /// the addresses. As own().
  u32* widen(u64 lane, const ProgramPages& program, u32 number, u64 touched, const PageSlices& slices);
  /// Takes the lane's own table away. Its entries must be those that program `number` begins with: the next lane of that
  /// program gets them as they are. The lane then reads its program's table, or with `empty` an empty one. As own().
  void give_back(u64 lane, const ProgramPages& program, u32 number, bool empty);

 private:
  // Places of tables, from which their addresses follow.
  static constexpr u32 kEmpty = 0, kFirstProgram = 1;

  u32* at(u32 place) const { return reinterpret_cast<u32*>(tables_.data()) + place * pages_; }
  /// A place for a lane of this program. `filled`: it holds the program's entries. `clear`: nothing was written to it.
  u32 take(u32 number, bool& filled, bool& clear);
  /// Nobody has the place any more, which holds the entries of this program.
  void put_back(u32 number, u32 place) noexcept;

  const u64 pages_;
  const u32 first_own_;
  SpaceTables& whole_tables_;
  LazyArray tables_;  // the empty one, those of the programs, those of lanes
  std::vector<u32> place_of_;
  std::vector<u32*> whole_;  // by lane: the table that it has instead of the one at its place; null: none
  std::vector<bool> program_is_filled_;
  std::mutex mutex_;
  // Places that hold the entries of a program, as a list of each program: putting one back needs no memory, for a lane that ends
  // or widens its table cannot do without.
  std::vector<u32> first_free_;     // by program; kEmpty: it has none
  std::vector<u32> next_free_;      // by place, from first_own_ on; kEmpty: it is the last
  std::vector<u32> stocked_;        // programs that have some, in no order
  std::vector<u32> at_in_stocked_;  // by program that has some
  u32 next_;                        // the first place that no lane has had
};

}  // namespace myriarm::cpu
