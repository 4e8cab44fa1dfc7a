// SPDX-License-Identifier: Apache-2.0
// A lane of a whole program as a region for a GPU sees it, in memory of this process: it follows a lane of a fleet, whose registers
// and pages it takes, and says where its own differ.
#pragma once

#include <sys/mman.h>

#include <bit>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "myriarm/fleet.h"
#include "translate/lane_columns.h"

namespace myriarm::translate {

class ProgramLane {
 public:
  /// Pages that the guest may write have permissions by lane in one of `differing` of them; 0: none has. `place`: of the lane in a
  /// team whose frames have so many lanes.
  ProgramLane(Fleet& fleet, u32 place, u32 lanes_in_frame, u32 differing)
      : fleet_(fleet),
        begin_(fleet.memory_begin()),
        place_(place),
        lanes_in_frame_(lanes_in_frame),
        differing_(differing),
        table_((fleet.memory_end() - begin_) / kPageSize),
        permissions_(table_.size()),
        there_(table_.size()),
        frames_(mapped_frames()),
        columns_(place, memory()) {}
  ~ProgramLane() { munmap(frames_, kFrameBytes); }
  ProgramLane(const ProgramLane&) = delete;

  u32 column() const { return columns_.column(); }
  u32 team() const { return columns_.team(); }

  void take_registers() {
    for (u32 i = 0; i < 31; i++) columns_.slot(i) = fleet_.get(x(i), 0);
    columns_.slot(kSlotSP) = fleet_.get(Field::sp, 0);
    columns_.slot(kColumnFp) = fleet_.get(Field::fpcr, 0) | fleet_.get(Field::fpsr, 0) << 32;
    for (u32 i = 0; i < 32; i++) {
      columns_.vector(i, 0) = fleet_.get(v_low(i), 0);
      columns_.vector(i, 1) = fleet_.get(v_high(i), 0);
    }
    columns_.system(static_cast<size_t>(SystemField::tpidr)) = fleet_.get(Field::tpidr, 0);
  }
  /// Empty: they are the same.
  std::string differing_registers() {
    std::string text;
    auto look = [&](const std::string& name, u64 here, Field field) {
      const u64 there = fleet_.get(field, 0);
      if (here != there) text += name + " " + std::to_string(here) + " for " + std::to_string(there) + ", ";
    };
    for (u32 i = 0; i < 31; i++) look("x" + std::to_string(i), columns_.slot(i), x(i));
    look("sp", columns_.slot(kSlotSP), Field::sp);
    look("fpcr", static_cast<u32>(columns_.slot(kColumnFp)), Field::fpcr);
    look("fpsr", columns_.slot(kColumnFp) >> 32, Field::fpsr);
    for (u32 i = 0; i < 32; i++) {
      look("v" + std::to_string(i) + " low", columns_.vector(i, 0), v_low(i));
      look("v" + std::to_string(i) + " high", columns_.vector(i, 1), v_high(i));
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
      *reinterpret_cast<u8*>(permissions_place(reinterpret_cast<u64>(frames_) + (frame << kPageBits), lanes_in_frame_,
                                               place_)) = static_cast<u8>(allowed);
      const u32 part = part_bytes();
      for (u32 offset = 0; offset < kPageSize; offset += part) {
        std::memcpy(granule(entry, offset), bytes_of(page) + offset, part);
      }
    }
    columns_.forget_found();
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
  static constexpr size_t kFrameBytes = size_t{1} << (32 - kPageFlagBits + kPageBits);  // all that an entry can name
  static u8* mapped_frames() {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* at = mmap(nullptr, kFrameBytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("no addresses for the frames of a lane");
    return static_cast<u8*>(at);
  }
  PagedMemory<kDeviceTeam> memory() {
    return {frames_, table_.data(), begin_ >> kPageBits, table_.size(), place_, lanes_in_frame_, place_ * 8};
  }
  u8* granule(u32 entry, u32 offset) { return memory().locate(entry, offset); }
  /// The bytes of a page that lie side by side.
  u32 part_bytes() const { return lanes_in_frame_ == 1 ? kPageSize : 8; }
  /// Frames lie apart in more than half of all the memory that an entry can name, none where another one is: an odd factor gives each
  /// number below a power of two another one.
  u32 next_unit() {
    const u32 units = lanes_in_frame_ + 1, places = std::bit_floor((1u << (32 - kPageFlagBits)) / units);
    return ++frame_count_ * 0x9E3779B1 % places * units;
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
  const u32 place_, lanes_in_frame_, differing_;
  std::vector<u32> table_;
  std::vector<u8> permissions_, there_;  // by page, as Fleet::permissions() has them: of this lane, and of the fleet's
  std::vector<u8> bytes_;                // of the fleet's lane
  std::vector<u32> places_;              // of each page in them
  u32 frame_count_ = 0;
  u8* const frames_;
  LaneColumns columns_;
};

}  // namespace myriarm::translate
