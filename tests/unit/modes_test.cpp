// SPDX-License-Identifier: Apache-2.0
// Runs, handlers and snapshots through the public API, on a real device. tests/fleet tests the host's part of a run,
// tests/engines what every device must do in each mode.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "myriarm/myriarm.h"
#include "until.h"

namespace myriarm {
namespace {

constexpr uint32_t kCount = 0x91000400, kBack = 0x17ffffff;  // add x0, x0, #1; b to the instruction before
constexpr uint32_t kSvc = 0xd4000001, kHlt = 0xd4400000;

FleetOptions options_of(uint64_t lanes, MemoryPolicy policy = MemoryPolicy::private_copy) {
  const char* device = std::getenv("MYRIARM_TEST_DEVICE");
  FleetOptions options;
  options.device = device ? device : "cpu";
  options.lanes = lanes;
  options.memory = 1 << 16;
  options.memory_policy = policy;
  return options;
}

Program program_of(const std::vector<uint32_t>& words, uint64_t address = 0) {
  std::vector<uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return raw_program("modes", bytes, address, 1 << 16);
}

Fleet fleet_of(const std::vector<uint32_t>& words, uint64_t lanes, MemoryPolicy policy = MemoryPolicy::private_copy) {
  return Fleet(program_of(words), options_of(lanes, policy));
}

TEST(Modes, GiveTheSameCountsAndRegisters) {
  for (Mode mode : {Mode::run, Mode::continuous, Mode::mega, Mode::self_dispatch}) {
    Fleet fleet = fleet_of({kCount, kBack}, 3);
    fleet.set(Field::limit, 1, 17);
    const RunResult result = fleet.run({.mode = mode, .instructions = 1001, .instructions_per_batch = 100});
    EXPECT_EQ(result.instructions, 1001u + 17 + 1001);
    EXPECT_EQ(result.stops[static_cast<size_t>(StopReason::budget)], 3u);
    EXPECT_EQ(result.lanes_left, 2u);
    EXPECT_EQ(result.batches, mode == Mode::run || mode == Mode::mega ? 1u : 11u);
    EXPECT_EQ(fleet.get(x(0), 0), 501u);
    EXPECT_EQ(fleet.get(x(0), 1), 9u);
    EXPECT_EQ(fleet.run({.mode = mode, .instructions = 5}).instructions, 10u) << "lane 1 is at its limit";
    EXPECT_EQ(fleet.run({.mode = mode, .instructions = 5, .go_on = false}).instructions, 0u);
  }
}

TEST(Modes, TimeoutAndCancelLeaveLanesAtABoundary) {
  Fleet fleet = fleet_of({kCount, kBack}, 3);
  const RunResult result = fleet.run({.timeout = 0.05});
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, Signal::checkpoint);
  uint64_t retired = 0;
  for (uint32_t lane = 0; lane < 3; lane++) {
    const uint64_t count = fleet.get(Field::instructions, lane);
    retired += count;
    EXPECT_EQ(fleet.stops()[lane].reason, StopReason::cancelled);
    EXPECT_EQ(fleet.get(x(0), lane), (count + 1) / 2);
    EXPECT_EQ(fleet.get(Field::pc, lane), count % 2 * 4);
  }
  EXPECT_EQ(result.instructions, retired);
  EXPECT_EQ(fleet.run({.instructions = 100}).instructions, 300u);
}

TEST(Async, IsPolledCancelledAndGoesOn) {
  Fleet fleet = fleet_of({kCount, kBack}, 2);
  uint64_t all = 0;
  for (int round = 0; round < 3; round++) {
    fleet.start();
    test::until([&] { return fleet.poll().instructions >= 1000; });
    EXPECT_TRUE(fleet.is_running());
    EXPECT_THROW((void)fleet.get(x(0), 0), StateError);
    fleet.cancel();
    const RunResult result = fleet.wait().value();
    all += result.instructions;
    EXPECT_EQ(result.signal, Signal::cancelled);
    EXPECT_EQ(fleet.poll().instructions, result.instructions);
    EXPECT_EQ(fleet.get(Field::instructions, 0) + fleet.get(Field::instructions, 1), all);
  }
}

TEST(Handlers, ServeWriteLikeCalls) {
  // The lane counts to 3 with a call each time; the handler's result says whether it goes on.
  Fleet fleet = fleet_of({0x91000421 /* add x1, x1, #1 */, 0xd2800808 /* mov x8, #64 */, kSvc,
                          0xb5ffffa0 /* cbnz x0, back to the add */, kHlt},
                         5);
  int calls = 0;
  RunOptions options;
  options.on_syscall = [&](Fleet&, const SyscallBatch& batch) {
    calls++;
    for (size_t i = 0; i < batch.lanes.size(); i++) {
      EXPECT_EQ(batch.numbers[i], 64u);
      EXPECT_EQ(batch.arguments[6 * i + 1], static_cast<uint64_t>(calls));
      batch.results[i] = batch.arguments[6 * i + 1] < 3 + batch.lanes[i];
    }
  };
  const RunResult result = fleet.run(options);
  EXPECT_EQ(calls, 7);
  EXPECT_EQ(result.stops[static_cast<size_t>(StopReason::halt)], 5u);
  EXPECT_EQ(result.stops[static_cast<size_t>(StopReason::syscall)], 0u);
  for (uint32_t lane = 0; lane < 5; lane++) {
    EXPECT_EQ(fleet.get(x(1), lane), 3u + lane);
    EXPECT_EQ(fleet.get(Field::instructions, lane), 4u * (3 + lane));
  }
}

TEST(Snapshots, ForksAndTransactionsHoldMemory) {
  Fleet fleet = fleet_of({0xf9000020 /* str x0, [x1] */, kHlt}, 3, MemoryPolicy::transactional);
  fleet.fill(x(0), 0x55);
  fleet.fill(x(1), 0x4000);
  fleet.run();
  EXPECT_EQ(fleet.read(2, 0x4000, 1)[0], 0x55);
  fleet.rollback();
  EXPECT_EQ(fleet.read(2, 0x4000, 1)[0], 0);
  EXPECT_EQ(fleet.get(Field::instructions, 2), 0u);
  fleet.set(x(0), 1, 0x66);
  const uint32_t lane = 1;
  fleet.set_stops(std::vector<uint32_t>{0, 2}, std::vector<Stop>(2, {StopReason::exited, FaultKind::none, 0, 0}));
  EXPECT_EQ(fleet.run().instructions, 1u);
  fleet.commit();
  fleet.fork(lane, std::vector<uint32_t>{0});
  EXPECT_EQ(fleet.read(0, 0x4000, 1)[0], 0x66);
  EXPECT_EQ(fleet.stops()[0].reason, StopReason::halt);
  EXPECT_EQ(fleet.read(2, 0x4000, 1)[0], 0);
}

TEST(ReadOnlyMemory, IsWrittenByTheHostAlone) {
  Fleet fleet = fleet_of({0xf9000020 /* str x0, [x1] */, kHlt}, 2, MemoryPolicy::read_only);
  fleet.fill(x(1), 0x4008);
  fleet.run();
  EXPECT_EQ(fleet.stops()[1].reason, StopReason::fault);
  EXPECT_EQ(fleet.stops()[1].fault, FaultKind::write);
  fleet.write(1, 0x4008, std::vector<uint8_t>{7});
  EXPECT_EQ(fleet.read(1, 0x4008, 1)[0], 7);
  EXPECT_EQ(fleet.read(0, 0x4008, 1)[0], 0);
}

TEST(SeveralPrograms, RunInOneFleet) {
  const std::vector<Placement> programs = {{program_of({0xd2800020 /* mov x0, #1 */, kHlt}), 32},
                                           {program_of({0xd2800040 /* mov x0, #2 */, kCount, kHlt}), 3}};
  Fleet fleet(programs, options_of(0));
  ASSERT_EQ(fleet.lanes(), 35u);
  EXPECT_EQ(fleet.run().instructions, 32u + 6);
  EXPECT_EQ(fleet.get(x(0), 31), 1u);
  EXPECT_EQ(fleet.get(x(0), 32), 3u);
}

TEST(SharedMemory, IsTheSameForHostAndGuest) {
  Fleet fleet =
      fleet_of({0xf9400020 /* ldr x0, [x1] */, 0xf9000420 /* str x0, [x1, #8] */, kHlt}, 2, MemoryPolicy::shared);
  const ArrayView view = fleet.memory_view();
  ASSERT_NE(view.data, nullptr);
  EXPECT_GE(view.lane_stride, 1 << 16);
  fleet.fill(x(1), 0x4000);
  auto* lane1 = static_cast<uint8_t*>(view.data) + view.lane_stride + 0x4000;
  lane1[0] = 0x99;
  fleet.run();
  EXPECT_EQ(fleet.get(x(0), 1), 0x99u);
  EXPECT_EQ(lane1[8], 0x99);
  EXPECT_EQ(fleet.get(x(0), 0), 0u);
  EXPECT_THROW(fleet_of({kHlt}, 1).memory_view(), StateError);
}

TEST(Views, LieWhereTheFieldsAre) {
  Fleet fleet = fleet_of({kCount, kHlt}, 3);
  const ArrayView view = fleet.view(x(0));
  if (view.device != DeviceKind::cpu) GTEST_SKIP() << "the host cannot access this memory";
  auto at = [&](int64_t lane) {
    return reinterpret_cast<uint64_t*>(static_cast<uint8_t*>(view.data) + lane * view.lane_stride);
  };
  *at(2) = 41;
  fleet.run();
  EXPECT_EQ(fleet.get(x(0), 2), 42u);
  EXPECT_EQ(*at(1), 1u);
}

TEST(Close, EndsARunAndEverythingAfterIsAStateError) {
  Fleet fleet = fleet_of({kCount, kBack}, 2);
  Snapshot snapshot = fleet.snapshot();
  fleet.start();
  fleet.close();
  EXPECT_THROW(fleet.run(), StateError);
  EXPECT_THROW((void)fleet.get(x(0), 0), StateError);
  EXPECT_THROW((void)snapshot.lanes(), StateError);
}

}  // namespace
}  // namespace myriarm
