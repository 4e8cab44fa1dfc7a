// SPDX-License-Identifier: Apache-2.0
// Pages that lanes of a page table have in different ways, though nobody has written to them: some lanes have mapped a file and others
// have not, or with other permissions. There is one page for all until a lane stores to it. Its entry has kPageShared and kPageDiffer and
// no permissions, so that accesses are simple in no kernel but those for pages that differ, and names a Split of the table in place of a unit.
// docs/design/split-pages.md.
#pragma once

#include "core/memory.h"

namespace myriarm::cuda {

/// What the permissions of a page are for one lane: 0, or kLaneMapped with flags.
constexpr u32 kLaneMapped = 8, kReadableBit = 0, kExecutableBit = 2, kMappedBit = 3, kValueBits = 4;

/// What the lanes of a table have of such pages. A run of pages of one file has one Split, since it says how far a page's unit lies from
/// the page. It is free if no lane has any of them.
struct Split {
  u32 shift;  // the number of a page's unit, less the page's number, modulo 2^26; kZeroPages: the page of zeros
  u32 values
      [kValueBits];  // bit l of values[b]: bit b of what the lane at place l has, 0 or kLaneMapped with permissions
};
/// Splits of each table. Where they do not suffice, a page takes a frame of the team.
constexpr u32 kSplits = 128;
constexpr u32 kZeroPages = 0xFFFFFFFFu;
constexpr u32 kUnitMask = 0xFFFFFFFFu >> kPageFlagBits;
constexpr u32 kNoSplit = 0xFFFFFFFFu;

/// In front of the entries of a process's page table lies, for each split and lane, what gives the lane's own entry of a page of the
/// split if the page's number is added in the place of a unit's: own_word().
constexpr u32 kSplitLanes = 32, kTableFront = kSplits * kSplitLanes;

/// What the lane at a place has of the pages of a split: 0, or kLaneMapped with permissions.
MYR_FN u32 split_value(const volatile Split& split, u32 place) {
  u32 value = 0;
  for (u32 bit = 0; bit < kValueBits; bit++) value |= (split.values[bit] >> place & 1) << bit;
  return value;
}
/// For a lane that has no such pages, or pages of zeros, which have one unit, the entry has no permissions: the access takes the slow
/// path.
MYR_FN u32 own_word(const volatile Split& split, u32 place) {
  const u32 value = split_value(split, place), shift = split.shift;
  if (value == 0 || shift == kZeroPages) return 0;
  return shift << kPageFlagBits | kPageShared | (value & kPagePermissions);
}

MYR_FN bool is_split(u32 entry) { return (entry & (kPageShared | kPageDiffer)) == (kPageShared | kPageDiffer); }

}  // namespace myriarm::cuda
