// SPDX-License-Identifier: Apache-2.0
// The slices of a page table: 64 at most, so that one word says which of them have been touched. What restores, saves or drops a
// table looks at the entries of these alone. Windows are much larger than what programs use of them, which lies where they begin
// and where they end (stack, libraries, kernel pages): slices are short there and long between.
#pragma once

#include "core/portable.h"

namespace myriarm {

class PageSlices {
 public:
  static constexpr u32 kMost = 64;

  PageSlices() = default;
  /// For a table with `pages` entries, of which the guest has the first `guest_pages`.
  MYR_FN PageSlices(u64 pages, u64 guest_pages) {
    // A zone begins where the one before ends; the last ends with the table.
    constexpr u64 kLow = u64{20} << kShort, kAbove = u64{6} << kShort, kHigh = (u64{20} << kShort) + kAbove;
    const u64 high_end = guest_pages + kAbove;
    if (pages <= u64{kMost} << kShort || high_end < kLow + kHigh || high_end > pages) {
      zones_[0] = {0, 0, shift_for(pages, kMost)};
      for (u32 zone = 1; zone < kZones; zone++) zones_[zone] = {pages, kMost, 0};
    } else {
      zones_[0] = {0, 0, kShort};
      zones_[1] = {kLow, 20, shift_for(high_end - kHigh - kLow, 10)};
      zones_[2] = {high_end - kHigh, 30, kShort};
      zones_[3] = {high_end, 56, shift_for(pages - high_end, 8)};
    }
    pages_ = pages;
    for (u32 slice = 0; slice < kMost; slice++) existing_ |= (u64)(first(slice) < end(slice)) << slice;
  }

  /// The slice that a page lies in.
  MYR_FN u32 of(u64 page) const {
    const Zone zone = zones_[(page >= zones_[1].page) + (page >= zones_[2].page) + (page >= zones_[3].page)];
    return zone.slice + (u32)((page - zone.page) >> zone.shift);
  }
  MYR_FN u64 bit(u64 page) const { return (u64)1 << of(page); }
  /// Those that have pages of [first, end), which is not empty.
  MYR_FN u64 mask(u64 first, u64 end) const {
    const u32 last = of(end - 1);
    return existing_ & ~(u64)0 >> (kMost - 1 - last) & ~(u64)0 << of(first);
  }
  MYR_FN u64 first(u32 slice) const {
    const u32 at = zone_of(slice);
    return zones_[at].page + ((u64)(slice - zones_[at].slice) << zones_[at].shift);
  }
  /// Behind its last page.
  MYR_FN u64 end(u32 slice) const {
    const u32 at = zone_of(slice);
    const u64 end = zones_[at].page + ((u64)(slice - zones_[at].slice + 1) << zones_[at].shift);
    const u64 most = at + 1 < kZones ? zones_[at + 1].page : pages_;
    return end < most ? end : most;
  }
  /// The entries that the slices of a mask have in a row, of which each has room for as many as any of its zone: those in front of a
  /// slice, or all with kMost. `count` counts bits.
  template <class Count>
  MYR_FN u64 entries_before(u64 mask, u32 slice, Count count) const {
    const u64 in_front = slice == kMost ? mask : mask & (((u64)1 << slice) - 1);
    u64 entries = 0;
    for (u32 zone = 0; zone < kZones; zone++) {
      const u32 begin = zones_[zone].slice, end = zone + 1 < kZones ? zones_[zone + 1].slice : kMost;
      if (begin == end) break;
      const u64 of_zone = in_front & ~(u64)0 << begin & ~(u64)0 >> (kMost - end);
      entries += (u64)count(of_zone) << zones_[zone].shift;
    }
    return entries;
  }
  /// The most pages that a slice may have.
  u64 longest() const {
    u32 shift = 0;
    for (const Zone& zone : zones_) shift = zone.shift > shift ? zone.shift : shift;
    return (u64)1 << shift;
  }

 private:
  static constexpr u32 kZones = 4, kShort = 8;
  struct Zone {
    u64 page;   // its first
    u32 slice;  // its first
    u32 shift;  // a slice of the zone has 1 << shift pages, the last one fewer
  };

  MYR_FN static u32 shift_for(u64 pages, u64 slices) {
    u32 shift = 0;
    while (pages != 0 && (pages - 1) >> shift >= slices) shift++;
    return shift;
  }
  MYR_FN u32 zone_of(u32 slice) const {
    return (slice >= zones_[1].slice) + (slice >= zones_[2].slice) + (slice >= zones_[3].slice);
  }

  Zone zones_[kZones] = {};
  u64 pages_ = 0;
  u64 existing_ = 0;  // a zone may have fewer slices than it could
};

}  // namespace myriarm
