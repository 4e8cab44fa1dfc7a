// SPDX-License-Identifier: Apache-2.0
// Pages that lanes of a page table have in different ways, though nobody has written to them: some lanes have mapped a file and others
// have not, or with other permissions, or another file. There is one page for all that have it until a lane stores to it. Its entry has
// kPageShared and kPageDiffer and no permissions, so that accesses are simple in no kernel but those for pages that differ, and names a
// Split of the table in place of a unit.
// docs/design/split-pages.md.
#pragma once

#include "core/memory.h"

namespace myriarm::cuda {

/// What the permissions of a page are for one lane: 0, or kLaneMapped with flags.
constexpr u32 kLaneMapped = 8, kReadableBit = 0, kExecutableBit = 2, kMappedBit = 3, kValueBits = 4;

/// What those lanes have of such pages that have them from one file. A run of pages of one file has one SplitPart, since it says how far
/// a page's unit lies from the page.
struct SplitPart {
  u32 shift;  // the number of a page's unit, less the page's number, modulo 2^26; kZeroPages: the page of zeros
  u32 values
      [kValueBits];  // bit l of values[b]: bit b of what the lane at place l has, 0 or kLaneMapped with permissions
};
/// What the lanes of a table have of such pages: from two files at most, since a loader reserves pages of zeros, and then maps a library
/// there, which lanes that are out of step have done or not. A lane has pages of one part. Only the first part may be used by itself, and
/// where both are, it has the lesser shift, so that equal splits have equal words. It is free if no lane has any of them.
struct Split {
  SplitPart parts[2];
};
/// Splits of each table. Where they do not suffice, a page takes a frame of the team.
constexpr u32 kSplits = 128;
constexpr u32 kZeroPages = 0xFFFFFFFFu;
constexpr u32 kUnitMask = 0xFFFFFFFFu >> kPageFlagBits;
constexpr u32 kNoSplit = 0xFFFFFFFFu;

/// In front of the entries of a process's page table lies, for each split and lane, what gives the lane's own entry of a page of the
/// split if the page's number is added in the place of a unit's: own_word().
constexpr u32 kSplitLanes = 32, kTableFront = kSplits * kSplitLanes;

MYR_FN bool is_free(const volatile Split& split) { return split.parts[0].values[kMappedBit] == 0; }
/// The part of which the lane at a place has pages, if it has any.
MYR_FN const volatile SplitPart& part_of_lane(const volatile Split& split, u32 place) {
  return split.parts[split.parts[1].values[kMappedBit] >> place & 1];
}
/// What the lane at a place has of the pages of a part: 0, or kLaneMapped with permissions.
MYR_FN u32 part_value(const volatile SplitPart& part, u32 place) {
  u32 value = 0;
  for (u32 bit = 0; bit < kValueBits; bit++) value |= (part.values[bit] >> place & 1) << bit;
  return value;
}
/// The lanes that have pages of a part with a permission.
MYR_FN u32 lanes_with(const volatile SplitPart& part, u32 bit) { return part.values[kMappedBit] & part.values[bit]; }
/// For a lane that has no such pages, or pages of zeros, which have one unit, the entry has no permissions: the access takes the slow
/// path.
MYR_FN u32 own_word(const volatile Split& split, u32 place) {
  const volatile SplitPart& part = part_of_lane(split, place);
  const u32 value = part_value(part, place), shift = part.shift;
  if (value == 0 || shift == kZeroPages) return 0;
  return shift << kPageFlagBits | kPageShared | (value & kPagePermissions);
}

MYR_FN bool is_split(u32 entry) { return (entry & (kPageShared | kPageDiffer)) == (kPageShared | kPageDiffer); }

}  // namespace myriarm::cuda
