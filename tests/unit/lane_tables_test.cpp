// SPDX-License-Identifier: Apache-2.0
// Page tables of lanes: who has which, and that those of lanes which have ended, or have a whole one instead, are used again.
#include "backends/cpu/lane_tables.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace myriarm::cpu {
namespace {

constexpr u64 kPages = 8, kWholePages = 16;
const PageSlices kSlices(kWholePages, kWholePages);
const u64 kTouched = kSlices.mask(0, 4);

/// Two programs, in whose entries their numbers are.
struct Programs {
  Programs() {
    for (u32 number = 0; number < 2; number++) all[number].runs.push_back({1, 5, (number + 1) * 0x1000, 0});
  }
  ProgramPages all[2];
};

std::vector<u32> entries_of(const ProgramPages& program, u64 pages) {
  std::vector<u32> entries(pages);
  program.fill(entries.data(), 0, pages);
  return entries;
}

TEST(LaneTables, ATableThatWasWidenedIsTheNextLanes) {
  Programs programs;
  SpaceTables whole(kWholePages);
  LaneTables tables(4, kPages, 2, whole);
  for (u64 lane = 0; lane < 4; lane++) tables.begin(lane, lane % 2);
  u32* const first = tables.own(0, programs.all[0], 0);
  first[2] = 77;
  u32* const widened = tables.widen(0, programs.all[0], 0, kTouched, kSlices);
  ASSERT_NE(widened, nullptr);
  EXPECT_EQ(tables.pages(0), kWholePages);
  std::vector<u32> expected = entries_of(programs.all[0], kWholePages);
  expected[2] = 77;
  EXPECT_EQ(std::vector<u32>(widened, widened + kWholePages), expected);
  EXPECT_EQ(tables.own(1, programs.all[1], 1), first) << "of another program";
  EXPECT_EQ(std::vector<u32>(first, first + kPages), entries_of(programs.all[1], kPages));
  EXPECT_NE(tables.own(2, programs.all[0], 0), first);
  EXPECT_EQ(tables.own(0, programs.all[0], 0), widened);
}

TEST(LaneTables, AreNeverMoreThanLanesHadAtOnce) {
  constexpr u64 kLanes = 12;
  for (u32 seed = 1; seed <= 20; seed++) {
    std::mt19937 random(seed);
    Programs programs;
    SpaceTables whole(kWholePages);
    LaneTables tables(kLanes, kPages, 2, whole);
    struct Known {
      u32 program = 0;
      bool own = false, wide = false;
      std::vector<u32> entries;
    };
    std::vector<Known> known(kLanes);
    std::set<const u32*> used;  // tables that are not whole
    size_t most = 0;
    for (u64 lane = 0; lane < kLanes; lane++) tables.begin(lane, 0);
    for (int step = 0; step < 600; step++) {
      const u64 lane = random() % kLanes;
      Known& it = known[lane];
      const ProgramPages& program = programs.all[it.program];
      switch (random() % 4) {
        case 0:  // it writes to a page of the first slice
        case 1: {
          u32* table = tables.own(lane, program, it.program);
          if (!it.own) it.entries = entries_of(program, kPages);
          it.own = true;
          if (!it.wide) used.insert(table);
          table[step % 4] = it.entries[static_cast<size_t>(step) % 4] = 5;
          break;
        }
        case 2:
          if (!it.own || it.wide) break;
          ASSERT_NE(tables.widen(lane, program, it.program, kTouched, kSlices), nullptr);
          it.wide = true;
          it.entries.resize(kWholePages);
          break;
        default:  // it ends, and goes on with either program
          if (it.own) program.fill(tables.own(lane, program, it.program), 0, 4);
          tables.give_back(lane, program, it.program, false);
          it = {};
          it.program = random() % 2;
          tables.begin(lane, it.program);
      }
      std::set<const u32*> now;
      size_t narrow = 0;
      for (u64 other = 0; other < kLanes; other++) {
        const ProgramPages& of = programs.all[known[other].program];
        if (!known[other].own) {
          EXPECT_FALSE(tables.has_own(other));
          continue;
        }
        const u32* table = tables.entries(other, of);
        EXPECT_TRUE(now.insert(table).second) << "two lanes have one table";
        EXPECT_EQ(std::vector<u32>(table, table + tables.pages(other)), known[other].entries);
        narrow += !known[other].wide;
      }
      most = std::max(most, narrow);
      ASSERT_LE(used.size(), most) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace myriarm::cpu
