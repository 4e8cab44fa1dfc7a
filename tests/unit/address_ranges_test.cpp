// SPDX-License-Identifier: Apache-2.0
// Which of a guest's pointers a system call may follow.
#include <gtest/gtest.h>

#include "linux/syscall_server.h"

namespace myriarm::linux_process {
namespace {

TEST(LinuxRanges, PagesOfTwoSegmentsHaveThePermissionsOfBoth) {
  Program program;
  program.segments = {{0x1000, 0x800, kRead, {}}, {0x1800, 0x900, kRead | kWrite, {}}};
  AddressRanges ranges(program);
  EXPECT_EQ(ranges.accessible(0x1000, 0x5000, kRead, 0, 0), 0x2000u);
  EXPECT_EQ(ranges.accessible(0x1000, 0x5000, kWrite, 0, 0), 0x2000u);
  EXPECT_EQ(ranges.accessible(0x1ffe, 4, kWrite, 0x3000, 0x4000), 4u);
  EXPECT_EQ(ranges.accessible(0x2ffe, 0x5000, kWrite, 0x3000, 0x4000), 0x1002u);
  EXPECT_EQ(ranges.accessible(0xfff, 4, kRead, 0, 0), 0u);
  EXPECT_EQ(ranges.accessible(~uint64_t{0}, 4, kRead, 0, 0), 0u);
}

}  // namespace
}  // namespace myriarm::linux_process
