// SPDX-License-Identifier: Apache-2.0
// The address spaces of a lane with several processes. The first is the lane's own page table (lane_tables.h), and has the pages
// that are the lane's, whichever process runs; each further one has a table for the guest's pages and the kernel pages of its
// process. A space may borrow the guest's pages of another (vfork()): while it runs, its kernel pages are in that one's table.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backends/cpu/host_memory.h"
#include "backends/cpu/interpreter/lane_code.h"

namespace myriarm::cpu {

constexpr u32 kNoSpace = ~u32{0};

struct LaneSpace {
  u32* table = nullptr;            // null: there is no such space
  u64 touched = 0;                 // slices that have entries; in all others they are 0
  std::unique_ptr<LaneCode> code;  // null: the program's
  u32 lender = kNoSpace;           // whose guest's pages it has; it lends none itself
  u64 charged = 0;                 // frames that the pool counts for its table
};

struct LaneSpaces {
  u32 running = 0;
  std::vector<std::unique_ptr<LaneSpace>> more;  // space n + 1 is more[n]

  LaneSpace* find(u32 number) const {
    return number != 0 && number <= more.size() && more[number - 1]->table != nullptr ? more[number - 1].get()
                                                                                      : nullptr;
  }
  bool borrows(u32 number) const {
    const LaneSpace* space = find(number);
    return space != nullptr && space->lender != kNoSpace;
  }
  bool any() const {
    for (const auto& space : more) {
      if (space->table != nullptr) return true;
    }
    return false;
  }
};

/// Page tables of zeros for the further spaces of all lanes. Any thread may call it.
class SpaceTables {
 public:
  explicit SpaceTables(u64 pages) : pages_(pages) {}
  u64 pages() const { return pages_; }
  /// Null if the host refuses the addresses.
  u32* take();
  /// All entries must be 0 again.
  void give_back(u32* table);
  /// Makes sure that so many can be taken. Throws DeviceError or std::bad_alloc.
  void reserve(u64 count);

 private:
  static constexpr u64 kTablesInChunk = 16;
  void add_chunk();

  const u64 pages_;
  std::mutex mutex_;
  std::vector<LazyArray> chunks_;
  std::vector<u32*> free_;
};

}  // namespace myriarm::cpu
