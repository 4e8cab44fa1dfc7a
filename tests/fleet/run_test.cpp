// SPDX-License-Identifier: Apache-2.0
// One run on the host: the orders that each mode gives to the backend, the sums in its result, system calls, batches,
// and errors.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>

#include "fleet_of_fakes.h"

namespace fleet_test {
namespace {

constexpr auto kBudget = static_cast<size_t>(StopReason::budget);
constexpr auto kHalt = static_cast<size_t>(StopReason::halt);
constexpr auto kSyscall = static_cast<size_t>(StopReason::syscall);
constexpr auto kExited = static_cast<size_t>(StopReason::exited);
constexpr auto kBreakpoint = static_cast<size_t>(StopReason::breakpoint);

TEST(RunOptions, ThatDoNotGoTogetherAreRefused) {
  Fleet fleet = fleet_of(1);
  auto refused = [&](RunOptions options) {
    expect_error<ArgumentError>([&] { fleet.run(options); });
    expect_error<ArgumentError>([&] { fleet.start(options); });
  };
  refused({.instructions = 0});
  refused({.mode = Mode::mega});
  refused({.mode = Mode::run, .instructions = 5, .max_batches = 3});
  for (Mode mode : {Mode::continuous, Mode::self_dispatch}) {
    refused({.mode = mode, .instructions = 0});
    refused({.mode = mode, .instructions_per_batch = 0});
    refused({.mode = mode, .max_batches = 0});
  }
  for (Mode mode : {Mode::run, Mode::mega, Mode::self_dispatch}) {
    refused({.mode = mode, .instructions = 5, .on_batch = [](Fleet&, const BatchReport&) { return true; }});
  }
  refused({.mode = static_cast<Mode>(4)});
  for (double timeout : {-1.0, -1e-9, std::nan(""), -std::numeric_limits<double>::infinity()}) {
    refused({.timeout = timeout});
  }
  EXPECT_TRUE(FakeBackend::last().orders.empty());
  FakeBackend::last().script[3] = halt();
  EXPECT_EQ(fleet.run({.timeout = std::numeric_limits<double>::infinity()}).instructions, 3u);
}

TEST(RunModes, GiveTheBackendTheirOrders) {
  struct Row {
    RunOptions options;
    std::vector<RunOrder> orders;
    uint64_t batches;
  };
  const Row rows[] = {
      {{.instructions = 100}, {{true, true, 100, kEndless, 1}}, 1},
      {{.mode = Mode::mega, .instructions = 100, .go_on = false}, {{true, false, 100, kEndless, 1}}, 1},
      {{.mode = Mode::self_dispatch, .instructions = 100, .instructions_per_batch = 40},
       {{true, true, 100, 40, kEndless}},
       3},
      {{.mode = Mode::self_dispatch, .instructions = 100, .instructions_per_batch = 40, .max_batches = 2},
       {{true, true, 100, 40, 2}},
       2},
      {{.mode = Mode::continuous, .instructions = 100, .instructions_per_batch = 40},
       {{true, true, 100, 40, 1}, {false, true, 100, 40, 1}, {false, true, 100, 40, 1}},
       3},
      {{.mode = Mode::continuous, .instructions_per_batch = 40, .max_batches = 2},
       {{true, true, kEndless, 40, 1}, {false, true, kEndless, 40, 1}},
       2},
  };
  for (const Row& row : rows) {
    Fleet fleet = fleet_of(3);
    const RunResult result = fleet.run(row.options);
    const auto& orders = FakeBackend::last().orders;
    ASSERT_EQ(orders.size(), row.orders.size());
    for (size_t i = 0; i < orders.size(); i++) {
      EXPECT_EQ(orders[i].first, row.orders[i].first);
      EXPECT_EQ(orders[i].go_on, row.orders[i].go_on);
      EXPECT_EQ(orders[i].budget, row.orders[i].budget);
      EXPECT_EQ(orders[i].batch, row.orders[i].batch);
      EXPECT_EQ(orders[i].batches, row.orders[i].batches);
    }
    EXPECT_EQ(result.batches, row.batches);
    EXPECT_EQ(result.instructions, 3 * (row.batches == 2 ? 80u : 100u));
    EXPECT_EQ(result.stops[kBudget], 3u) << "each lane once";
    EXPECT_EQ(result.stopped, 3u);
    EXPECT_EQ(result.lanes_left, 3u) << "the limit of the lane is not reached";
    EXPECT_EQ(result.signal, Signal::checkpoint);
    EXPECT_FALSE(result.timed_out);
  }
}

TEST(RunResult, CountsOnlyLanesThatRan) {
  Fleet fleet = fleet_of(6);
  FakeBackend::last().script[10] = halt();
  set_stop(fleet, 0, StopReason::fault);
  set_stop(fleet, 1, StopReason::budget);
  set_stop(fleet, 2, StopReason::cancelled);
  fleet.set(Field::limit, 3, 4);
  RunResult result = fleet.run({.go_on = false});
  EXPECT_EQ(result.instructions, 24u);
  EXPECT_EQ(result.stopped, 6u);
  EXPECT_EQ(result.lanes_left, 2u);  // 1 and 2; lane 3 is at its limit
  EXPECT_EQ(result.lanes_run, 3u);   // 3 to 5
  EXPECT_EQ(sum(result.stops), 3u);
  EXPECT_EQ(result.stops[kHalt], 2u);
  EXPECT_EQ(result.stops[kBudget], 1u);
  EXPECT_EQ(result.signal, Signal::halt);
  result = fleet.run();
  EXPECT_EQ(result.instructions, 20u);
  EXPECT_EQ(result.stops[kHalt], 2u);
  EXPECT_EQ(result.stops[kBudget], 1u) << "lane 3 was to run, and could not";
  EXPECT_EQ(result.lanes_left, 0u);
  EXPECT_EQ(result.lanes_run, 3u);  // 1 to 3
  EXPECT_EQ(fleet.run().signal, Signal::checkpoint);
  EXPECT_EQ(fleet.run({.go_on = false}).lanes_run, 0u) << "every lane has a stop";
}

TEST(RunResult, SignalIsTheMostUrgent) {
  const std::pair<StopReason, Signal> rising[] = {{StopReason::budget, Signal::checkpoint},
                                                  {StopReason::exited, Signal::halt},
                                                  {StopReason::halt, Signal::halt},
                                                  {StopReason::cancelled, Signal::cancelled},
                                                  {StopReason::breakpoint, Signal::breakpoint},
                                                  {StopReason::syscall, Signal::syscall},
                                                  {StopReason::out_of_memory, Signal::fault},
                                                  {StopReason::undefined, Signal::fault},
                                                  {StopReason::fault, Signal::fault}};
  for (const auto& [reason, signal] : rising) {
    Fleet fleet = fleet_of(2);
    if (reason == StopReason::budget) fleet.set(Field::limit, 1, 5);
    else FakeBackend::last().script[5] = {static_cast<StopCode>(reason), FaultCode::none, 0, 0, 0};
    fleet.set(Field::limit, 0, 3);  // the other lane stops at its limit
    EXPECT_EQ(fleet.run().signal, signal) << name(reason);
    EXPECT_EQ(signal_of(reason), signal);
  }
}

TEST(OnBatch, SeesEachBatchAndMayEndTheRun) {
  Fleet fleet = fleet_of(2);
  FakeBackend::last().script[95] = halt();
  fleet.set(Field::limit, 1, 35);
  std::vector<BatchReport> seen;
  RunOptions options{.mode = Mode::continuous, .instructions_per_batch = 30};
  options.on_batch = [&](Fleet& given, const BatchReport& batch) {
    EXPECT_EQ(&given, &fleet);
    seen.push_back(batch);
    return true;
  };
  RunResult result = fleet.run(options);
  ASSERT_EQ(seen.size(), 4u);
  const uint64_t instructions[] = {60, 35, 30, 5}, left[] = {2, 1, 1, 0};
  for (size_t i = 0; i < 4; i++) {
    EXPECT_EQ(seen[i].batch, i);
    EXPECT_EQ(seen[i].instructions, instructions[i]);
    EXPECT_EQ(seen[i].lanes_left, left[i]);
    EXPECT_EQ(seen[i].signal, i < 3 ? Signal::checkpoint : Signal::halt);
  }
  EXPECT_EQ(seen[0].stops[kBudget], 2u);
  EXPECT_EQ(seen[3].stops[kHalt], 1u);
  EXPECT_EQ(result.stops[kBudget], 1u);
  EXPECT_EQ(result.stops[kHalt], 1u);

  Fleet other = fleet_of(2);
  options.on_batch = [](Fleet&, const BatchReport& batch) { return batch.batch < 1; };
  result = other.run(options);
  EXPECT_EQ(result.batches, 2u);
  EXPECT_EQ(result.lanes_left, 2u);
  EXPECT_EQ(result.signal, Signal::checkpoint);
  // Without lanes to run, on_batch is not called.
  set_stop(other, 0, StopReason::fault);
  set_stop(other, 1, StopReason::fault);
  options.on_batch = [](Fleet&, const BatchReport&) -> bool { throw std::logic_error("no batch"); };
  EXPECT_EQ(other.run(options).batches, 0u);
}

TEST(OnBatch, LanesThatItResumesRun) {
  Fleet fleet = fleet_of(2);
  FakeBackend::last().script[10] = {StopCode::breakpoint, FaultCode::none, 0, 0, 0};
  RunOptions options{.mode = Mode::continuous, .instructions_per_batch = 30};
  int calls = 0;
  options.on_batch = [&](Fleet& given, const BatchReport&) {
    if (calls++ == 0) {
      FakeBackend::last().script = {{20, halt()}};
      const uint32_t lane = 1;
      given.resume(std::span(&lane, 1));
    }
    return true;
  };
  const RunResult result = fleet.run(options);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(result.instructions, 30u);
  EXPECT_EQ(result.stops[kBreakpoint], 1u);
  EXPECT_EQ(result.stops[kHalt], 1u);
}

TEST(OnSyscall, GetsAllLanesInOneCallAndAnswersThem) {
  for (Mode mode : {Mode::run, Mode::continuous, Mode::mega, Mode::self_dispatch}) {
    Fleet fleet = fleet_of(40);
    FakeBackend::last().script = {{10, syscall(7)}, {20, syscall(9)}, {35, halt()}};
    std::vector<uint64_t> lanes(40);
    std::iota(lanes.begin(), lanes.end(), 0u);
    for (unsigned r = 1; r <= 8; r++) fleet.fill(x(r), 100 + r);
    fleet.set_all(x(5), lanes);
    fleet.set_all(x(8), lanes);
    int calls = 0;
    RunOptions options{.mode = mode, .instructions = 1000, .instructions_per_batch = 12};
    options.on_syscall = [&](Fleet& given, const SyscallBatch& batch) {
      EXPECT_EQ(&given, &fleet);
      ASSERT_EQ(batch.lanes.size(), calls == 0 ? 40u : 38u);
      for (size_t i = 0; i < batch.lanes.size(); i++) {
        const uint32_t lane = batch.lanes[i];
        EXPECT_EQ(batch.numbers[i], lane);
        EXPECT_EQ(batch.immediates[i], calls == 0 ? 7u : 9u);
        const uint64_t x0 = calls == 0 ? 10u : 1000u + lane + 10u;
        EXPECT_EQ(batch.arguments[6 * i], x0);
        EXPECT_EQ(batch.results[i], x0);
        for (unsigned a = 1; a < 5; a++) EXPECT_EQ(batch.arguments[6 * i + a], 100 + a);
        EXPECT_EQ(batch.arguments[6 * i + 5], lane);
        EXPECT_EQ(batch.actions[i], SyscallAction::resume);
        batch.results[i] = 1000 + lane;
        if (calls == 0 && lane == 3) batch.actions[i] = SyscallAction::stop;
        if (calls == 0 && lane == 4) batch.actions[i] = SyscallAction::exit;
      }
      calls++;
    };
    const RunResult result = fleet.run(options);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(result.instructions, 38 * 35u + 20);
    EXPECT_EQ(result.stops[kHalt], 38u);
    EXPECT_EQ(result.stops[kSyscall], 1u) << "served ones do not count";
    EXPECT_EQ(result.stops[kExited], 1u);
    EXPECT_EQ(result.signal, Signal::syscall);
    EXPECT_EQ(fleet.get(x(0), 3), 1003u);
    EXPECT_EQ(fleet.stops()[3].reason, StopReason::syscall);
    EXPECT_EQ(fleet.stops()[4].reason, StopReason::exited);
    EXPECT_EQ(fleet.stops()[4].detail, 1004u);
    EXPECT_EQ(fleet.get(x(0), 5), 1005u + 15);
    // The run does not serve a system call from before it.
    options.on_syscall = [](Fleet&, const SyscallBatch&) { FAIL() << "lane 3 was left at its stop"; };
    EXPECT_EQ(fleet.run(options).instructions, 0u);
    EXPECT_EQ(fleet.stops()[3].reason, StopReason::syscall);
  }
}

TEST(OnSyscall, BudgetsAreExactAcrossServedCalls) {
  for (Mode mode : {Mode::run, Mode::continuous, Mode::mega, Mode::self_dispatch}) {
    Fleet fleet = fleet_of(3);
    for (u64 at = 5; at <= 100; at += 5) FakeBackend::last().script[at] = syscall(0);
    RunOptions options{.mode = mode, .instructions = 48, .instructions_per_batch = 7};
    uint64_t served = 0;
    options.on_syscall = [&](Fleet&, const SyscallBatch& batch) { served += batch.lanes.size(); };
    const RunResult result = fleet.run(options);
    EXPECT_EQ(result.instructions, 3 * 48u);
    EXPECT_EQ(served, 3 * 9u);
    EXPECT_EQ(result.stops[kBudget], 3u);
    EXPECT_EQ(result.stops[kSyscall], 0u);
    EXPECT_EQ(result.lanes_left, 3u);
  }
}

TEST(OnSyscall, BatchesAreCountedOverTheWholeRun) {
  for (Mode mode : {Mode::continuous, Mode::self_dispatch}) {
    Fleet fleet = fleet_of(2);
    for (u64 at = 5; at <= 100; at += 5) FakeBackend::last().script[at] = syscall(0);
    RunOptions options{.mode = mode, .instructions_per_batch = 7, .max_batches = 4};
    options.on_syscall = [](Fleet&, const SyscallBatch&) {};
    const RunResult result = fleet.run(options);
    EXPECT_EQ(result.batches, 4u);
    EXPECT_EQ(result.instructions, 2 * 20u);
    EXPECT_EQ(result.lanes_left, 2u);
    EXPECT_EQ(result.stops[kBudget], 2u) << "served, and without a batch to go on in";
    EXPECT_EQ(fleet.stops()[1].reason, StopReason::budget);
    EXPECT_EQ(fleet.run(options).instructions, 2 * 20u);
  }
}

TEST(Handlers, ThatThrowEndTheRunAndLoseNothing) {
  Fleet fleet = fleet_of(3);
  FakeBackend::last().script = {{5, syscall(1)}, {9, halt()}};
  fleet.set(Field::limit, 2, 2);
  RunOptions options;
  options.on_syscall = [](Fleet& given, const SyscallBatch& batch) {
    batch.results[0] = 77;
    given.set(x(1), 0, 5);
    throw std::runtime_error("mine");
  };
  for (bool started : {false, true}) {
    fleet.fill(Field::instructions, 0);
    fleet.fill(x(0), 0);
    fleet.resume_all();
    try {
      if (started) {
        fleet.start(options);
        fleet.wait();
      } else {
        fleet.run(options);
      }
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "mine");
    }
    EXPECT_FALSE(fleet.is_running());
    EXPECT_EQ(fleet.poll().instructions, 12u);
    EXPECT_EQ(fleet.get(x(0), 0), 5u) << "no result is stored";
    EXPECT_EQ(fleet.get(x(1), 0), 5u);
    EXPECT_EQ(fleet.stops()[0].reason, StopReason::syscall);
    EXPECT_EQ(fleet.stops()[1].detail, 1u);
    EXPECT_EQ(fleet.stops()[2].reason, StopReason::budget);
  }
  fleet.resume_all();
  EXPECT_EQ(fleet.run().stops[kHalt], 2u);
  // An action that does not exist is a mistake of the handler.
  fleet.fill(Field::instructions, 0);
  fleet.resume_all();
  options.on_syscall = [](Fleet&, const SyscallBatch& batch) { batch.actions[1] = static_cast<SyscallAction>(9); };
  expect_error<ArgumentError>([&] { fleet.run(options); });
  EXPECT_EQ(fleet.stops()[1].reason, StopReason::syscall);

  RunOptions batches{.mode = Mode::continuous, .instructions_per_batch = 3};
  batches.on_batch = [](Fleet& given, const BatchReport&) -> bool {
    given.resume_all();
    throw 5;
  };
  fleet.fill(Field::instructions, 0);
  fleet.resume_all();
  EXPECT_THROW(fleet.run(batches), int);
  for (const Stop& stop : fleet.stops()) EXPECT_EQ(stop.reason, StopReason::budget) << "to go on in the next run";
}

TEST(Handlers, UseTheFleetButDoNotRunIt) {
  Fleet fleet = fleet_of(2);
  FakeBackend::last().script[5] = syscall(0);
  RunOptions options;
  int calls = 0;
  options.on_syscall = [&](Fleet& given, const SyscallBatch& batch) {
    calls++;
    expect_error<StateError>([&] { given.run(); });
    expect_error<StateError>([&] { given.start(); });
    expect_error<StateError>([&] { given.wait(); });
    expect_error<StateError>([&] { given.close(); });
    expect_error<StateError>([&] { given.set(x(0), 0, 1), given.commit(); });
    EXPECT_TRUE(given.is_running());
    EXPECT_EQ(given.poll().instructions, 10u);
    EXPECT_EQ(given.stops()[1].reason, StopReason::syscall);
    const Snapshot before = given.snapshot();
    given.fill(x(7), 3);
    given.restore(before);
    for (SyscallAction& action : batch.actions) action = SyscallAction::exit;
    // Only the thread of the handler may use the fleet.
    std::thread([&] { expect_error<StateError>([&] { (void)given.get(x(0), 0); }); }).join();
    // The handler may use another fleet.
    Fleet other = fleet_of(1);
    FakeBackend::last().script[2] = halt();
    EXPECT_EQ(other.run().instructions, 2u);
  };
  EXPECT_EQ(fleet.run(options).stops[kExited], 2u);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(fleet.get(x(7), 0), 0u);
}

TEST(HandlersDeathTest, ThatDestroyTheirFleetEndTheProcess) {
  auto destroy = [] {
    std::optional<Fleet> fleet(fleet_of(1));
    FakeBackend::last().script[5] = syscall(0);
    RunOptions options;
    options.on_syscall = [&](Fleet&, const SyscallBatch&) { fleet.reset(); };
    fleet->run(options);
  };
  EXPECT_DEATH(destroy(), "a handler destroyed the fleet that it was called from");
}

TEST(Handlers, CountsThatTheyChangeDoNotDisturbPolls) {
  Fleet fleet = fleet_of(2);
  RunOptions options{.mode = Mode::continuous, .instructions_per_batch = 10, .max_batches = 3};
  FakeBackend& backend = FakeBackend::last();
  uint64_t expected = 0;
  backend.on_run = [&](const RunOrder&) { EXPECT_EQ(fleet.poll().instructions, expected); };
  options.on_batch = [&](Fleet& given, const BatchReport& batch) {
    expected += batch.instructions;
    given.fill(Field::instructions, batch.batch == 0 ? 5000 : 3);
    EXPECT_EQ(given.poll().instructions, expected);
    EXPECT_EQ(given.poll().lanes_running, 2u);
    return true;
  };
  EXPECT_EQ(fleet.run(options).instructions, 60u);
  EXPECT_EQ(fleet.poll().instructions, 60u);
}

TEST(Programs, HaveTheirLanesInTeams) {
  const Program low = program_at(0x4000), high = program_at(0x9000);
  auto fleet_with = [](std::vector<Placement> programs) {
    FleetOptions options;
    options.device = "cpu";
    options.memory = 0x10000;
    options.lanes = 0;
    return Fleet(programs, options);
  };
  Fleet fleet = fleet_with({{high, 64}, {low, 5}});
  EXPECT_EQ(fleet.lanes(), 69u);
  EXPECT_EQ(fleet.memory_begin(), 0x4000u);
  const Image& image = FakeBackend::last().image;
  ASSERT_EQ(image.programs.size(), 2u);
  EXPECT_EQ(image.window_begin, 0x4000u);
  EXPECT_EQ(image.programs[0].lanes, 64u);
  EXPECT_EQ(image.programs[0].entry, 0x9000u);
  EXPECT_EQ(image.programs[0].pages[0].page, 5u);
  EXPECT_EQ(image.programs[1].pages[0].page, 0u);
  expect_error<ArgumentError>([&] { fleet_with({}); });
  expect_error<ArgumentError>([&] { fleet_with({{low, 31}, {high, 32}}); });
  // The fake's teams have 4 lanes: the device decides, and not a number for all.
  EXPECT_EQ(fleet_with({{low, 36}, {high, 3}}).team_lanes(), 4u);
  expect_error<ArgumentError>([&] { fleet_with({{low, 38}, {high, 3}}); });
  expect_error<ArgumentError>([&] { fleet_with({{low, 32}, {high, 0}}); });
  expect_error<ArgumentError>([&] { fleet_with({{low, 32}, {high, ~uint64_t{0} - 31}}); });
  expect_error<ArgumentError>([&] { fleet_with({{low, 1 << 24}, {high, 32}}); });
  expect_error<ArgumentError>([&] { fleet_with({{low, 32}, {program_at(0x13100), 32}}); });
}

TEST(Programs, PagesOfTwoSegmentsAreThoseOfBoth) {
  // Code, then zeros that begin in its page, then data that begins in the last page of the zeros.
  Program program;
  program.segments = {{0x1000, 0x100, kRead | kExecute, std::vector<uint8_t>(0x100, 1)},
                      {0x1100, 0x3000, kRead, {}},
                      {0x4100, 0x100, kRead | kWrite, std::vector<uint8_t>(0x100, 2)}};
  FleetOptions options;
  options.device = "cpu";
  options.memory = 0x10000;
  Fleet fleet(program, options);
  const std::vector<ImagePage>& pages = FakeBackend::last().image.programs[0].pages;
  ASSERT_EQ(pages.size(), 3u);
  const std::tuple<u64, u64, u32> wanted[] = {{0, 1, kRead | kExecute}, {1, 2, kRead}, {3, 1, kRead | kWrite}};
  for (size_t i = 0; i < 3; i++) {
    EXPECT_EQ(std::tuple(pages[i].page, pages[i].count, pages[i].permissions), wanted[i]) << i;
  }
  EXPECT_EQ(pages[0].bytes[0xff], 1);
  EXPECT_EQ(pages[0].bytes[0x100], 0);
  EXPECT_TRUE(pages[1].bytes.empty());
  EXPECT_EQ(pages[2].bytes[0xff], 0);
  EXPECT_EQ(pages[2].bytes[0x100], 2);
}

TEST(ReadOnly, NoPageIsWritableForTheGuest) {
  Fleet fleet = fleet_of(2, MemoryPolicy::read_only);
  EXPECT_EQ(fleet.memory_policy(), MemoryPolicy::read_only);
  for (const ImagePage& page : FakeBackend::last().image.programs[0].pages) {
    EXPECT_EQ(page.permissions & kWrite, 0u);
    EXPECT_NE(page.permissions & kRead, 0u);
  }
  const uint32_t lane = 1;
  fleet.map(std::span(&lane, 1), 0x1000, 0x1000, kRead | kWrite);
  fleet.protect(std::span(&lane, 1), 0x1000, 0x1000, kRead | kWrite | kExecute);
  EXPECT_EQ(FakeBackend::last().mapped, (std::vector<u32>{kRead, kRead | kExecute}));
  expect_error<ArgumentError>([] { fleet_of(1, static_cast<MemoryPolicy>(5)); });
}

}  // namespace
}  // namespace fleet_test
