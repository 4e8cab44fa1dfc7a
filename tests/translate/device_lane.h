// SPDX-License-Identifier: Apache-2.0
// A lane in flat memory as a region for a GPU sees it: frames with the pages of 32 lanes, and the lane's columns.
#pragma once

#include "translate/lane_columns.h"
#include "translate/machine.h"

namespace myriarm::translate {

class DeviceLane {
 public:
  static constexpr u8 kOthers = 0xA7;  // the memory of the other lanes

  /// The lane at `place` of its team; its pages and their permissions are those of `like`. The first `shared_pages` are
  /// pages of an image.
  DeviceLane(const FlatMachine& like, u32 place, u64 shared_pages)
      : place_(place),
        pages_(like.page_count),
        frames_((pages_ + 1) * kUnits * kPageSize, kOthers),
        table_(pages_),
        columns_(place, memory()) {
    for (u64 page = 0; page < pages_; page++) {
      const u32 unit = static_cast<u32>((page + 1) * kUnits);
      const u32 shared = page < shared_pages ? u32{kPageShared} : 0;
      table_[page] = unit << kPageFlagBits | (like.table[page] & kPageFlagMask) | shared;
    }
  }

  u32 column() const { return columns_.column(); }
  u32 team() const { return columns_.team(); }
  /// The flags of a page beside its permissions.
  void add_flags(u64 page, u32 flags) { table_[page] |= flags; }
  /// The lanes of the team have all permissions for a page but for this one, which has those that it had.
  void let_differ(u64 page) {
    permissions(page) = static_cast<u8>(table_[page] & kPagePermissions);
    table_[page] |= kPagePermissions | kPageDiffer;
  }

  void take(FlatMachine& from) {
    for (u32 i = 0; i <= kSlotSP; i++) columns_.slot(i) = from.r[i];
    columns_.slot(kColumnFp) = static_cast<u32>(from.system[kFpcr]) | from.system[kFpsr] << 32;
    for (u32 i = 0; i < 64; i++) columns_.vector(i / 2, i % 2) = from.v[i];
    for (size_t i = 0; i < kFields; i++) columns_.system(i) = from.system[i];
    for (u64 at = 0; at < from.size(); at += 8) std::memcpy(granule(at), from.at(at), 8);
  }
  void give(FlatMachine& to) {
    for (u32 i = 0; i <= kSlotSP; i++) to.r[i] = columns_.slot(i);
    for (u32 i = 0; i < 64; i++) to.v[i] = columns_.vector(i / 2, i % 2);
    for (size_t i = 0; i < kFields; i++) to.system[i] = columns_.system(i);
    to.system[kFpcr] = static_cast<u32>(columns_.slot(kColumnFp));
    to.system[kFpsr] = columns_.slot(kColumnFp) >> 32;
    for (u64 at = 0; at < to.size(); at += 8) std::memcpy(to.at(at), granule(at), 8);
  }
  /// Whether all that is not this lane's is as it was at first.
  bool others_are_untouched() {
    FlatMachine nothing(pages_);
    std::memset(nothing.at(0), kOthers, nothing.size());
    take(nothing);
    for (u64 page = 0; page < pages_; page++) permissions(page) = kOthers;
    for (const u8 byte : frames_) {
      if (byte != kOthers) return false;
    }
    for (u32 lane = 0; lane < kDeviceTeam; lane++) {
      if (lane == place_) continue;
      for (u32 i = 0; i < 64; i++) {
        if (columns_.vector(i / 2, i % 2, lane) != 0) return false;
      }
      for (u32 i = 0; i <= kColumnFp; i++) {
        if (columns_.slot(i, lane) != 0) return false;
      }
    }
    return true;
  }

 private:
  static constexpr size_t kUnits = kDeviceTeam + 1, kFields = static_cast<size_t>(SystemField::count);
  static constexpr int kFpcr = static_cast<int>(SystemField::fpcr), kFpsr = static_cast<int>(SystemField::fpsr);
  PagedMemory<kDeviceTeam> memory() { return {frames_.data(), table_.data(), 0, pages_, place_}; }
  u8& permissions(u64 page) {
    const u64 frame = u64{table_[page] >> kPageFlagBits} << kPageBits;
    return frames_[permissions_place(frame, kDeviceTeam, place_)];
  }
  u8* granule(u64 at) {
    return memory().locate(memory().entry(at >> kPageBits), static_cast<u32>(at) & (kPageSize - 1));
  }

  const u32 place_;
  const u64 pages_;
  std::vector<u8> frames_;
  std::vector<u32> table_;
  LaneColumns columns_;
};

}  // namespace myriarm::translate
