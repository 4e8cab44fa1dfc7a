// SPDX-License-Identifier: Apache-2.0
// What code that the host or the guest has written takes from the pool of the CPU's interpreter, which keeps
// predecoded instructions of it: lanes with the same code share them, and a lane for which there is no room stops alone.
#include "fleet_fixture.h"

namespace fleet_test {
namespace {

constexpr uint64_t kMemory = 1 << 20;
constexpr uint64_t kWritten = 1 << 16;  // where the code is written
constexpr uint64_t kPages = 8;
constexpr uint64_t kEachPage =
    5 * kPageBytes;  // the pool has no less for a page of code: 16 bytes a word, and its bytes

/// In each of kPages pages: adds to x0 and goes on in the next page; the last one halts.
Words chain(uint32_t added) {
  Words words(kPages * kPageBytes / 4, guest::nop());
  for (uint64_t page = 0; page < kPages; page++) {
    uint32_t* code = words.data() + page * kPageBytes / 4;
    code[0] = guest::add(0, 0, added);
    code[1] = page + 1 < kPages ? guest::b(kPageBytes / 4 - 1) : guest::hlt(0);
  }
  return words;
}

class CodeMemory : public testing::Test {
 protected:
  void SetUp() override {
    const FleetOptions options = options_of(1);
    if (options.device != "cpu" || options.engine != Engine::interpreter) GTEST_SKIP() << "of the CPU's interpreter";
  }
  /// Lanes with memory that they may write to and execute. Their program is one HLT.
  static Fleet fleet_with(uint64_t lanes, uint64_t pool = 0) {
    FleetOptions options = options_of(lanes, kMemory);
    options.pool = pool;
    options.threads = 2;
    return Fleet(myriarm::raw_program("test", bytes_of({guest::hlt(0)}), 0, kMemory), options);
  }
  static void give(Fleet& fleet, uint32_t lane, const Words& words) {
    const std::vector<uint8_t> bytes = bytes_of(words);
    const Transfer transfer{lane, static_cast<uint32_t>(bytes.size()), kWritten, 0};
    fleet.write(std::span(&transfer, 1), bytes);
  }
  static void start_at_written(Fleet& fleet) { fleet.fill(Field::pc, kWritten); }
};

TEST_F(CodeMemory, OfLanesThatWereGivenTheSameIsKeptOnce) {
  constexpr uint64_t kLanes = 500;
  Fleet fleet = fleet_with(kLanes);
  for (uint32_t lane = 0; lane < kLanes; lane++) give(fleet, lane, chain(3));
  const uint64_t memory = fleet.pool_used();
  EXPECT_EQ(memory, kLanes * kPages * kPageBytes);
  for (int round = 0; round < 3; round++) {
    start_at_written(fleet);
    fleet.fill(x(0), 0);
    fleet.resume(all_lanes(fleet));
    fleet.run();
    for (uint32_t lane = 0; lane < kLanes; lane++) EXPECT_EQ(fleet.get(x(0), lane), 3 * kPages);
  }
  // Each thread may still have some of its own, from before the first was published.
  EXPECT_GE(fleet.pool_used(), memory + kPages * kEachPage);
  EXPECT_LE(fleet.pool_used(), memory + 6 * kPages * kEachPage);
}

TEST_F(CodeMemory, OfLanesThatWroteTheSameIsKeptOnce) {
  // Copies the two words at 0x100 to x3, and goes there.
  Words words(0x100 / 4 + 2, guest::nop());
  words[0] = guest::ldr(3, 4, 2);
  words[1] = guest::str(3, 4, 3);
  words[2] = guest::br(3);
  words[0x100 / 4] = guest::add(0, 0, 1);
  words[0x100 / 4 + 1] = guest::hlt(0);
  constexpr uint64_t kLanes = 500;
  FleetOptions options = options_of(kLanes, kMemory);
  options.threads = 2;
  Fleet fleet(myriarm::raw_program("test", bytes_of(words), 0, kMemory), options);
  fleet.fill(x(2), 0x100);
  fleet.fill(x(3), kWritten);
  for (uint64_t round = 1; round <= 4; round++) {
    fleet.fill(Field::pc, round == 1 ? 0 : kWritten);
    fleet.resume(all_lanes(fleet));
    fleet.run();
    for (uint32_t lane = 0; lane < kLanes; lane++) EXPECT_EQ(fleet.get(x(0), lane), round);
  }
  const uint64_t memory = kLanes * kPageBytes;
  EXPECT_GE(fleet.pool_used(), memory + kEachPage);
  EXPECT_LE(fleet.pool_used(), memory + 12 * kEachPage);
}

TEST_F(CodeMemory, OfEachLaneIsCountedAndGivenBack) {
  constexpr uint64_t kLanes = 20;
  Fleet fleet = fleet_with(kLanes);
  myriarm::Snapshot before = fleet.snapshot();
  const uint64_t empty = fleet.pool_used();
  for (uint32_t lane = 0; lane < kLanes; lane++) give(fleet, lane, chain(lane + 1));
  const uint64_t memory = fleet.pool_used();
  start_at_written(fleet);
  fleet.run();
  for (uint32_t lane = 0; lane < kLanes; lane++) EXPECT_EQ(fleet.get(x(0), lane), (lane + 1) * kPages);
  EXPECT_GE(fleet.pool_used(), memory + kLanes * kPages * kEachPage);
  fleet.restore(before);
  EXPECT_EQ(fleet.pool_used(), empty);
}

TEST_F(CodeMemory, ThatIsMissingStopsItsLaneAlone) {
  constexpr uint64_t kLanes = 20;
  const uint64_t memory = kLanes * kPages * kPageBytes, room = kLanes / 2 * kPages * kEachPage;
  Fleet fleet = fleet_with(kLanes, memory + room);
  for (uint32_t lane = 0; lane < kLanes; lane++) give(fleet, lane, chain(lane + 1));
  start_at_written(fleet);
  fleet.run();
  uint64_t ended = 0, waiting = 0;
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    const bool halted = fleet.stops()[lane].reason == StopReason::halt;
    expect_stop(fleet, lane, halted ? halt() : plain(StopReason::out_of_memory));
    ended += halted, waiting += !halted;
    const uint64_t steps = fleet.get(x(0), lane) / (lane + 1);
    EXPECT_EQ(fleet.get(x(0), lane), steps * (lane + 1));
    EXPECT_EQ(steps == kPages, halted);
    EXPECT_EQ(fleet.get(Field::instructions, lane), halted ? 2 * kPages - 1 : 2 * steps) << "nothing ran twice";
  }
  EXPECT_GE(ended, 4u);
  EXPECT_GE(waiting, 4u);
  EXPECT_LE(fleet.pool_used(), fleet.pool_size());
  // The memory is limited, not lost: with more of it the lanes go on.
  fleet.grow_pool(2 * (memory + room));
  std::vector<uint32_t> stopped;
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    if (fleet.stops()[lane].reason == StopReason::out_of_memory) stopped.push_back(lane);
  }
  fleet.resume(stopped);
  fleet.run();
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    expect_stop(fleet, lane, halt());
    EXPECT_EQ(fleet.get(x(0), lane), (lane + 1) * kPages);
    EXPECT_EQ(fleet.get(Field::instructions, lane), 2 * kPages - 1);
  }
}

}  // namespace
}  // namespace fleet_test
