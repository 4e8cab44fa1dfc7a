// SPDX-License-Identifier: Apache-2.0
// A lane of a whole program as a region for a GPU sees it, in memory of this process: it follows a lane of a fleet, whose registers
// and pages it takes, and says where its own differ.
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "myriarm/fleet.h"
#include "translate/device_region.h"

namespace myriarm::translate {

class ProgramLane {
 public:
  /// Pages that the guest may write have permissions by lane in one of `differing` of them; 0: none has. `place`: of the lane in a
  /// team whose frames have `columns` lanes each.
  ProgramLane(Fleet& fleet, u32 place, u32 columns, u32 differing)
      : fleet_(fleet),
        begin_(fleet.memory_begin()),
        place_(place),
        columns_(columns),
        differing_(differing),
        table_((fleet.memory_end() - begin_) / kPageSize),
        permissions_(table_.size()),
        there_(table_.size()) {
    low_ = mapped(kLowBytes, MAP_32BIT);
    frames_ = mapped(kFrameBytes, MAP_NORESERVE);
    auto* facts = reinterpret_cast<DeviceTeamFacts*>(low_);
    *facts = {};
    facts->frames = reinterpret_cast<u64>(frames_);
    facts->table = reinterpret_cast<u64>(table_.data());
    facts->first_page = begin_ >> kPageBits;
    facts->page_count = table_.size();
    facts->vectors = reinterpret_cast<u64>(vectors_);
    for (size_t i = 0; i < kFields; i++) facts->system[i] = reinterpret_cast<u64>(system_[i]);
    facts->vector_plane = sizeof vectors_[0];
    facts->granule_step = columns;
    facts->lane_step = 8;
    facts->columns = address(low_ + kPageSize);
  }
  ~ProgramLane() {
    munmap(low_, kLowBytes);
    munmap(frames_, kFrameBytes);
  }
  ProgramLane(const ProgramLane&) = delete;

  u32 column() const { return address(low_ + kPageSize) + place_ * 8; }
  u32 team() const { return address(low_); }

  void take_registers() {
    for (u32 i = 0; i < 31; i++) slot(i) = fleet_.get(x(i), 0);
    slot(kSlotSP) = fleet_.get(Field::sp, 0);
    slot(kColumnFp) = fleet_.get(Field::fpcr, 0) | fleet_.get(Field::fpsr, 0) << 32;
    for (u32 i = 0; i < 32; i++) {
      vectors_[i][place_] = fleet_.get(v_low(i), 0);
      vectors_[32 + i][place_] = fleet_.get(v_high(i), 0);
    }
    system_[static_cast<int>(SystemField::tpidr)][place_] = fleet_.get(Field::tpidr, 0);
  }
  /// Empty: they are the same.
  std::string differing_registers() const {
    std::string text;
    auto look = [&](const std::string& name, u64 here, Field field) {
      const u64 there = fleet_.get(field, 0);
      if (here != there) text += name + " " + std::to_string(here) + " for " + std::to_string(there) + ", ";
    };
    for (u32 i = 0; i < 31; i++) look("x" + std::to_string(i), slot(i), x(i));
    look("sp", slot(kSlotSP), Field::sp);
    look("fpcr", static_cast<u32>(slot(kColumnFp)), Field::fpcr);
    look("fpsr", slot(kColumnFp) >> 32, Field::fpsr);
    for (u32 i = 0; i < 32; i++) {
      look("v" + std::to_string(i) + " low", vectors_[i][place_], v_low(i));
      look("v" + std::to_string(i) + " high", vectors_[32 + i][place_], v_high(i));
    }
    return text;
  }

  /// Takes all pages whose bytes or permissions are not those of the fleet's lane. What a region keeps of pages is void.
  void take_pages() {
    read_pages();
    for (size_t page = 0; page < table_.size(); page++) {
      u32& entry = table_[page];
      if (there_[page] == 0) {
        entry = 0;
        permissions_[page] = 0;
        continue;
      }
      if (entry == 0) entry = next_unit() << kPageFlagBits;
      const u32 allowed = there_[page] & kPagePermissions;
      const bool writable = (allowed & kPageWritable) != 0,
                 differs = writable && differing_ != 0 && page % differing_ == 0;
      permissions_[page] = there_[page];
      entry = (entry & ~kPageFlagMask) | (differs ? u32{kPageDiffer} : allowed | (writable ? 0 : u32{kPageShared}));
      const u64 frame = entry >> kPageFlagBits;
      *reinterpret_cast<u8*>(permissions_place(reinterpret_cast<u64>(frames_) + (frame << kPageBits), columns_,
                                               place_)) = static_cast<u8>(allowed);
      const u32 part = part_bytes();
      for (u32 offset = 0; offset < kPageSize; offset += part) {
        std::memcpy(granule(entry, offset), bytes_of(page) + offset, part);
      }
    }
    for (u64& found : reinterpret_cast<DeviceTeamFacts*>(low_)->found) found = kNoFoundEntry;
  }
  /// Empty: all pages have the bytes of the fleet's lane.
  std::string differing_bytes() {
    read_pages();
    for (size_t page = 0; page < table_.size(); page++) {
      if (there_[page] != permissions_[page]) return "permissions of page " + std::to_string(page);
      const u32 part = part_bytes();
      for (u32 offset = 0; table_[page] != 0 && offset < kPageSize; offset += part) {
        const u8 *here = granule(table_[page], offset), *there = bytes_of(page) + offset;
        if (std::memcmp(here, there, part) == 0) continue;
        while (*here == *there) here++, there++;
        std::ostringstream text;
        text << std::hex << u32{*here} << " and not " << u32{*there} << " at "
             << begin_ + (page << kPageBits) + (there - bytes_of(page));
        return text.str();
      }
    }
    return "";
  }

 private:
  static constexpr size_t kFields = static_cast<size_t>(SystemField::count);
  static constexpr size_t kLowBytes = size_t{8} * kPageSize, kFrameBytes = size_t{1} << 38;
  static u32 address(const u8* at) { return static_cast<u32>(reinterpret_cast<u64>(at)); }
  static u8* mapped(size_t bytes, int flags) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("no memory for a lane");
    return static_cast<u8*>(at);
  }
  u64& slot(u32 number) const { return reinterpret_cast<u64*>(low_ + kPageSize + number * kColumnStep)[place_]; }
  u8* granule(u32 entry, u32 offset) const {
    const PagedMemory<kDeviceTeam> memory{frames_, nullptr, 0, 0, place_, columns_, place_ * 8};
    return memory.locate(entry, offset);
  }
  /// The bytes of a page that lie side by side.
  u32 part_bytes() const { return columns_ == 1 ? kPageSize : 8; }
  /// Frames lie anywhere in all the memory that an entry can name.
  u32 next_unit() {
    units_ += (columns_ + 1) * 20011;
    return units_ % ((1u << (32 - kPageFlagBits)) - columns_ - 1);
  }
  const u8* bytes_of(size_t page) const { return bytes_.data() + places_[page]; }

  void read_pages() {
    const u32 lane[] = {0};
    fleet_.permissions(lane, begin_, table_.size() * kPageSize, there_);
    places_.assign(table_.size(), 0);
    std::vector<Transfer> transfers;
    u32 at = 0;
    for (size_t page = 0; page < table_.size(); page++) {
      if (there_[page] == 0) continue;
      places_[page] = at;
      transfers.push_back({.size = kPageSize, .address = begin_ + page * kPageSize, .offset = at});
      at += kPageSize;
    }
    bytes_.resize(at);
    fleet_.read(transfers, bytes_);
  }

  Fleet& fleet_;
  const u64 begin_;
  const u32 place_, columns_, differing_;
  std::vector<u32> table_;
  std::vector<u8> permissions_, there_;  // by page, as Fleet::permissions() has them: of this lane, and of the fleet's
  std::vector<u8> bytes_;                // of the fleet's lane
  std::vector<u32> places_;              // of each page in them
  u32 units_ = 0;
  u64 vectors_[64][kDeviceTeam] = {}, system_[kFields][kDeviceTeam] = {};
  u8 *low_ = nullptr, *frames_ = nullptr;
};

}  // namespace myriarm::translate
