// SPDX-License-Identifier: Apache-2.0
// Processes that have exited give their memory back, and others begin when there is room for them.
#include <gtest/gtest.h>

#include "linux_caller.h"
#include "myriarm/linux.h"

namespace myriarm {
namespace {

using namespace test;

constexpr uint32_t kStoreX1 = 0xf9000021;       // str x1, [x1]
constexpr uint32_t kNextPage = 0x91400421;      // add x1, x1, #1, lsl #12
constexpr uint32_t kCountDown = 0xf1000400;     // subs x0, x0, #1
constexpr uint32_t kBranchBackNe = 0x54ffffe1;  // b.ne -1
constexpr uint64_t kPagesOfALane = 3;  // a page of the stack, which holds the number of the lane, and two of data

/// Writes to two pages of data, then makes the system call x8.
const std::vector<uint32_t> kWritesTwoPages = {kStoreX1, kNextPage, kStoreX1, kSvc, kBrk};

/// Lane i exits with status i, unless a test changes its registers.
struct Processes {
  explicit Processes(uint64_t lanes, uint64_t pool_pages = 0, const std::vector<uint32_t>& words = kWritesTwoPages,
                     bool keep_memory = false)
      : machine(image_of(words), fleet_options(lanes, pool_pages), process_options(keep_memory)) {
    std::vector<uint64_t> numbers(lanes);
    for (uint64_t lane = 0; lane < lanes; lane++) numbers[lane] = lane;
    machine.fleet().set_all(x(0), numbers);
    machine.fleet().fill(x(1), kData);
    machine.fleet().fill(x(8), kExit);
  }
  static FleetOptions fleet_options(uint64_t lanes, uint64_t pool_pages) {
    FleetOptions options = fleet_of(lanes);
    options.pool = pool_pages * kPageBytes;
    options.threads = 1;
    return options;
  }
  static LinuxOptions process_options(bool keep_memory) {
    LinuxOptions options;
    options.keep_memory = keep_memory;
    return options;
  }
  LinuxFleet machine;
};

bool pool_is_of_lanes() { return test_device() == "cpu"; }

TEST(LinuxExited, ManyMoreLanesThanThePoolHoldsAtATime) {
  if (!pool_is_of_lanes()) GTEST_SKIP() << "on a GPU all lanes run side by side";
  Processes made(2000, 64 * kPagesOfALane);
  LinuxFleet& machine = made.machine;
  EXPECT_EQ(machine.fleet().pool_used(), 0u) << "lanes that have not begun take no page";
  const RunResult result = machine.run();
  EXPECT_EQ(result.lanes_run, 2000u);
  EXPECT_EQ(result.stops[static_cast<unsigned>(StopReason::exited)], 2000u);
  EXPECT_EQ(result.instructions, 4u * 2000);
  EXPECT_EQ(machine.fleet().pool_used(), 0u);
  for (uint32_t lane = 0; lane < 2000; lane++) {
    EXPECT_EQ(machine.outcome(lane).exit_status, static_cast<int>(lane & 255));
    EXPECT_EQ(machine.fleet().get(x(1), lane), kData + kPageBytes);
    EXPECT_EQ(machine.fleet().get(Field::instructions, lane), 4u);
  }
}

TEST(LinuxExited, MemoryCannotBeReadUnlessItIsKept) {
  for (const bool keep : {false, true}) {
    Processes made(70, 0, kWritesTwoPages, keep);
    LinuxFleet& machine = made.machine;
    machine.fleet().set(x(8), 3, kGetpid);  // lane 3 goes on to the BRK
    const uint64_t before = machine.fleet().pool_used();
    machine.run();
    EXPECT_EQ(machine.outcome(3).stop.reason, StopReason::breakpoint);
    EXPECT_EQ(machine.fleet().read(3, kData, 2), (std::vector<uint8_t>{0, 0}));
    if (keep) {
      EXPECT_EQ(machine.fleet().read(69, kData, 3), (std::vector<uint8_t>{0, 0, 0x41}));
      if (pool_is_of_lanes()) {
        EXPECT_EQ(machine.fleet().pool_used(), before + 70 * kPagesOfALane * kPageBytes);
      }
      continue;
    }
    if (pool_is_of_lanes()) {
      EXPECT_EQ(machine.fleet().pool_used(), before + kPagesOfALane * kPageBytes);
    }
    try {
      machine.fleet().read(69, kData, 8);
      ADD_FAILURE() << "the read was not refused";
    } catch (const StateError& error) {
      EXPECT_STREQ(error.what(),
                   "read: lane 69 has ended and given its memory back; make the fleet with keep_memory, or restore() a "
                   "snapshot of the lane");
    }
    EXPECT_EQ(machine.outcome(69).exit_status, 69);
  }
}

TEST(LinuxExited, AKeptPoolIsSpent) {
  if (!pool_is_of_lanes()) GTEST_SKIP() << "the pool is counted here in pages of one lane";
  Processes made(100, 30, kWritesTwoPages, true);
  LinuxFleet& machine = made.machine;
  const RunResult result = machine.run();
  EXPECT_GT(result.stops[static_cast<unsigned>(StopReason::out_of_memory)], 0u);
  EXPECT_LE(result.stops[static_cast<unsigned>(StopReason::exited)], 30 / kPagesOfALane);
}

TEST(LinuxExited, ALaneWithoutMemoryWaitsForOthersToExit) {
  if (!pool_is_of_lanes()) GTEST_SKIP() << "the pool is counted here in pages of one lane";
  // All lanes begin at once; the first takes its pages, and each of the others what is left.
  Processes made(12, kPagesOfALane + 14);
  LinuxFleet& machine = made.machine;
  machine.run();
  for (uint32_t lane = 0; lane < 12; lane++) EXPECT_EQ(machine.outcome(lane).exit_status, static_cast<int>(lane));
  // If none of the others ends, it keeps its stop, and goes on in a larger pool.
  Processes other(2, kPagesOfALane + 1);
  LinuxFleet& stuck = other.machine;
  stuck.fleet().fill(x(8), kGetpid);
  stuck.run();
  EXPECT_EQ(stuck.outcome(0).stop.reason, StopReason::breakpoint);
  EXPECT_EQ(stuck.outcome(1).stop.reason, StopReason::out_of_memory);
  stuck.fleet().grow_pool(2 * kPagesOfALane * kPageBytes);
  stuck.run();
  EXPECT_EQ(stuck.outcome(1).stop.reason, StopReason::breakpoint);
}

TEST(LinuxExited, RestoredProcessesRunAgain) {
  Processes made(40);
  LinuxFleet& machine = made.machine;
  const Snapshot begin = machine.fleet().snapshot();
  const uint64_t before = machine.fleet().pool_used();
  for (int again = 0; again < 3; again++) {
    EXPECT_EQ(machine.run().stops[static_cast<unsigned>(StopReason::exited)], 40u);
    EXPECT_EQ(machine.run().lanes_run, 0u);
    machine.fleet().restore(begin);
    EXPECT_EQ(machine.fleet().pool_used(), before);
    EXPECT_EQ(machine.fleet().read(39, kData, 2), (std::vector<uint8_t>{0, 1}));
  }
  machine.run();
  machine.fleet().fork(1, std::vector<uint32_t>{2});
  EXPECT_THROW(machine.fleet().read(2, kData, 1), StateError);
  EXPECT_THROW(machine.fleet().resume(std::vector<uint32_t>{2}), StateError);
}

TEST(LinuxExited, ALaneThatComputesForLongKeepsNoOtherWaiting) {
  // More lanes than begin at once. Lane 0 computes through many slices, lane 1 stops at its limit in the middle of one.
  constexpr uint64_t kLanes = 1500, kLong = 6'000'001, kLimit = 5'000'003;
  Processes made(kLanes, 0, {kCountDown, kBranchBackNe, kSvc, kBrk});
  LinuxFleet& machine = made.machine;
  machine.fleet().fill(x(0), 1);
  machine.fleet().set(x(0), 0, kLong);
  machine.fleet().set(x(0), 1, kLong);
  machine.fleet().set(Field::limit, 1, kLimit);
  const RunResult result = machine.run();
  EXPECT_EQ(result.stops[static_cast<unsigned>(StopReason::exited)], kLanes - 1);
  EXPECT_EQ(result.instructions, 2 * kLong + 1 + kLimit + 3 * (kLanes - 2));
  EXPECT_EQ(machine.fleet().get(Field::instructions, 0), 2 * kLong + 1);
  EXPECT_EQ(machine.outcome(1).stop.reason, StopReason::budget);
  EXPECT_EQ(machine.fleet().get(Field::instructions, 1), kLimit);
  machine.fleet().fill(Field::limit, kEndless);
  EXPECT_EQ(machine.run().lanes_run, 1u);
  EXPECT_EQ(machine.outcome(1).stop.reason, StopReason::exited);
}

TEST(LinuxExited, LanesThatNeverEndDoNotKeepOthersFromBeginning) {
  if (!pool_is_of_lanes()) GTEST_SKIP() << "on a GPU all lanes begin at once";
  // As many lanes as begin at once make system calls for ever; the last one stops the run.
  constexpr uint64_t kEndlessLanes = 1024;
  const uint64_t lanes = std::max(kEndlessLanes, uint64_t{128} * find_device("cpu").units) + 1;
  Processes made(lanes, 0, {kSvc, 0x17ffffff});
  LinuxFleet& machine = made.machine;
  machine.fleet().fill(x(8), kGetpid);
  machine.fleet().set(x(8), static_cast<uint32_t>(lanes - 1), kExit);
  LinuxRunOptions options;
  options.progress_seconds = 0.0005;  // also while some lanes have spent their slices and others have not
  options.progress = [&](const LinuxProgress& progress) {
    if (progress.lanes_done == 1) machine.cancel();
  };
  machine.run(options);
  EXPECT_EQ(machine.outcome(static_cast<uint32_t>(lanes - 1)).stop.reason, StopReason::exited);
  EXPECT_EQ(machine.outcome(0).stop.reason, StopReason::cancelled);
}

TEST(LinuxExited, CancelStopsThoseThatHaveNotBegun) {
  Processes made(5000);
  LinuxFleet& machine = made.machine;
  uint64_t calls = 0, left = 0;
  const RunResult cancelled = machine.run([&](const LinuxProgress& progress) {
    left = 5000 - progress.lanes_done;
    if (++calls == 2) machine.cancel();
  });
  EXPECT_EQ(cancelled.lanes_run, 5000u);
  EXPECT_EQ(cancelled.lanes_left, left);
  EXPECT_EQ(cancelled.stops[static_cast<unsigned>(StopReason::cancelled)], left);
  EXPECT_EQ(machine.run().lanes_run, left);
  for (uint32_t lane = 0; lane < 5000; lane++) EXPECT_EQ(machine.outcome(lane).stop.reason, StopReason::exited);
}

}  // namespace
}  // namespace myriarm
