// SPDX-License-Identifier: Apache-2.0
// The list of a process's mappings: where a new mapping goes, what is mapped, and the list after a change. With the words
// of a page side by side, and interleaved with those of another lane.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernel/ranges.h"
#include "kernel_machine.h"

namespace myriarm::kernel {

bool operator==(const Range& a, const Range& b) { return a.begin == b.begin && a.end == b.end && a.flags == b.flags; }

namespace {

constexpr u32 kReads = kPageReadable;

template <class M>
class KernelRanges : public testing::Test {
 protected:
  KernelRanges() {
    m.set_kernel_word(kRangeCount, 0);
    EXPECT_TRUE(own_words(m, 0, kProcessBytes));
  }
  std::vector<Range> ranges() const {
    std::vector<Range> all;
    for (u32 i = 0; i < range_count(m); i++) all.push_back(range_at(m, i));
    return all;
  }
  M m;
};
using Machines = testing::Types<test::KernelMachine<1>, test::KernelMachine<2>>;
TYPED_TEST_SUITE(KernelRanges, Machines);

using List = std::vector<Range>;

TYPED_TEST(KernelRanges, ChangesCutAndJoin) {
  auto& m = this->m;
  map_range(m, 0x10000, 0x20000, kReads);
  map_range(m, 0x20000, 0x30000, kReads);
  EXPECT_EQ(this->ranges(), (List{{0x10000, 0x30000, kReads}}));
  protect_range(m, 0x18000, 0x28000, 0);
  EXPECT_EQ(this->ranges(), (List{{0x10000, 0x18000, kReads}, {0x18000, 0x28000, 0}, {0x28000, 0x30000, kReads}}));
  EXPECT_EQ(mapped_until(m, 0x10000, 0x40000), 0x30000u);
  protect_range(m, 0, 0x40000, kReads);
  EXPECT_EQ(this->ranges(), (List{{0x10000, 0x30000, kReads}}));
  unmap_range(m, 0x1f000, 0x21000);
  EXPECT_EQ(this->ranges(), (List{{0x10000, 0x1f000, kReads}, {0x21000, 0x30000, kReads}}));
  EXPECT_EQ(mapped_until(m, 0x10000, 0x40000), 0x1f000u);
  EXPECT_EQ(mapped_until(m, 0x1f000, 0x40000), 0x1f000u);
  EXPECT_TRUE(is_free(m, 0x1f000, 0x21000));
  EXPECT_FALSE(is_free(m, 0x1f000, 0x22000));
  Range range;
  EXPECT_FALSE(find_range(m, 0x1f000, range));
  EXPECT_TRUE(find_range(m, 0x21000, range));
  EXPECT_EQ(range.end, 0x30000u);
  map_range(m, 0x22000, 0x22000, kReads | kAnonymous);
  unmap_range(m, 0x22000, 0x22000);
  protect_range(m, 0x22000, 0x22000, 0);
  EXPECT_EQ(this->ranges().size(), 2u) << "an empty place changes nothing";
  unmap_range(m, 0, ~(u64)0xfff);
  EXPECT_TRUE(this->ranges().empty());
}

TYPED_TEST(KernelRanges, TheHighestFreePlaceIsFound) {
  auto& m = this->m;
  EXPECT_EQ(find_place(m, 0x1000, 0x10000, 0x20000), 0x1f000u);
  EXPECT_EQ(find_place(m, 0x10000, 0x10000, 0x20000), 0x10000u);
  EXPECT_EQ(find_place(m, 0x11000, 0x10000, 0x20000), 0u);
  map_range(m, 0x1e000, 0x1f000, kReads);
  map_range(m, 0x1a000, 0x1b000, kReads);
  map_range(m, 0x5000, 0x11000, kReads);     // across the low end
  map_range(m, 0x1ff000, 0x200000, kReads);  // above
  EXPECT_EQ(find_place(m, 0x1000, 0x10000, 0x20000), 0x1f000u);
  EXPECT_EQ(find_place(m, 0x2000, 0x10000, 0x20000), 0x1c000u);
  EXPECT_EQ(find_place(m, 0x4000, 0x10000, 0x20000), 0x16000u);
  EXPECT_EQ(find_place(m, 0x9000, 0x10000, 0x20000), 0x11000u);
  EXPECT_EQ(find_place(m, 0xa000, 0x10000, 0x20000), 0u);
  EXPECT_EQ(find_place(m, 0x1000, 0x30000, 0x20000), 0u);
}

TYPED_TEST(KernelRanges, AgreeWithAListOfPages) {
  // So many pages that the list takes several pages itself.
  constexpr u64 kPages = 600, kUnmapped = 255;
  auto& m = this->m;
  std::mt19937 random(1);
  auto below = [&](u64 end) { return random() % end; };
  std::vector<u64> pages(kPages, kUnmapped);  // flags
  for (int step = 0; step < 6000; step++) {
    const u64 first = below(kPages), longest = step % 50 == 0 ? kPages : 4;
    const u64 last = first + 1 + below(std::min(kPages - first, longest));
    const u32 permissions = static_cast<u32>(below(4)), anonymous = below(2) == 0 ? kAnonymous : 0u;
    const u64 what = below(4);
    if (what < 2) map_range(m, first * kPageSize, last * kPageSize, permissions | anonymous);
    if (what == 2) unmap_range(m, first * kPageSize, last * kPageSize);
    if (what == 3) protect_range(m, first * kPageSize, last * kPageSize, permissions);
    for (u64 page = first; page < last; page++) {
      if (what == 2) pages[page] = kUnmapped;
      else if (what < 2) pages[page] = permissions | anonymous;
      else if (pages[page] != kUnmapped) pages[page] = permissions | (pages[page] & kAnonymous);
    }
    List expected;
    for (u64 page = 0; page < kPages; page++) {
      if (pages[page] == kUnmapped) continue;
      const u64 begin = page * kPageSize;
      const bool joins = !expected.empty() && expected.back().end == begin && expected.back().flags == pages[page];
      if (joins) expected.back().end += kPageSize;
      else expected.push_back({begin, begin + kPageSize, static_cast<u32>(pages[page])});
    }
    ASSERT_EQ(this->ranges(), expected) << "step " << step;
    const u64 from = below(kPages), to = from + below(kPages - from + 1), size = 1 + below(4);
    u64 mapped = from, place = 0;
    while (mapped < to && pages[mapped] != kUnmapped) mapped++;
    ASSERT_EQ(mapped_until(m, from * kPageSize, to * kPageSize), mapped * kPageSize);
    for (u64 at = from; at + size <= to; at++) {
      bool free = true;
      for (u64 page = at; page < at + size; page++) free &= pages[page] == kUnmapped;
      if (free) place = at * kPageSize;
    }
    ASSERT_EQ(find_place(m, size * kPageSize, from * kPageSize, to * kPageSize), place);
  }
  EXPECT_GT(range_count(m), 150u) << "more than fit in the first page";
}

}  // namespace
}  // namespace myriarm::kernel
