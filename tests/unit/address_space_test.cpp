// SPDX-License-Identifier: Apache-2.0
// The list of a process's mappings: which addresses a system call may access, where a new mapping goes, and the list
// after a change; and the set of these lists, in which equal ones are one.
#include "linux/address_space.h"

#include <gtest/gtest.h>

#include <random>

#include "linux/address_space_set.h"

namespace myriarm::linux_process {
namespace {

using Ranges = std::vector<AddressSpace::Range>;

TEST(LinuxAddresses, PagesOfTwoSegmentsHaveThePermissionsOfBoth) {
  Program program;
  program.segments = {{0x1000, 0x800, kRead, {}}, {0x1800, 0x900, kRead | kWrite, {}}};
  AddressSpace space(program, 0x3000);
  EXPECT_EQ(space.accessible(0x1000, 0x5000, kRead), 0x2000u);
  EXPECT_EQ(space.accessible(0x1000, 0x5000, kWrite), 0x2000u);
  EXPECT_EQ(space.accessible(0xfff, 4, kRead), 0u);
  EXPECT_EQ(space.accessible(~uint64_t{0}, 4, kRead), 0u);
  space.map(0x3000, 0x4000, kRead | kWrite);
  EXPECT_EQ(space.accessible(0x2ffe, 4, kWrite), 4u);
  EXPECT_EQ(space.accessible(0x2ffe, 0x5000, kWrite), 0x1002u);
  EXPECT_EQ(space.accessible(0x2ffe, ~uint64_t{0}, kWrite), 0x1002u);
}

TEST(LinuxAddresses, ChangesCutAndJoin) {
  AddressSpace space({}, 0);
  space.map(0x10000, 0x20000, kRead);
  space.map(0x20000, 0x30000, kRead);
  EXPECT_EQ(space.ranges(), (Ranges{{0x10000, 0x30000, kRead, true}}));
  space.protect(0x18000, 0x28000, 0);
  EXPECT_EQ(space.ranges(),
            (Ranges{{0x10000, 0x18000, kRead, true}, {0x18000, 0x28000, 0, true}, {0x28000, 0x30000, kRead, true}}));
  EXPECT_EQ(space.accessible(0x17fff, 2, kRead), 1u);
  EXPECT_EQ(space.mapped_until(0x10000, 0x40000), 0x30000u);
  space.protect(0, 0x40000, kRead);
  EXPECT_EQ(space.ranges(), (Ranges{{0x10000, 0x30000, kRead, true}}));
  space.unmap(0x1f000, 0x21000);
  EXPECT_EQ(space.ranges(), (Ranges{{0x10000, 0x1f000, kRead, true}, {0x21000, 0x30000, kRead, true}}));
  EXPECT_EQ(space.mapped_until(0x10000, 0x40000), 0x1f000u);
  EXPECT_EQ(space.mapped_until(0x1f000, 0x40000), 0x1f000u);
  EXPECT_TRUE(space.is_free(0x1f000, 0x21000));
  EXPECT_FALSE(space.is_free(0x1f000, 0x22000));
  EXPECT_FALSE(space.at(0x1f000).has_value());
  EXPECT_EQ(space.at(0x21000)->end, 0x30000u);
  space.unmap(0, ~uint64_t{0xfff});
  EXPECT_TRUE(space.ranges().empty());
}

TEST(LinuxAddresses, TheHighestFreePlaceIsFound) {
  AddressSpace space({}, 0);
  EXPECT_EQ(space.find_place(0x1000, 0x10000, 0x20000), 0x1f000u);
  EXPECT_EQ(space.find_place(0x10000, 0x10000, 0x20000), 0x10000u);
  EXPECT_FALSE(space.find_place(0x11000, 0x10000, 0x20000));
  space.map(0x1e000, 0x1f000, kRead);
  space.map(0x1a000, 0x1b000, kRead);
  space.map(0x5000, 0x11000, kRead);     // across the low end
  space.map(0x1ff000, 0x200000, kRead);  // above
  EXPECT_EQ(space.find_place(0x1000, 0x10000, 0x20000), 0x1f000u);
  EXPECT_EQ(space.find_place(0x2000, 0x10000, 0x20000), 0x1c000u);
  EXPECT_EQ(space.find_place(0x4000, 0x10000, 0x20000), 0x16000u);
  EXPECT_EQ(space.find_place(0x9000, 0x10000, 0x20000), 0x11000u);
  EXPECT_FALSE(space.find_place(0xa000, 0x10000, 0x20000));
  EXPECT_FALSE(space.find_place(0x1000, 0x30000, 0x20000));
}

TEST(LinuxAddresses, AgreesWithAListOfPages) {
  constexpr uint64_t kPages = 24;
  std::mt19937 random(1);
  auto below = [&](uint64_t end) { return random() % end; };
  AddressSpace space({}, 0);
  std::vector<int> pages(kPages, -1);  // permissions; -1: not mapped
  for (int step = 0; step < 20000; step++) {
    const uint64_t first = below(kPages), last = first + 1 + below(kPages - first);
    const auto permissions = static_cast<uint32_t>(below(4));
    const uint64_t what = below(3);
    if (what == 0) space.map(first * kPageBytes, last * kPageBytes, permissions);
    if (what == 1) space.unmap(first * kPageBytes, last * kPageBytes);
    if (what == 2) space.protect(first * kPageBytes, last * kPageBytes, permissions);
    for (uint64_t page = first; page < last; page++) {
      if (what == 1) pages[page] = -1;
      else if (what == 0 || pages[page] >= 0) pages[page] = static_cast<int>(permissions);
    }
    const uint64_t from = below(kPages), to = from + below(kPages - from + 1), size = 1 + below(4);
    uint64_t mapped = from, readable = from;
    while (mapped < to && pages[mapped] >= 0) mapped++;
    while (readable < to && pages[readable] >= 0 && (pages[readable] & kRead)) readable++;
    EXPECT_EQ(space.mapped_until(from * kPageBytes, to * kPageBytes), mapped * kPageBytes);
    EXPECT_EQ(space.accessible(from * kPageBytes, (to - from) * kPageBytes, kRead), (readable - from) * kPageBytes);
    std::optional<uint64_t> place;
    for (uint64_t at = from; at + size <= to; at++) {
      bool free = true;
      for (uint64_t page = at; page < at + size; page++) free &= pages[page] < 0;
      if (free) place = at * kPageBytes;
    }
    ASSERT_EQ(space.find_place(size * kPageBytes, from * kPageBytes, to * kPageBytes), place);
    for (size_t i = 1; i < space.ranges().size(); i++) {
      const auto &a = space.ranges()[i - 1], &b = space.ranges()[i];
      ASSERT_TRUE(a.end < b.begin || (a.end == b.begin && a.permissions != b.permissions));
    }
    AddressSpace same({}, 0), other({}, 0);
    other.map(kPages * kPageBytes, (kPages + 1) * kPageBytes, kRead);
    for (uint64_t page = 0; page < kPages; page++) {
      if (pages[page] < 0) continue;
      for (AddressSpace* made : {&same, &other}) {
        made->map(page * kPageBytes, (page + 1) * kPageBytes, static_cast<uint32_t>(pages[page]));
      }
    }
    ASSERT_EQ(space, same);
    ASSERT_EQ(space.hash(), same.hash()) << "whatever has led to it";
    ASSERT_NE(space.hash(), other.hash());
  }
}

TEST(LinuxAddresses, EqualAddressSpacesAreOneObjectAndOnesOfOneHolderAreNotCopied) {
  AddressSpaceSet set;
  AddressSpaceSet::Shared first = set.insert(std::make_shared<AddressSpace>(Program(), 0));
  AddressSpaceSet::Shared second = set.insert(std::make_shared<AddressSpace>(Program(), 0));
  EXPECT_EQ(first, second);
  EXPECT_NE(first, set.insert(std::make_shared<AddressSpace>(Program(), 1))) << "another break";

  std::shared_ptr<AddressSpace> changed = set.take(*first, 1);
  EXPECT_NE(changed, first) << "the second holder must not see the change";
  changed->map(0x1000, 0x2000, kRead);
  second = set.insert(changed);
  EXPECT_EQ(second, changed);
  EXPECT_TRUE(first->ranges().empty());

  changed = nullptr;
  const AddressSpace* const before = second.get();
  changed = set.take(*second, 1);
  EXPECT_EQ(changed.get(), before);
  changed->unmap(0x1000, 0x2000);
  second = set.insert(changed);
  EXPECT_EQ(second, first) << "equal again";
  changed = nullptr;
  EXPECT_EQ(set.take(*first, 2), first) << "both holders at once";
}

TEST(LinuxAddresses, TheSetForgetsWhatNobodyHolds) {
  AddressSpaceSet set;
  AddressSpaceSet::Shared held = set.insert(std::make_shared<AddressSpace>(Program(), 0));
  std::weak_ptr<const AddressSpace> dropped = set.insert(std::make_shared<AddressSpace>(Program(), 1));
  EXPECT_FALSE(dropped.expired());
  for (uint64_t i = 2; i < 200; i++) set.insert(std::make_shared<AddressSpace>(Program(), i));
  EXPECT_TRUE(dropped.expired());
  EXPECT_EQ(set.insert(std::make_shared<AddressSpace>(Program(), 0)), held);
}

}  // namespace
}  // namespace myriarm::linux_process
