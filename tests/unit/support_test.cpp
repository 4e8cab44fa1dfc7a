// SPDX-License-Identifier: Apache-2.0
// The helpers of src/support with the smallest and largest arguments.
#include <gtest/gtest.h>

#include "support/align.h"
#include "support/text.h"

namespace myriarm {
namespace {

TEST(Support, HexadecimalHasNoLeadingZeros) {
  EXPECT_EQ(hex(0), "0x0");
  EXPECT_EQ(hex(0x1f), "0x1f");
  EXPECT_EQ(hex(0x80000000), "0x80000000");
  EXPECT_EQ(hex(~uint64_t{0}), "0xffffffffffffffff");
}

TEST(Support, SizesHaveTheLargestUnitThatIsExact) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1023), "1023 bytes");
  EXPECT_EQ(size_text(4096), "4 KiB");
  EXPECT_EQ(size_text((uint64_t{1} << 20) + 1024), "1025 KiB");
  EXPECT_EQ(size_text(uint64_t{100} << 30), "100 GiB");
  EXPECT_EQ(size_text(uint64_t{1} << 50), "1024 TiB");
}

TEST(Support, RoundingKeepsMultiplesAndWrapsAtTheEnd) {
  EXPECT_EQ(align_down(4095, 4096), 0u);
  EXPECT_EQ(align_down(4096, 4096), 4096u);
  EXPECT_EQ(align_up(0, 4096), 0u);
  EXPECT_EQ(align_up(1, 4096), 4096u);
  EXPECT_EQ(align_up(4096, 4096), 4096u);
  EXPECT_EQ(align_up(uint64_t{1} << 32 | 1, uint64_t{1} << 32), uint64_t{2} << 32);
  EXPECT_EQ(align_up(~uint64_t{0}, 4096), 0u);
}

}  // namespace
}  // namespace myriarm
