// SPDX-License-Identifier: Apache-2.0
// A lane as a region for a GPU sees it, in memory of this process: a column of "shared memory" at an address of 32 bits, and
// frames with the pages of 32 lanes.
#pragma once

#include <sys/mman.h>

#include <stdexcept>

#include "translate/device_region.h"
#include "translate/machine.h"

namespace myriarm::translate {

class DeviceLane {
 public:
  static constexpr u8 kOthers = 0xA7;  // the memory of the other lanes

  /// The lane at `place` of its team; its pages and their permissions are those of `like`. The first `shared_pages` are
  /// pages of an image.
  DeviceLane(const FlatMachine& like, u32 place, u64 shared_pages)
      : place_(place), pages_(like.page_count), frames_((pages_ + 1) * kUnits * kPageSize, kOthers), table_(pages_) {
    void* low = mmap(nullptr, kLowBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (low == MAP_FAILED) throw std::runtime_error("no memory at an address of 32 bits");
    low_ = static_cast<u8*>(low);
    for (u64 page = 0; page < pages_; page++) {
      const u32 unit = static_cast<u32>((page + 1) * kUnits);
      const u32 shared = page < shared_pages ? u32{kPageShared} : 0;
      table_[page] = unit << kPageFlagBits | (like.table[page] & kPageFlagMask) | shared;
    }
    auto* facts = reinterpret_cast<DeviceTeamFacts*>(low_ + kTeamAt);
    *facts = {};
    facts->frames = reinterpret_cast<u64>(frames_.data());
    facts->table = reinterpret_cast<u64>(table_.data());
    facts->page_count = pages_;
    facts->vectors = reinterpret_cast<u64>(vectors_);
    for (size_t i = 0; i < kFields; i++) facts->system[i] = reinterpret_cast<u64>(system_[i]);
    facts->vector_plane = sizeof vectors_[0];
    facts->granule_step = kDeviceTeam;
    facts->lane_step = 8;
    facts->columns = address(low_ + kColumnsAt);
    for (u64& found : facts->found) found = kNoFoundEntry;
  }
  ~DeviceLane() { munmap(low_, kLowBytes); }
  DeviceLane(const DeviceLane&) = delete;

  u32 column() const { return address(low_ + kColumnsAt) + place_ * 8; }
  u32 team() const { return address(low_ + kTeamAt); }
  /// The flags of a page beside its permissions.
  void add_flags(u64 page, u32 flags) { table_[page] |= flags; }
  /// The lanes of the team have all permissions for a page but for this one, which has those that it had.
  void let_differ(u64 page) {
    permissions(page) = static_cast<u8>(table_[page] & kPagePermissions);
    table_[page] |= kPagePermissions | kPageDiffer;
  }

  void take(FlatMachine& from) {
    for (u32 i = 0; i <= kSlotSP; i++) slot(i) = from.r[i];
    slot(kColumnFp) = static_cast<u32>(from.system[kFpcr]) | from.system[kFpsr] << 32;
    for (u32 i = 0; i < 64; i++) vectors_[i % 2 * 32 + i / 2][place_] = from.v[i];
    for (size_t i = 0; i < kFields; i++) system_[i][place_] = from.system[i];
    for (u64 at = 0; at < from.size(); at += 8) std::memcpy(granule(at), from.at(at), 8);
  }
  void give(FlatMachine& to) {
    for (u32 i = 0; i <= kSlotSP; i++) to.r[i] = slot(i);
    for (u32 i = 0; i < 64; i++) to.v[i] = vectors_[i % 2 * 32 + i / 2][place_];
    for (size_t i = 0; i < kFields; i++) to.system[i] = system_[i][place_];
    to.system[kFpcr] = static_cast<u32>(slot(kColumnFp));
    to.system[kFpsr] = slot(kColumnFp) >> 32;
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
        if (vectors_[i][lane] != 0) return false;
      }
      for (u32 i = 0; i <= kColumnFp; i++) {
        if (*(&slot(i) - place_ + lane) != 0) return false;
      }
    }
    return true;
  }

 private:
  static constexpr size_t kUnits = kDeviceTeam + 1, kFields = static_cast<size_t>(SystemField::count);
  static constexpr size_t kTeamAt = 0, kColumnsAt = kPageSize, kLowBytes = size_t{8} * kPageSize;
  static constexpr int kFpcr = static_cast<int>(SystemField::fpcr), kFpsr = static_cast<int>(SystemField::fpsr);
  static u32 address(const u8* at) { return static_cast<u32>(reinterpret_cast<u64>(at)); }
  u64& slot(u32 number) { return *reinterpret_cast<u64*>(low_ + kColumnsAt + number * kColumnStep + place_ * 8); }
  u8& permissions(u64 page) {
    const u64 frame = u64{table_[page] >> kPageFlagBits} << kPageBits;
    return frames_[permissions_place(frame, kDeviceTeam, place_)];
  }
  u8* granule(u64 at) {
    const PagedMemory<kDeviceTeam> memory{frames_.data(), table_.data(), 0, pages_, place_};
    return memory.locate(memory.entry(at >> kPageBits), static_cast<u32>(at) & (kPageSize - 1));
  }

  const u32 place_;
  const u64 pages_;
  std::vector<u8> frames_;
  std::vector<u32> table_;
  u64 vectors_[64][kDeviceTeam] = {}, system_[kFields][kDeviceTeam] = {};
  u8* low_ = nullptr;
};

}  // namespace myriarm::translate
