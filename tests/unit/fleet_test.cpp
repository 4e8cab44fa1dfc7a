// SPDX-License-Identifier: Apache-2.0
// Edge cases of fleets: the ends of the window, pages that only some lanes have, wrong arguments.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numeric>

#include "myriarm/fleet.h"

namespace myriarm {
namespace {

constexpr uint32_t kHlt = 0xd4400000, kNop = 0xd503201f;

FleetOptions options_of(uint64_t lanes, uint64_t memory = uint64_t{1} << 16) {
  const char* device = std::getenv("MYRIARM_TEST_DEVICE");
  FleetOptions options;
  options.device = device ? device : "cpu";
  options.lanes = lanes;
  options.memory = memory;
  return options;
}

std::vector<uint8_t> bytes_of(const std::vector<uint32_t>& words) {
  std::vector<uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

std::vector<uint32_t> all_lanes(const Fleet& fleet) {
  std::vector<uint32_t> lanes(fleet.lanes());
  std::iota(lanes.begin(), lanes.end(), 0u);
  return lanes;
}

TEST(FleetCode, AStoreToTheFirstWordOfTheWindowIsNoticed) {
  FleetOptions options = options_of(3);
  Fleet fleet(raw_program("self",
                          bytes_of({0xd2800021,  // 0x00 mov  x1, #1
                                    0xb5000082,  // 0x04 cbnz x2, 0x14
                                    0xd2800022,  // 0x08 mov  x2, #1
                                    0xb9000060,  // 0x0c str  w0, [x3]
                                    0x17fffffc,  // 0x10 b    0
                                    kHlt}),
                          0, options.memory),
              options);
  fleet.fill(x(0), 0xd2800041);  // mov x1, #2
  fleet.run();
  for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
    EXPECT_EQ(fleet.stops()[lane].reason, StopReason::halt);
    EXPECT_EQ(fleet.get(x(1), lane), 2u);
    EXPECT_EQ(fleet.get(Field::instructions, lane), 7u);
  }
}

// The page tables of lanes lie side by side: an access past the end of one must not use the next.
TEST(FleetCode, TheEndOfTheWindowIsTheEnd) {
  FleetOptions options = options_of(70, kPageBytes);
  Fleet fleet(raw_program("end", bytes_of(std::vector<uint32_t>(kPageBytes / 4, kNop)), 0, options.memory), options);
  fleet.fill(Field::limit, 5000);
  fleet.run();
  for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
    const Stop& stop = fleet.stops()[lane];
    ASSERT_EQ(stop.reason, StopReason::fault) << lane;
    EXPECT_EQ(stop.fault, FaultKind::unmapped);
    EXPECT_EQ(stop.address, kPageBytes);
    EXPECT_EQ(fleet.get(Field::pc, lane), kPageBytes);
    EXPECT_EQ(fleet.get(Field::instructions, lane), kPageBytes / 4);
  }
}

TEST(FleetCode, TheLimitComesBeforeTheFaultOfTheFetch) {
  FleetOptions options = options_of(2, kPageBytes);
  Fleet fleet(raw_program("end", bytes_of({kNop, 0xd61f0000 /* br x0 */}), 0, options.memory), options);
  fleet.fill(x(0), 0x123450);
  fleet.set(Field::limit, 0, 2);
  fleet.run();
  EXPECT_EQ(fleet.stops()[0].reason, StopReason::budget);
  EXPECT_EQ(fleet.stops()[1].reason, StopReason::fault);
  for (uint32_t lane : {0u, 1u}) {
    EXPECT_EQ(fleet.get(Field::pc, lane), 0x123450u);
    EXPECT_EQ(fleet.get(Field::instructions, lane), 2u);
  }
}

TEST(FleetMemory, LanesThatUnmapOneByOneGiveTheirFramesBack) {
  FleetOptions options = options_of(40);
  Fleet fleet(raw_program("pages", bytes_of({0xf9000020 /* str x0, [x1] */, kHlt}), 0, options.memory), options);
  constexpr uint64_t kPage = 0x4000;
  const std::vector<uint32_t> lanes = all_lanes(fleet);
  fleet.fill(x(1), kPage);
  fleet.set_all(x(0), std::vector<uint64_t>(lanes.begin(), lanes.end()));
  const uint64_t before = fleet.pool_used();
  for (int round = 0; round < 3; round++) {
    fleet.map(lanes, kPage, kPageBytes, kRead | kWrite);
    fleet.fill(Field::pc, 0);
    fleet.resume_all();
    fleet.run();
    EXPECT_GT(fleet.pool_used(), before);
    for (uint32_t lane : lanes) {
      EXPECT_EQ(fleet.read(lane, kPage, 1)[0], lane);
      fleet.unmap(std::span(&lane, 1), kPage, kPageBytes);
      EXPECT_THROW(fleet.read(lane, kPage, 1), ArgumentError);
    }
    EXPECT_EQ(fleet.pool_used(), before) << "round " << round;
  }
}

// Some teams free their frames while others allocate some: the pages that a lane keeps stay its own.
TEST(FleetMemory, LanesThatMapAnewLeaveTheOthersAlone) {
  FleetOptions options = options_of(1000);
  Fleet fleet(raw_program("pages", bytes_of({0xf9000020 /* str x0, [x1] */, kHlt}), 0, options.memory), options);
  constexpr uint64_t kPage = 0x4000;
  const std::vector<uint32_t> lanes = all_lanes(fleet);
  fleet.fill(x(1), kPage + 8);
  fleet.set_all(x(0), std::vector<uint64_t>(lanes.begin(), lanes.end()));
  fleet.run();
  std::vector<uint32_t> some;
  auto is_some = [](uint32_t lane) { return lane / 32 % 2 == 0 || lane % 3 == 0; };
  for (uint32_t lane : lanes) {
    if (is_some(lane)) some.push_back(lane);
  }
  fleet.map(some, kPage, 2 * kPageBytes, kRead | kWrite);
  // All lanes have written a second page, so that the test would see a frame which two lanes got.
  fleet.fill(x(1), kPage + kPageBytes + 8);
  fleet.fill(Field::pc, 0);
  fleet.resume_all();
  fleet.run();
  for (uint32_t lane : lanes) {
    uint64_t first, second;
    std::memcpy(&first, fleet.read(lane, kPage + 8, 8).data(), 8);
    std::memcpy(&second, fleet.read(lane, kPage + kPageBytes + 8, 8).data(), 8);
    ASSERT_EQ(first, is_some(lane) ? 0 : lane);
    ASSERT_EQ(second, lane);
  }
}

TEST(FleetArguments, APoolThatCannotGrowSoFarKeepsItsSize) {
  FleetOptions options = options_of(2);
  options.pool = uint64_t{16} << 20;
  Fleet fleet(raw_program("halt", bytes_of({kHlt}), 0, options.memory), options);
  const uint64_t size = fleet.pool_size();
  EXPECT_THROW(fleet.grow_pool(~uint64_t{0}), DeviceError);
  EXPECT_THROW(fleet.grow_pool(uint64_t{1} << 60), DeviceError);
  EXPECT_GE(fleet.pool_size(), size);
}

TEST(FleetArguments, APoolThatCannotGrowSaysSoExactly) {
  FleetOptions options = options_of(1);
  options.pool = 2 * kPageBytes;
  Fleet fleet(raw_program("halt", bytes_of({kHlt}), 0, options.memory), options);
  std::string message;
  try {
    fleet.grow_pool(uint64_t{256} << 30);  // the most that it takes, and beside the image no device has it
  } catch (const DeviceError& error) {
    message = error.what();
  }
  EXPECT_EQ(message.find("the pool cannot grow to 256 GiB, only to "), 0u) << message;
  EXPECT_EQ(message.find(" 0 "), std::string::npos) << message;
}

TEST(FleetArguments, MoreThreadsThanLanesAreNotStarted) {
  FleetOptions options = options_of(3);
  options.threads = 1'000'000;
  Fleet fleet(raw_program("halt", bytes_of({kHlt}), 0, options.memory), options);
  EXPECT_EQ(fleet.run().stopped, 3u);
}

TEST(FleetArguments, BitsThatARegisterLacksAreNotKept) {
  FleetOptions options = options_of(2);
  Fleet fleet(raw_program("halt", bytes_of({kHlt}), 0, options.memory), options);
  const std::pair<Field, uint64_t> legal[] = {{Field::nzcv, 0xf}, {Field::fpcr, 0x07c80000}, {Field::fpsr, 0x0800009f}};
  const std::vector<uint64_t> ones(2, ~uint64_t{0});
  for (int way = 0; way < 3; way++) {
    for (const auto& [field, bits] : legal) {
      fleet.fill(field, 0);
      if (way == 0) fleet.fill(field, ones[0]);
      if (way == 1) fleet.set(field, 1, ones[0]);
      if (way == 2) fleet.set_all(field, ones);
      EXPECT_EQ(fleet.get(field, 1), bits);
      EXPECT_EQ(fleet.get(field, 0), way == 1 ? 0 : bits);
    }
  }
  fleet.run();
  for (const auto& [field, bits] : legal) EXPECT_EQ(fleet.get(field, 1), bits);
}

}  // namespace
}  // namespace myriarm
