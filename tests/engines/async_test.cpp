// SPDX-License-Identifier: Apache-2.0
// Runs in the background: what poll() reports, cancelling at an instruction boundary, and the calls that a fleet
// refuses while it runs or when it is closed. The guests never end by themselves, so that a run is in progress until the
// test cancels it, however long that takes.
#include <atomic>
#include <functional>
#include <thread>

#include "mode_fixture.h"

namespace fleet_test {
namespace {

/// Endless loops. In the first the lanes stay in step; in the second they diverge, and there is no call.
Words together() { return {guest::add(0, 0, 1), guest::eor_register(1, 1, 0), guest::b(-2)}; }
Words apart() {
  return {guest::madd(19, 19, 20, 22), tbnz(19, 60, 3), guest::add(0, 0, 1), guest::b(-3),
          guest::add(1, 1, 1),         tbnz(19, 61, 2), guest::add(2, 2, 1), guest::b(-7)};
}
/// An endless loop with memory accesses and calls.
Words endless_wandering() {
  Words words = wandering_program();
  words[14] = guest::add(24, 24, 1);
  words[15] = guest::b(-15);
  return words;
}

class Async : public testing::TestWithParam<std::tuple<How, uint64_t>> {
 protected:
  How how() const { return std::get<0>(GetParam()); }
  uint64_t lanes() const { return std::get<1>(GetParam()); }
  RunOptions endless() const {
    RunOptions options = budget_of(how().mode == Mode::mega ? uint64_t{1} << 40 : kEndless, 20'000);
    options.mode = how().mode;
    return options;
  }
};
constexpr How kModes[] = {{"run", Mode::run, true},
                          {"continuous", Mode::continuous, true},
                          {"mega", Mode::mega, true},
                          {"self_dispatch", Mode::self_dispatch, true}};
INSTANTIATE_TEST_SUITE_P(All, Async, testing::Combine(testing::ValuesIn(kModes), testing::ValuesIn(kFleetSizes)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST_P(Async, ProgressIsSeenToGrowAndCancelEndsIt) {
  Fleet fleet = fleet_of(together(), lanes());
  Poll poll = fleet.poll();
  EXPECT_FALSE(poll.running);
  EXPECT_EQ(poll.instructions, 0u);
  EXPECT_FALSE(fleet.is_running());
  fleet.start(endless());
  EXPECT_TRUE(fleet.is_running());
  until([&] { return (poll = fleet.poll()).instructions > 0; });
  const uint64_t seen = poll.instructions;
  EXPECT_TRUE(poll.running);
  EXPECT_EQ(poll.signal, Signal::running);
  EXPECT_GT(poll.lanes_running, 0u);
  EXPECT_LE(poll.lanes_running, lanes());
  until([&] { return (poll = fleet.poll()).instructions > seen; });
  // The same of the lanes.
  std::vector<uint64_t> first(lanes()), second(lanes());
  std::vector<Signal> signals(lanes());
  fleet.poll_lanes(first, signals);
  until([&] {
    fleet.poll_lanes(second, {});
    return std::accumulate(second.begin(), second.end(), uint64_t{0}) >
           std::accumulate(first.begin(), first.end(), uint64_t{0});
  });
  for (uint64_t lane = 0; lane < lanes(); lane++) EXPECT_GE(second[lane], first[lane]);
  fleet.poll_lanes({}, signals);
  EXPECT_FALSE(fleet.wait(0.001).has_value());
  EXPECT_FALSE(fleet.wait(0).has_value());
  EXPECT_TRUE(fleet.is_running());

  fleet.cancel();
  std::optional<RunResult> result = fleet.wait();
  ASSERT_TRUE(result.has_value());
  EXPECT_FALSE(fleet.is_running());
  EXPECT_EQ(result->signal, Signal::cancelled);
  EXPECT_FALSE(result->timed_out);
  EXPECT_EQ(result->lanes_left, lanes());
  EXPECT_GE(result->instructions, poll.instructions) << "poll() counted too much";
  std::vector<uint64_t> counts(lanes());
  fleet.get_all(Field::instructions, counts);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), uint64_t{0}), result->instructions);
  for (uint64_t lane = 0; lane < lanes(); lane++) EXPECT_GE(counts[lane], second[lane]);
  // Afterwards both are exact.
  poll = fleet.poll();
  EXPECT_FALSE(poll.running);
  EXPECT_EQ(poll.instructions, result->instructions);
  EXPECT_EQ(poll.signal, Signal::cancelled);
  fleet.poll_lanes(second, signals);
  EXPECT_EQ(second, counts);
  for (uint64_t lane = 0; lane < lanes(); lane++) EXPECT_EQ(signals[lane], signal_of(fleet.stops()[lane].reason));
}

TEST_P(Async, CancelledLanesAreAtABoundaryAndGoOn) {
  for (const Words& words : {together(), apart(), endless_wandering()}) {
    SCOPED_TRACE(words.size());
    Fleet fleet = fleet_of(words, lanes()), again = fleet_of(words, lanes());
    prepare_wandering(fleet, 1);
    prepare_wandering(again, 1);
    for (int round = 0; round < 3; round++) {
      fleet.start(endless());
      until([&] { return fleet.poll().instructions > 0; });
      fleet.cancel();
      RunResult result = fleet.wait().value();
      EXPECT_GT(result.instructions, 0u);
      EXPECT_EQ(result.signal, Signal::cancelled);
      for (const Stop& stop : fleet.stops()) {
        EXPECT_TRUE(stop.reason == StopReason::cancelled || (how().batches() && stop.reason == StopReason::budget))
            << describe(0, stop);
      }
    }
    // A run to the same counts is in the same state.
    std::vector<uint64_t> counts(lanes());
    fleet.get_all(Field::instructions, counts);
    again.set_all(Field::limit, counts);
    again.run();
    again.fill(Field::limit, kEndless);
    fleet.set_stops(all_lanes(fleet), std::vector<Stop>(lanes(), plain(StopReason::budget)));
    again.set_stops(all_lanes(again), std::vector<Stop>(lanes(), plain(StopReason::budget)));
    if (!expect_same(states_of(fleet), states_of(again), "cancelled against counted")) return;
    // And both go on alike.
    RunOptions more = endless();
    more.instructions = 777;
    EXPECT_EQ(fleet.run(more).instructions, 777 * lanes());
    EXPECT_EQ(again.run(more).instructions, 777 * lanes());
    expect_same(states_of(fleet), states_of(again), "on from there");
  }
}

TEST_P(Async, LanesThatHaveStoppedAreSeenToHave) {
  if (lanes() == 1) GTEST_SKIP() << "needs lanes that halt and lanes that do not";
  // Lane 0 halts at once, the others never do. In a team of a GPU the others run on.
  Fleet fleet = fleet_of({guest::cbz(0, 3), guest::add(1, 1, 1), guest::b(-2), guest::hlt(9)}, lanes());
  set_each(fleet, x(0), [](uint64_t lane) { return lane; });
  fleet.start(endless());
  until([&] { return fleet.poll().instructions > 10; });
  std::vector<uint64_t> counts(lanes());
  std::vector<Signal> signals(lanes());
  until([&] {
    fleet.poll_lanes(counts, signals);
    return signals[0] == Signal::halt;
  });
  EXPECT_EQ(counts[0], 1u);
  until([&] { return fleet.poll().lanes_running < lanes(); });
  EXPECT_TRUE(fleet.poll().running);
  fleet.cancel();
  RunResult result = fleet.wait().value();
  EXPECT_EQ(stops_of(result, StopReason::halt), 1u);
  EXPECT_EQ(result.lanes_left, lanes() - 1);
  EXPECT_EQ(result.signal, Signal::cancelled);
  expect_stop(fleet, 0, halt(9));
}

TEST_P(Async, NothingElseFitsAFleetThatRuns) {
  Fleet fleet = fleet_of({guest::add(0, 0, 1), guest::b(-1)}, lanes());
  Snapshot snapshot = fleet.snapshot();
  EXPECT_THROW(fleet.wait(), StateError) << "nothing was started";
  fleet.start(endless());
  std::vector<uint64_t> values(lanes());
  std::vector<uint8_t> bytes(8);
  const uint32_t lane = 0;
  const std::span<const uint32_t> one(&lane, 1);
  const Transfer transfer{0, 8, kData, 0};
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"start", [&] { fleet.start(endless()); }},
      {"run", [&] { fleet.run(); }},
      {"stops", [&] { (void)fleet.stops(); }},
      {"resume", [&] { fleet.resume(one); }},
      {"resume_all", [&] { fleet.resume_all(); }},
      {"set_stops", [&] { fleet.set_stops(one, std::vector<Stop>(1)); }},
      {"get", [&] { (void)fleet.get(x(0), 0); }},
      {"get_all", [&] { fleet.get_all(x(0), values); }},
      {"set", [&] { fleet.set(x(0), 0, 1); }},
      {"set_all", [&] { fleet.set_all(x(0), values); }},
      {"fill", [&] { fleet.fill(x(0), 1); }},
      {"read", [&] { (void)fleet.read(0, kData, 8); }},
      {"read of transfers", [&] { fleet.read(std::span(&transfer, 1), bytes); }},
      {"write", [&] { fleet.write(0, kData, bytes); }},
      {"write of transfers", [&] { fleet.write(std::span(&transfer, 1), bytes); }},
      {"map", [&] { fleet.map(one, kData, kPageBytes, kRead); }},
      {"unmap", [&] { fleet.unmap(one, kData, kPageBytes); }},
      {"permissions", [&] { fleet.permissions(one, kData, kPageBytes, std::span(bytes).first(1)); }},
      {"protect", [&] { fleet.protect(one, kData, kPageBytes, kRead); }},
      {"pool_used", [&] { (void)fleet.pool_used(); }},
      {"grow_pool", [&] { fleet.grow_pool(1); }},
      {"snapshot", [&] { (void)fleet.snapshot(); }},
      {"restore", [&] { fleet.restore(snapshot); }},
      {"fork", [&] { fleet.fork(0, one); }},
      {"view", [&] { (void)fleet.view(x(0)); }},
  };
  for (const auto& [name, call] : calls) {
    try {
      call();
      ADD_FAILURE() << name << " is allowed while the fleet runs";
    } catch (const StateError& error) {
      EXPECT_NE(std::string(error.what()), "");
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
  EXPECT_TRUE(fleet.is_running());
  fleet.cancel();
  // Until wait() has returned the result of a run, which it does once, no other run can begin.
  until([&] { return !fleet.is_running(); });
  EXPECT_THROW(fleet.start(endless()), StateError);
  EXPECT_EQ(fleet.wait().value().signal, Signal::cancelled);
  EXPECT_THROW(fleet.wait(), StateError);
  // The refused calls have had no effect.
  std::vector<uint64_t> counts(lanes());
  fleet.get_all(Field::instructions, counts);
  for (uint32_t each = 0; each < lanes(); each++) EXPECT_EQ(fleet.get(x(0), each), (counts[each] + 1) / 2);
  EXPECT_EQ(fleet.read(0, kData, 8), initial_bytes(kData, 8));
  fleet.restore(snapshot);
  EXPECT_EQ(fleet.get(x(0), 0), 0u);
}

TEST_P(Async, CloseEndsWhatRuns) {
  for (bool started : {false, true}) {
    Fleet fleet = fleet_of({guest::add(0, 0, 1), guest::b(-1)}, lanes());
    Snapshot snapshot = fleet.snapshot();
    if (started) fleet.start(endless());
    fleet.close();
    EXPECT_THROW(fleet.run(), StateError);
    EXPECT_THROW(fleet.start(), StateError);
    EXPECT_THROW(fleet.wait(), StateError);
    EXPECT_THROW((void)fleet.get(x(0), 0), StateError);
    EXPECT_THROW((void)fleet.stops(), StateError);
    EXPECT_THROW((void)fleet.read(0, kData, 8), StateError);
    EXPECT_THROW((void)fleet.snapshot(), StateError);
    EXPECT_THROW(fleet.restore(snapshot), StateError);
    EXPECT_THROW(fleet.resume_all(), StateError);
  }
}

TEST_P(Async, AFleetMayBeDestroyedWhileItRuns) {
  Fleet fleet = fleet_of({guest::b(0)}, lanes());
  fleet.start(endless());
}

TEST_P(Async, AMovedFleetRunsOn) {
  Fleet first = fleet_of({guest::add(0, 0, 1), guest::b(-1)}, lanes());
  first.start(endless());
  Fleet second = std::move(first);
  EXPECT_TRUE(second.is_running());
  until([&] { return second.poll().instructions > 0; });
  second.cancel();
  EXPECT_EQ(second.wait().value().signal, Signal::cancelled);
  EXPECT_GT(second.get(Field::instructions, 0) + second.get(Field::instructions, static_cast<uint32_t>(lanes() - 1)),
            0u);
}

TEST_P(Async, ManyShortRunsEndByThemselves) {
  Fleet fleet = fleet_of({guest::add(0, 0, 1), guest::b(-1)}, lanes());
  for (uint64_t round = 1; round <= 50; round++) {
    RunOptions options = endless();
    options.instructions = 10;
    fleet.start(options);
    if (round % 2 == 0) {
      until([&] { return !fleet.poll().running; });
      EXPECT_FALSE(fleet.is_running());
      EXPECT_EQ(fleet.poll().signal, Signal::checkpoint);
      EXPECT_EQ(fleet.poll().instructions, 10 * lanes());
    }
    EXPECT_EQ(fleet.wait().value().instructions, 10 * lanes());
    EXPECT_EQ(fleet.get(Field::instructions, static_cast<uint32_t>(lanes() - 1)), 10 * round);
  }
}

TEST_P(Async, PollIsFromAnyThread) {
  Fleet fleet = fleet_of(together(), lanes());
  fleet.start(endless());
  std::atomic<uint64_t> backwards{0}, ended{0};
  std::vector<std::thread> watchers;
  for (int i = 0; i < 3; i++) {
    watchers.emplace_back([&] {
      std::vector<uint64_t> counts(lanes()), before(lanes());
      uint64_t last = 0;
      for (int grown = 0; grown < 3;) {
        const uint64_t now = fleet.poll().instructions;
        backwards += now < last;
        grown += now > last;
        last = now;
        fleet.poll_lanes(counts, {});
        for (uint64_t lane = 0; lane < lanes(); lane++) backwards += counts[lane] < before[lane];
        before = counts;
        ended += !fleet.is_running();
      }
    });
  }
  for (std::thread& watcher : watchers) watcher.join();
  std::thread([&] { fleet.cancel(); }).join();
  EXPECT_EQ(fleet.wait().value().signal, Signal::cancelled);
  EXPECT_EQ(backwards, 0u);
  EXPECT_EQ(ended, 0u);
}

TEST_P(Async, CancelBeforeStartEndsItAtOnce) {
  Fleet fleet = fleet_of({guest::b(0)}, lanes());
  fleet.cancel();
  fleet.start(endless());
  EXPECT_EQ(fleet.wait().value().signal, Signal::cancelled);
  EXPECT_EQ(fleet.get(Field::instructions, 0), 0u);
  RunOptions options = endless();
  options.instructions = 5;
  fleet.start(options);
  EXPECT_EQ(fleet.wait().value().instructions, 5 * lanes());
}

TEST(AsyncFleets, RunSideBySide) {
  Fleet first = fleet_of({guest::add(0, 0, 1), guest::b(-1)}, 5), second = fleet_of({guest::b(0)}, 5);
  first.start();
  second.start();
  until([&] { return first.poll().instructions > 0; });
  first.cancel();
  EXPECT_EQ(first.wait().value().signal, Signal::cancelled);
  EXPECT_TRUE(second.is_running());
  second.cancel();
  EXPECT_EQ(second.wait().value().signal, Signal::cancelled);
}

TEST(AsyncFleets, PollLanesWantsAllLanes) {
  Fleet fleet = fleet_of({guest::b(0)}, 5);
  std::vector<uint64_t> counts(4);
  std::vector<Signal> signals(6);
  EXPECT_THROW(fleet.poll_lanes(counts, {}), myriarm::ArgumentError);
  EXPECT_THROW(fleet.poll_lanes({}, signals), myriarm::ArgumentError);
}

}  // namespace
}  // namespace fleet_test
