// SPDX-License-Identifier: Apache-2.0
// Runs in a thread of the library, and what other threads may call during them: start, poll, wait, cancel, time-outs,
// close; and a device that fails.
#include <cmath>
#include <future>

#include "fleet_of_fakes.h"

namespace fleet_test {
namespace {

constexpr auto kCancelled = static_cast<size_t>(StopReason::cancelled);
constexpr auto kHalt = static_cast<size_t>(StopReason::halt);

/// A fleet whose lanes run until they are cancelled.
Fleet endless_fleet(uint64_t lanes, MemoryPolicy policy = MemoryPolicy::private_copy) {
  Fleet fleet = fleet_of(lanes, policy);
  FakeBackend::last().may_hang = true;
  return fleet;
}

/// Returns when the fleet that was made last is in its run.
void await_run() { FakeBackend::last().retire(1); }

TEST(Start, RunsWhileTheCallerGoesOn) {
  Fleet fleet = endless_fleet(1);
  EXPECT_FALSE(fleet.is_running());
  Poll poll = fleet.poll();
  EXPECT_FALSE(poll.running);
  EXPECT_EQ(poll.instructions, 0u);
  EXPECT_EQ(poll.lanes_running, 1u);
  EXPECT_EQ(poll.seconds, 0);
  EXPECT_EQ(poll.signal, Signal::running);
  expect_error<StateError>([&] { fleet.wait(); });

  fleet.set(Field::instructions, 0, 12345);
  fleet.start();
  EXPECT_TRUE(fleet.is_running());
  uint64_t retired = 0;
  for (uint64_t more : {1000u, 1u, 70u}) {
    FakeBackend::last().retire(more);
    retired += more;
    poll = fleet.poll();
    EXPECT_TRUE(poll.running);
    EXPECT_EQ(poll.signal, Signal::running);
    EXPECT_EQ(poll.lanes_running, 1u);
    EXPECT_EQ(poll.instructions, retired);
  }
  std::vector<uint64_t> counts(1);
  std::vector<Signal> signals(1, Signal::fault);
  fleet.poll_lanes(counts, signals);
  EXPECT_EQ(counts[0], 12345 + retired);
  EXPECT_EQ(signals[0], Signal::running);
  fleet.cancel();
  const std::optional<RunResult> result = fleet.wait();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->stops[kCancelled], 1u);
  EXPECT_EQ(result->signal, Signal::cancelled);
  EXPECT_EQ(result->lanes_left, 1u);
  EXPECT_FALSE(result->timed_out);
  poll = fleet.poll();
  EXPECT_FALSE(poll.running);
  EXPECT_EQ(result->instructions, retired);
  EXPECT_EQ(poll.instructions, retired);
  EXPECT_EQ(fleet.get(Field::instructions, 0), 12345 + retired);
  EXPECT_EQ(poll.lanes_running, 0u);
  EXPECT_EQ(poll.signal, Signal::cancelled);
  fleet.poll_lanes({}, signals);
  EXPECT_EQ(signals[0], Signal::cancelled);
  expect_error<StateError>([&] { fleet.wait(); });
  expect_error<ArgumentError>([&] { fleet.wait(std::nan("")); });
  std::vector<uint64_t> two(2);
  expect_error<ArgumentError>([&] { fleet.poll_lanes(two, {}); });
}

TEST(Start, SecondsAreThoseOfTheRun) {
  FakeClock::advance(3);
  Fleet fleet = endless_fleet(1);
  FakeClock::advance(3);
  fleet.start();
  EXPECT_EQ(fleet.poll().seconds, 0);
  FakeClock::advance(0.5);
  EXPECT_EQ(fleet.poll().seconds, 0.5);
  FakeClock::advance(1.25);
  fleet.cancel();
  EXPECT_EQ(fleet.wait()->seconds, 1.75);
  FakeClock::advance(3);
  EXPECT_EQ(fleet.poll().seconds, 1.75) << "the run has ended";
  FakeBackend::last().on_run = [](const RunOrder&) { FakeClock::advance(0.25); };
  FakeBackend::last().script[5] = halt();
  EXPECT_EQ(fleet.run().seconds, 0.25);
  EXPECT_EQ(fleet.poll().seconds, 0.25);
}

TEST(Start, AWaitEndsWithItsTime) {
  Fleet fleet = endless_fleet(1);
  fleet.start();
  EXPECT_FALSE(fleet.wait(0).has_value());
  std::thread waiter([&] { EXPECT_FALSE(fleet.wait(2).has_value()); });
  FakeClock::await_waiting(1);
  FakeClock::advance(1.999);
  EXPECT_EQ(FakeClock::waiting(), 1u);
  FakeClock::advance(0.001);
  waiter.join();
  EXPECT_TRUE(fleet.is_running());
  // The end of the run also ends a wait: with a limit, without one, and with a limit that is too large for the clock.
  for (double seconds : {2.0, -1.0, 1e300}) {
    std::thread last([&] { EXPECT_EQ(fleet.wait(seconds)->stops[kCancelled], 1u); });
    FakeClock::await_waiting(1);
    fleet.cancel();
    last.join();
    if (seconds != 1e300) fleet.start();
  }
}

TEST(Start, EverythingElseWaitsForTheEnd) {
  Fleet fleet = endless_fleet(40, MemoryPolicy::transactional);
  Snapshot snapshot = fleet.snapshot();
  const uint32_t lane = 0;
  const std::span<const uint32_t> lanes(&lane, 1);
  std::vector<uint64_t> values(40);
  std::vector<Stop> stops(1);
  std::vector<uint8_t> pages(1);
  fleet.start();
  auto refused = [](auto call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const StateError& error) {
      EXPECT_STREQ(error.what(), "the fleet is running; call wait() or cancel() first");
    }
  };
  refused([&] { fleet.run(); });
  refused([&] { fleet.start(); });
  refused([&] { fleet.stops(); });
  refused([&] { fleet.resume(lanes); });
  refused([&] { fleet.resume_all(); });
  refused([&] { fleet.set_stops(lanes, stops); });
  refused([&] { (void)fleet.get(x(0), 0); });
  refused([&] { fleet.set(x(0), 0, 1); });
  refused([&] { fleet.get_all(x(0), values); });
  refused([&] { fleet.set_all(x(0), values); });
  refused([&] { fleet.fill(x(0), 1); });
  refused([&] { (void)fleet.read(0, 0, 4); });
  refused([&] { fleet.write(0, 0, std::vector<uint8_t>(4)); });
  refused([&] { fleet.map(lanes, 0, kPageBytes, kRead); });
  refused([&] { fleet.unmap(lanes, 0, kPageBytes); });
  refused([&] { fleet.protect(lanes, 0, kPageBytes, kRead); });
  refused([&] { fleet.permissions(lanes, 0, kPageBytes, pages); });
  refused([&] { (void)fleet.pool_used(); });
  refused([&] { (void)fleet.pool_size(); });
  refused([&] { fleet.grow_pool(1); });
  refused([&] { (void)fleet.snapshot(); });
  refused([&] { fleet.restore(snapshot); });
  refused([&] { fleet.restore(snapshot, lanes); });
  refused([&] { fleet.fork(0, lanes); });
  refused([&] { fleet.commit(); });
  refused([&] { fleet.rollback(); });
  refused([&] { fleet.view(x(0)); });
  refused([&] { fleet.memory_view(); });
  EXPECT_EQ(fleet.lanes(), 40u) << "poll_lanes() needs it";
  fleet.cancel();
  fleet.wait();
  EXPECT_EQ(fleet.stops()[0].reason, StopReason::cancelled);
}

TEST(Start, TheResultIsFetchedOnce) {
  Fleet fleet = fleet_of(2);
  FakeBackend::last().script[5] = halt();
  fleet.start();
  until([&] { return !fleet.is_running(); });
  EXPECT_EQ(fleet.get(x(0), 0), 5u) << "the run has ended, and the fleet can be used";
  expect_error<StateError>([&] { fleet.start(); });
  expect_error<StateError>([&] { fleet.run(); });
  EXPECT_EQ(fleet.wait(0)->stops[kHalt], 2u);
  expect_error<StateError>([&] { fleet.wait(0); });
  EXPECT_EQ(fleet.run().instructions, 0u);
}

TEST(Start, AFleetMayBeMovedMeanwhile) {
  Fleet first = fleet_of(2);
  std::promise<void> moved;
  FakeBackend::last().script = {{5, syscall(0)}, {8, halt()}};
  FakeBackend::last().on_run = [&](const RunOrder& order) {
    if (order.first) moved.get_future().wait();
  };
  Fleet* seen = nullptr;
  RunOptions options;
  options.on_syscall = [&](Fleet& given, const SyscallBatch&) { seen = &given; };
  first.start(options);
  Fleet second = std::move(first);
  moved.set_value();
  EXPECT_EQ(second.wait()->stops[kHalt], 2u);
  EXPECT_EQ(seen, &second);
  expect_error<StateError>([&] { first.run(); });
  expect_error<StateError>([&] { (void)first.lanes(); });
  expect_error<StateError>([&] { first.cancel(); });
}

TEST(Start, DestroyingOrReplacingAFleetEndsItsRun) {
  {
    Fleet fleet = endless_fleet(2);
    fleet.start();
    await_run();
  }
  Fleet fleet = endless_fleet(2);
  fleet.start();
  fleet = fleet_of(3);
  EXPECT_EQ(fleet.lanes(), 3u);
  EXPECT_FALSE(fleet.is_running());
}

TEST(Cancel, BeforeARunEndsItAndNoOther) {
  for (Mode mode : {Mode::run, Mode::continuous, Mode::self_dispatch}) {
    Fleet fleet = endless_fleet(2);
    RunOptions options{.mode = mode};
    int batches = 0;
    if (mode == Mode::continuous) {
      options.on_batch = [&](Fleet&, const BatchReport&) { return ++batches > 0; };
    }
    fleet.cancel();
    fleet.cancel();
    RunResult result = fleet.run(options);
    EXPECT_EQ(result.instructions, 0u);
    EXPECT_EQ(result.batches, 0u);
    EXPECT_EQ(batches, 0) << "nothing ran";
    EXPECT_EQ(result.stops[kCancelled], 2u);
    EXPECT_EQ(result.signal, Signal::cancelled);
    FakeBackend::last().script[5] = halt();
    EXPECT_EQ(fleet.run(options).stops[kHalt], 2u);
  }
}

TEST(Cancel, BetweenBatchesStopsTheLanesThatAreLeft) {
  Fleet fleet = fleet_of(2);
  FakeBackend::last().script[95] = halt();
  RunOptions options{.mode = Mode::continuous, .instructions_per_batch = 10};
  int batches = 0;
  options.on_batch = [&](Fleet& given, const BatchReport&) {
    if (++batches == 3) given.cancel();
    return true;
  };
  RunResult result = fleet.run(options);
  EXPECT_EQ(batches, 3);
  EXPECT_EQ(result.batches, 3u);
  EXPECT_EQ(result.instructions, 60u);
  EXPECT_EQ(result.stops[kCancelled], 2u);
  EXPECT_EQ(sum(result.stops), 2u);
  result = fleet.run(options);
  EXPECT_EQ(result.instructions, 130u);
  EXPECT_EQ(result.stops[kHalt], 2u);
}

TEST(Cancel, SystemCallsOfTheLastBatchAreServed) {
  Fleet fleet = fleet_of(2);
  FakeBackend::last().script = {{5, syscall(0)}, {9, halt()}};
  int calls = 0;
  RunOptions options;
  options.on_syscall = [&](Fleet& given, const SyscallBatch& batch) {
    calls++;
    batch.results[0] = batch.results[1] = 100;
    given.cancel();
  };
  RunResult result = fleet.run(options);
  EXPECT_EQ(result.stops[kCancelled], 2u);
  EXPECT_EQ(fleet.get(x(0), 1), 100u);
  result = fleet.run(options);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(result.instructions, 8u);
  EXPECT_EQ(result.stops[kHalt], 2u);
}

TEST(Cancel, ThatComesTooLateIsForgotten) {
  Fleet fleet = fleet_of(1);
  FakeBackend::last().script[5] = halt();
  RunOptions options{.mode = Mode::continuous};
  options.on_batch = [](Fleet& given, const BatchReport&) {
    given.cancel();  // when the only lane has its stop
    return true;
  };
  EXPECT_EQ(fleet.run(options).stops[kHalt], 1u);
  fleet.set(Field::instructions, 0, 0);
  fleet.resume_all();
  EXPECT_EQ(fleet.run().stops[kHalt], 1u);
}

TEST(Timeout, EndsARunAndIsNoCancel) {
  for (Mode mode : {Mode::run, Mode::mega, Mode::continuous, Mode::self_dispatch}) {
    Fleet fleet = endless_fleet(3);
    set_stop(fleet, 2, StopReason::breakpoint);
    RunOptions options{.mode = mode, .timeout = 0.02};
    if (mode == Mode::mega) options.instructions = kEndless - 1;
    if (mode != Mode::run && mode != Mode::mega) options.instructions_per_batch = kEndless;
    FakeBackend::last().on_run = [](const RunOrder&) { FakeClock::advance(0.02); };
    RunResult result = fleet.run(options);
    for (bool started : {false, true}) {
      EXPECT_TRUE(result.timed_out);
      EXPECT_EQ(result.signal, Signal::checkpoint);
      EXPECT_EQ(result.stops[kCancelled], 2u);
      EXPECT_EQ(result.lanes_left, 2u);
      EXPECT_EQ(result.seconds, 0.02);
      if (started) break;
      fleet.start(options);
      result = fleet.wait().value();
    }
    // The time-out does not affect the next run.
    options.timeout = 0;
    fleet.start(options);
    await_run();
    fleet.cancel();
    result = fleet.wait().value();
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.signal, Signal::cancelled);
    FakeBackend::last().script[1u << 30] = halt();
    options.timeout = 1e300;
    result = fleet.run(options);
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.stops[kHalt], 2u);
  }
}

TEST(Timeout, ThatIsNotReachedChangesNothing) {
  Fleet fleet = fleet_of(2);
  FakeBackend::last().script[5] = halt();
  FakeBackend::last().on_run = [](const RunOrder&) {
    FakeClock::await_waiting(1);
    FakeClock::advance(999.999);
  };
  const RunResult result = fleet.run({.timeout = 1000});
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.signal, Signal::halt);
  EXPECT_EQ(FakeBackend::last().cancels, 0u);
}

TEST(Timeout, ThatALaneOutlivesByItsOwnEndIsNone) {
  Fleet fleet = fleet_of(1);
  FakeBackend& backend = FakeBackend::last();
  backend.script[5] = halt();
  RunOptions options{.mode = Mode::continuous, .timeout = 1};
  options.on_batch = [&](Fleet&, const BatchReport&) {
    FakeClock::advance(1);  // when all is done
    until([&] { return backend.cancels != 0; });
    return true;
  };
  const RunResult result = fleet.run(options);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.signal, Signal::halt);
  EXPECT_EQ(result.stops[kHalt], 1u);
  EXPECT_EQ(result.stops[kCancelled], 0u);
}

TEST(Threads, ThatUseOneFleetAtOnceAreTold) {
  Fleet fleet = fleet_of(1);
  std::promise<void> inside, leave;
  FakeBackend::last().script[5] = halt();
  FakeBackend::last().on_run = [&](const RunOrder&) {
    inside.set_value();
    leave.get_future().wait();
  };
  std::thread other([&] { EXPECT_EQ(fleet.run().stops[kHalt], 1u); });
  inside.get_future().wait();
  EXPECT_TRUE(fleet.is_running());
  EXPECT_TRUE(fleet.poll().running);
  expect_error<StateError>([&] { fleet.run(); });
  expect_error<StateError>([&] { (void)fleet.get(x(0), 0); });
  expect_error<StateError>([&] { fleet.wait(); });
  leave.set_value();
  other.join();
  FakeBackend::last().on_run = nullptr;

  // Many threads at once: each call works, or says that another thread uses the fleet, and no change is lost.
  std::atomic<uint64_t> made = 0, refused = 0;
  auto work = [&] {
    for (int i = 0; i < 2000; i++) {
      try {
        fleet.set(x(1), 0, 1);
        made++;
      } catch (const StateError&) {
        refused++;
      }
      (void)fleet.poll();
    }
  };
  std::thread first(work), second(work), third([&] {
    for (int i = 0; i < 500; i++) fleet.cancel();
  });
  first.join();
  second.join();
  third.join();
  EXPECT_EQ(made + refused, 4000u);
  EXPECT_GT(made, 0u);
}

TEST(Close, FreesTheDeviceAndRefusesTheRest) {
  Fleet fleet = endless_fleet(2);
  fleet.start();
  await_run();
  fleet.close();
  EXPECT_THROW(FakeBackend::last(), std::logic_error);
  fleet.close();
  expect_error<StateError>([&] { fleet.run(); });
  expect_error<StateError>([&] { fleet.start(); });
  expect_error<StateError>([&] { fleet.wait(); });
  expect_error<StateError>([&] { fleet.cancel(); });
  expect_error<StateError>([&] { (void)fleet.poll(); });
  expect_error<StateError>([&] { fleet.poll_lanes({}, {}); });
  expect_error<StateError>([&] { (void)fleet.is_running(); });
  expect_error<StateError>([&] { (void)fleet.lanes(); });
  expect_error<StateError>([&] { (void)fleet.device(); });
  expect_error<StateError>([&] { (void)fleet.engine(); });
  expect_error<StateError>([&] { (void)fleet.memory_end(); });
  expect_error<StateError>([&] { (void)fleet.memory_policy(); });
  expect_error<StateError>([&] { (void)fleet.get(x(0), 0); });
  expect_error<StateError>([&] { fleet.stops(); });
}

TEST(Close, EndsWaitsAndRunsOfOtherThreads) {
  for (double seconds : {-1.0, 1000.0}) {
    Fleet fleet = endless_fleet(1);
    fleet.start();
    std::thread waiter([&] { expect_error<StateError>([&] { fleet.wait(seconds); }); });
    FakeClock::await_waiting(1);
    fleet.close();
    waiter.join();
  }
  Fleet other = endless_fleet(1);
  std::thread runner([&] { EXPECT_EQ(other.run().stops[kCancelled], 1u); });
  await_run();
  other.close();
  runner.join();
}

TEST(DeviceFailure, IsToldOnceAndThenAlways) {
  for (bool started : {false, true}) {
    Fleet healthy = fleet_of(1);
    FakeBackend::last().script[5] = halt();
    Fleet fleet = fleet_of(2, MemoryPolicy::transactional);
    FakeBackend& backend = FakeBackend::last();
    Snapshot snapshot = fleet.snapshot();
    backend.on_run = [](const RunOrder& order) {
      if (!order.first) throw DeviceError("the bus is on fire");
    };
    auto message_of = [](auto call) -> std::string {
      try {
        call();
        return "";
      } catch (const DeviceError& error) {
        return error.what();
      }
    };
    const RunOptions options{.mode = Mode::continuous, .instructions_per_batch = 10};
    if (started) {
      fleet.start(options);
      until([&] { return !fleet.poll().running; });
      EXPECT_EQ(fleet.poll().instructions, 20u);
      EXPECT_EQ(fleet.poll().signal, Signal::fault);
      EXPECT_NE(message_of([&] { (void)fleet.get(x(0), 0); }), "");
      EXPECT_EQ(message_of([&] { fleet.wait(); }), "the bus is on fire");
    } else {
      EXPECT_EQ(message_of([&] { fleet.run(options); }), "the bus is on fire");
    }
    const std::string again = "the device of this fleet failed earlier (the bus is on fire); make a new fleet";
    backend.on_run = nullptr;
    EXPECT_EQ(message_of([&] { fleet.run(); }), again);
    EXPECT_EQ(message_of([&] { fleet.start(); }), again);
    EXPECT_EQ(message_of([&] { fleet.set(x(0), 0, 1); }), again);
    EXPECT_EQ(message_of([&] { fleet.stops(); }), again);
    EXPECT_EQ(message_of([&] { (void)fleet.poll(); }), again);
    EXPECT_NO_THROW(fleet.cancel());  // from any thread, at any time
    EXPECT_EQ(message_of([&] { fleet.rollback(); }), again);
    EXPECT_EQ(fleet.lanes(), 2u);
    EXPECT_EQ(healthy.run().instructions, 5u);
    if (started) fleet.close();
  }
}

TEST(DeviceFailure, IsNotWhatAHandlerThrowsOrASnapshotLacks) {
  Fleet fleet = fleet_of(1, MemoryPolicy::transactional);
  FakeBackend& backend = FakeBackend::last();
  backend.script = {{5, syscall(0)}, {9, halt()}};
  backend.snapshots_fail = true;
  expect_error<DeviceError>([&] { fleet.run(); });
  EXPECT_EQ(fleet.get(Field::instructions, 0), 0u);
  backend.snapshots_fail = false;
  RunOptions options;
  options.on_syscall = [](Fleet&, const SyscallBatch&) { throw DeviceError("of another fleet"); };
  expect_error<DeviceError>([&] { fleet.run(options); });
  fleet.resume_all();
  EXPECT_EQ(fleet.run().stops[kHalt], 1u);
}

}  // namespace
}  // namespace fleet_test
