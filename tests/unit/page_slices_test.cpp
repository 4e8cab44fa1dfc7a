// SPDX-License-Identifier: Apache-2.0
// The slices of page tables: every page has one, they follow each other, and those at both ends of a large window are short.
#include <gtest/gtest.h>

#include "backends/common/page_slices.h"

namespace myriarm {
namespace {

struct Table {
  u64 pages, guest_pages;
};
class Slices : public testing::TestWithParam<Table> {};

TEST_P(Slices, EveryPageIsInOne) {
  const PageSlices slices(GetParam().pages, GetParam().guest_pages);
  u64 page = 0;
  for (u32 slice = 0; slice < PageSlices::kMost && page < GetParam().pages; slice++) {
    const u64 first = slices.first(slice), end = slices.end(slice);
    if (first >= end) continue;  // zones may have fewer slices than they could
    ASSERT_EQ(first, page);
    ASSERT_LE(end - first, slices.longest());
    for (const u64 in : {first, first + (end - first) / 2, end - 1}) {
      ASSERT_EQ(slices.of(in), slice) << "page " << in;
      ASSERT_EQ(slices.bit(in), u64{1} << slice);
    }
    page = end;
  }
  EXPECT_EQ(page, GetParam().pages);
}

TEST_P(Slices, MasksHaveTheSlicesOfTheirPages) {
  const auto [pages, guest_pages] = GetParam();
  const PageSlices slices(pages, guest_pages);
  for (const auto& [first, end] :
       {std::pair(u64{0}, pages), {u64{0}, u64{1}}, {pages - 1, pages}, {pages / 3, pages / 2 + 1}}) {
    u64 wanted = 0;
    for (u64 page = first; page < end; page++) wanted |= slices.bit(page);
    EXPECT_EQ(slices.mask(first, end), wanted) << first << " to " << end;
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Slices,
                         testing::Values(Table{1, 1}, Table{63, 60}, Table{64, 64}, Table{65, 1}, Table{16384, 16384},
                                         Table{16385, 16384}, Table{20000, 18464}, Table{262144, 262144},
                                         Table{262208, 262144}, Table{278720, 262144}, Table{1048575, 1000000}));

TEST(PageSlices, AreShortWhereProgramsUseThem) {
  constexpr u64 kGuest = (u64{1} << 30) / 4096, kPages = kGuest + 16448;
  const PageSlices slices(kPages, kGuest);
  for (const u64 page : {u64{0}, u64{5000}, kGuest - 5000, kGuest - 1, kGuest, kGuest + 100}) {
    const u32 slice = slices.of(page);
    EXPECT_LE(slices.end(slice) - slices.first(slice), 256u) << "page " << page;
  }
}

}  // namespace
}  // namespace myriarm
