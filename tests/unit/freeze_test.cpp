// SPDX-License-Identifier: Apache-2.0
// Fleet::freeze(): lanes of the program that it makes go on as the lane that was frozen.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numeric>

#include "myriarm/fleet.h"

namespace myriarm {
namespace {

FleetOptions options_of(uint64_t lanes) {
  const char* device = std::getenv("MYRIARM_TEST_DEVICE");
  FleetOptions options;
  options.device = device ? device : "cpu";
  options.lanes = lanes;
  options.memory = uint64_t{1} << 20;
  return options;
}

/// Adds x0 to the words of two pages in turn, with flags and a vector, 100 times; then HLT.
const std::vector<uint32_t> kGuest = {
    0xd2800c83,  //        mov  x3, #100
    0x91400424,  //        add  x4, x1, #1, lsl #12
    0xf9400022,  // again: ldr  x2, [x1]
    0x8b000042,  //        add  x2, x2, x0
    0xf9000022,  //        str  x2, [x1]
    0xf9000082,  //        str  x2, [x4]
    0x4e080c40,  //        dup  v0.2d, x2
    0x4ee08421,  //        add  v1.2d, v1.2d, v0.2d
    0xf1000463,  //        subs x3, x3, #1
    0x54ffff21,  //        b.ne again
    0xd4400000,  //        hlt  #0
};
constexpr uint64_t kCode = 0x40000, kData = 0x50000, kHidden = 0x60000;

Program guest() {
  Program program;
  program.name = "guest";
  program.entry = kCode;
  program.stack_pointer = 0x77770;
  std::vector<uint8_t> code(kGuest.size() * 4);
  std::memcpy(code.data(), kGuest.data(), code.size());
  program.segments = {{0x10000, kPageBytes, kRead, {1}},
                      {kCode, kPageBytes, kRead | kExecute, code},
                      {kData, 8 * kPageBytes, kRead | kWrite, {}}};
  return program;
}

void expect_same_lanes(const Fleet& expected, uint32_t from, const Fleet& found, uint32_t lane) {
  for (unsigned i = 0; i < static_cast<unsigned>(Field::count); i++) {
    const Field field = static_cast<Field>(i);
    EXPECT_EQ(expected.get(field, from), found.get(field, lane)) << "field " << i << " of lane " << lane;
  }
  ASSERT_EQ(expected.memory_begin(), found.memory_begin());
  const uint64_t pages = (expected.memory_end() - expected.memory_begin()) / kPageBytes;
  std::vector<uint8_t> wanted(pages), had(pages);
  expected.permissions({&from, 1}, expected.memory_begin(), pages * kPageBytes, wanted);
  found.permissions({&lane, 1}, found.memory_begin(), pages * kPageBytes, had);
  EXPECT_EQ(wanted, had);
  for (uint64_t page = 0; page < pages; page++) {
    const uint64_t address = expected.memory_begin() + page * kPageBytes;
    if (wanted[page] == 0) continue;
    ASSERT_EQ(expected.read(from, address, kPageBytes), found.read(lane, address, kPageBytes)) << address;
  }
}

/// A fleet of 3 lanes, each in the middle of its own run.
Fleet under_way() {
  Fleet fleet(guest(), options_of(3));
  fleet.fill(x(1), kData + 4 * kPageBytes);
  const std::vector<uint64_t> steps = {1, 20, 300}, budgets = {5, 203, 77};
  fleet.set_all(x(0), steps);
  fleet.set_all(Field::limit, budgets);
  fleet.fill(Field::tpidr, 0x1234'5678'9abc);
  fleet.fill(Field::fpcr, uint64_t{1} << 22);
  fleet.fill(Field::fpsr, 1);
  const uint32_t lane = 1;
  fleet.map({&lane, 1}, kHidden, kPageBytes, 0);
  fleet.write(1, kHidden + 8, std::vector<uint8_t>{7, 8});
  fleet.unmap({&lane, 1}, 0x10000, kPageBytes);
  fleet.run();
  fleet.fill(Field::limit, kEndless);
  return fleet;
}

TEST(Freeze, EveryLaneGoesOnAsTheFrozenOne) {
  Fleet fleet = under_way();
  for (uint32_t source = 0; source < fleet.lanes(); source++) {
    const Program frozen = fleet.freeze(source);
    Fleet copies(frozen, options_of(35));
    for (uint32_t lane : {0u, 1u, 34u}) expect_same_lanes(fleet, source, copies, lane);
    EXPECT_EQ(copies.stops()[0].reason, StopReason::none);
    const uint64_t before = copies.get(Field::instructions, 0);
    const RunResult result = copies.run();
    EXPECT_EQ(result.instructions, 35 * (copies.get(Field::instructions, 0) - before));
    Fleet again(copies.freeze(34), options_of(1));
    expect_same_lanes(copies, 34, again, 0);
    fleet.run();
    for (uint32_t lane : {0u, 34u}) {
      EXPECT_EQ(copies.stops()[lane].reason, StopReason::halt);
      expect_same_lanes(fleet, source, copies, lane);
    }
    fleet = under_way();
  }
}

TEST(Freeze, PagesOfZerosTakeNoBytes) {
  Fleet fleet = under_way();
  const Program frozen = fleet.freeze(1);
  uint64_t bytes = 0, size = 0;
  for (const Segment& segment : frozen.segments) {
    bytes += segment.bytes.size();
    size += segment.size;
  }
  EXPECT_EQ(bytes, 4 * kPageBytes) << "code, two pages of data, the hidden page";
  EXPECT_EQ(size, 10 * kPageBytes);
}

TEST(Freeze, BesideOtherPrograms) {
  Fleet fleet = under_way();
  std::vector<Placement> placements = {{guest(), 32}, {fleet.freeze(1), 32}, {fleet.freeze(2), 3}};
  Fleet mixed(placements, options_of(1));
  expect_same_lanes(fleet, 1, mixed, 32);
  expect_same_lanes(fleet, 1, mixed, 63);
  expect_same_lanes(fleet, 2, mixed, 64);
  expect_same_lanes(fleet, 2, mixed, 66);
  for (uint32_t lane : {0u, 31u}) {
    EXPECT_EQ(mixed.get(Field::instructions, lane), 0u);
    EXPECT_EQ(mixed.get(x(1), lane), 0u);
    EXPECT_EQ(mixed.get(Field::pc, lane), kCode);
  }
  Fleet again(mixed.freeze(32), options_of(2));
  expect_same_lanes(fleet, 1, again, 1);
  EXPECT_EQ(mixed.freeze(0).name, "guest");
}

TEST(Freeze, WhatCannotBeFrozen) {
  Fleet fleet = under_way();
  EXPECT_THROW(fleet.freeze(3), ArgumentError);
  const uint32_t lane = 0;
  fleet.release_memory({&lane, 1});
  EXPECT_THROW(fleet.freeze(0), StateError);
  EXPECT_NO_THROW(fleet.freeze(1));
}

}  // namespace
}  // namespace myriarm
