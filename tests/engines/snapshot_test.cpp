// SPDX-License-Identifier: Apache-2.0
// Snapshots, restore and fork of all lanes, of parts of teams and across teams; later writes stay private to their
// lane. Random sequences are in snapshot_random_test.cpp.
#include <functional>

#include "mode_fixture.h"

namespace fleet_test {
namespace {

using myriarm::ArgumentError;
using myriarm::DeviceError;
using myriarm::Placement;

constexpr uint32_t kAll = kRead | kWrite | kExecute;
using Lanes = std::vector<uint32_t>;

class Snapshots : public testing::TestWithParam<std::tuple<MemoryPolicy, uint64_t>> {
 protected:
  MemoryPolicy policy() const { return std::get<0>(GetParam()); }
  uint64_t lanes() const { return std::get<1>(GetParam()); }
  uint32_t last() const { return static_cast<uint32_t>(lanes() - 1); }
  bool flat() const { return policy() == MemoryPolicy::shared || policy() == MemoryPolicy::device_shared; }
  /// A fleet that has run a part of the wandering program.
  Fleet begun(bool changes_itself, uint64_t instructions = 1000) const {
    Fleet fleet = fleet_of(wandering_program(changes_itself), lanes(), policy(), kAll);
    prepare_wandering(fleet, 500);
    // Fields that the program does not touch, so that all of them differ from lane to lane.
    for (Field field :
         {x(9), Field::tpidr, myriarm::v_low(0), myriarm::v_high(0), myriarm::v_low(31), myriarm::v_high(17)}) {
      set_each(fleet, field,
               [&](uint64_t lane) { return (lane + 3) * 0xBF58476D1CE4E5B9 + static_cast<uint64_t>(field); });
    }
    set_each(fleet, Field::fpcr, [](uint64_t lane) { return lane % 4 << 22; });
    set_each(fleet, Field::fpsr, [](uint64_t lane) { return lane % 32; });
    fleet.run(budget_of(instructions));
    return fleet;
  }
};
INSTANTIATE_TEST_SUITE_P(All, Snapshots,
                         testing::Combine(testing::ValuesIn(kWritablePolicies), testing::Values(1, 5, 40, 100)),
                         [](const auto& info) {
                           return std::string(policy_name(std::get<0>(info.param))) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

std::vector<LaneState> all_of(const Fleet& fleet) { return states_of(fleet, kCode, kEnd); }

TEST_P(Snapshots, RestoreAllLanesAgainAndAgain) {
  for (bool changes_itself : {false, true}) {
    Fleet fleet = begun(changes_itself);
    const std::vector<LaneState> before = all_of(fleet);
    Snapshot snapshot = fleet.snapshot();
    EXPECT_EQ(snapshot.lanes(), all_lanes(fleet));
    expect_same(all_of(fleet), before, "a snapshot changes nothing");
    fleet.run();
    const std::vector<LaneState> end = all_of(fleet);
    expect_all_stopped(fleet, halt(7));
    for (int repeat = 0; repeat < 3; repeat++) {
      for (Field field : all_fields()) fleet.fill(field, 4);
      fleet.restore(snapshot);
      expect_same(all_of(fleet), before, "restored");
      fleet.run(budget_of(100 + static_cast<uint64_t>(repeat)));
      fleet.run();
      expect_same(all_of(fleet), end, "run again");
    }
  }
}

/// Lanes of a fleet that are a part of a team, a whole one, several, and across them.
std::vector<Lanes> selections(uint64_t lanes) {
  std::vector<Lanes> all = {{0}, {static_cast<uint32_t>(lanes - 1)}};
  if (lanes >= 5) all.push_back({0, 2, 3});
  if (lanes >= 40) {
    Lanes team = lanes_up_to(32), across = {30, 31, 32, 33, 39}, rest;
    for (uint32_t lane = 32; lane < lanes; lane++) rest.push_back(lane);
    all.insert(all.end(), {team, across, rest});
  }
  if (lanes >= 100) {
    Lanes middle;
    for (uint32_t lane = 32; lane < 64; lane++) middle.push_back(lane);
    all.push_back(middle);
    all.push_back({5, 40, 63, 64, 96, 99});
  }
  return all;
}

TEST_P(Snapshots, RestoreChosenLanesAndNoOthers) {
  for (const Lanes& chosen : selections(lanes())) {
    SCOPED_TRACE("from lane " + std::to_string(chosen[0]) + ", " + std::to_string(chosen.size()) + " lanes");
    Fleet fleet = begun(chosen.size() % 2 == 0);
    const std::vector<LaneState> before = all_of(fleet);
    Snapshot some = fleet.snapshot(chosen), all = fleet.snapshot();
    EXPECT_EQ(some.lanes(), chosen);
    fleet.run(budget_of(1500));
    const std::vector<LaneState> later = all_of(fleet);
    std::vector<LaneState> mixed = later;
    for (uint32_t lane : chosen) mixed[lane] = before[lane];
    fleet.restore(some);
    expect_same(all_of(fleet), mixed, "the lanes of a snapshot of some");
    // The same lanes out of a snapshot of all.
    fleet.run(budget_of(77));
    Snapshot now = fleet.snapshot();
    fleet.restore(all, chosen);
    std::vector<LaneState> after = all_of(fleet);
    for (uint32_t lane : chosen) EXPECT_EQ(difference(after[lane], before[lane]), "") << "lane " << lane;
    fleet.restore(now);
    fleet.restore(all);
    expect_same(all_of(fleet), before, "all lanes");
    // And all lanes run to the same end as without the snapshot.
    fleet.run(budget_of(1500));
    expect_same(all_of(fleet), later, "run again");
  }
}

TEST_P(Snapshots, AreRestoredInAnyOrder) {
  Fleet fleet = begun(true, 200);
  std::vector<Snapshot> snapshots;
  std::vector<std::vector<LaneState>> states;
  for (int i = 0; i < 5; i++) {
    snapshots.push_back(fleet.snapshot());
    states.push_back(all_of(fleet));
    fleet.run(budget_of(300));
  }
  for (size_t i : {3u, 0u, 4u, 1u, 1u, 2u}) {
    fleet.restore(snapshots[i]);
    expect_same(all_of(fleet), states[i], "snapshot " + std::to_string(i));
    fleet.run(budget_of(50));
  }
  // Some snapshots are destroyed; the others do not change.
  snapshots[0] = Snapshot();
  snapshots[3] = std::move(snapshots[2]);
  for (size_t i : {3u, 4u, 1u}) {
    fleet.restore(snapshots[i]);
    expect_same(all_of(fleet), states[i == 3 ? 2 : i], "snapshot " + std::to_string(i) + " of those left");
    fleet.run(budget_of(50));
  }
}

TEST_P(Snapshots, BringBackMapsAndPermissions) {
  Fleet fleet = fleet_of({guest::ldr(3, 2, 1), guest::str(3, 3, 1), guest::hlt(0)}, lanes(), policy(), kAll);
  const Lanes even = even_lanes(fleet), all = all_lanes(fleet);
  set_each(fleet, x(3), [](uint64_t lane) { return lane + 1; });
  auto run = [&](uint64_t address) {
    fleet.fill(x(1), address);
    fleet.fill(Field::pc, kCode);
    fleet.resume_all();
    fleet.run();
  };
  auto stops = [&] { return std::vector<Stop>(fleet.stops().begin(), fleet.stops().end()); };
  // Permissions that differ by lane, in pages that were written and in those that were not.
  run(kData);
  fleet.map(even, kUnmapped, 2 * kPageBytes, kRead | kWrite);
  fleet.protect(even, kData, kPageBytes, kRead);
  fleet.protect(even, kData + kPageBytes, kPageBytes, kRead);
  fleet.unmap(even, kData + 3 * kPageBytes, kPageBytes);
  const uint64_t probes[] = {kData + 8, kData + kPageBytes + 8, kData + 3 * kPageBytes,
                             kUnmapped, kUnmapped + kPageBytes, kConstant};
  Snapshot snapshot = fleet.snapshot();
  const std::vector<LaneState> before = all_of(fleet);
  std::vector<std::vector<Stop>> wanted;
  for (uint64_t probe : probes) {
    run(probe);
    wanted.push_back(stops());
    fleet.restore(snapshot);
  }
  expect_same(all_of(fleet), before, "after the probes");
  const std::function<void()> changes[] = {
      [&] { fleet.map(all, kUnmapped, 4 * kPageBytes, kRead | kWrite); },
      [&] { fleet.unmap(all, kData, 4 * kPageBytes); },
      [&] { fleet.protect(all, kData, 4 * kPageBytes, kRead | kWrite); },
      [&] { fleet.protect(all, kData, 4 * kPageBytes, 0); },
      [&] { fleet.protect(even, kConstant, kPageBytes, kRead | kWrite); },
      [&] { fleet.map(even, kData, 2 * kPageBytes, kRead | kWrite); },
      [&] { fleet.write(last(), kConstant, std::vector<uint8_t>(kPageBytes, 3)); },
      [&] { fleet.write(0, kCode, bytes_of({guest::hlt(0x66)})); },
      [&] { fleet.map(all, kCode, kPageBytes, kAll); },
      [&] { fleet.unmap(Lanes{last()}, kCode, kPageBytes); },
      [&] { fleet.protect(all, kCode, kPageBytes, kRead); },
  };
  for (size_t change = 0; change < std::size(changes); change++) {
    for (size_t i = 0; i < std::size(probes); i++) {
      changes[change]();
      fleet.resume_all();
      fleet.run();
      fleet.restore(snapshot);
      run(probes[i]);
      const std::vector<Stop> have = stops();
      for (uint32_t lane = 0; lane < lanes(); lane++) {
        ASSERT_TRUE(have[lane] == wanted[i][lane])
            << "change " << change << ", probe " << i << "\n"
            << describe(lane, have[lane]) << "\nexpected " << describe(lane, wanted[i][lane]);
      }
      fleet.restore(snapshot);
    }
    expect_same(all_of(fleet), before, "change " + std::to_string(change));
  }
}

TEST_P(Snapshots, BringBackCodeThatChanged) {
  // Overwrites the first word with what x2 holds, x5 times; the ADD is what x0 shows.
  const Words words = {guest::add(0, 0, 1), guest::svc(0), guest::str(2, 2, 1), guest::b(-3)};
  Fleet fleet = fleet_of(words, lanes(), policy(), kAll);
  set_each(fleet, x(1), [](uint64_t lane) { return lane % 3 == 2 ? kData : kCode; });
  auto step = [&](uint32_t constant, uint64_t written, uint64_t other) {
    fleet.fill(x(2), guest::add(0, 0, constant));
    fleet.fill(x(0), 0);
    fleet.resume_all();
    fleet.run();
    for (uint32_t lane = 0; lane < lanes(); lane++) {
      EXPECT_EQ(fleet.get(x(0), lane), lane % 3 == 2 ? other : written) << "lane " << lane;
    }
  };
  step(0, 1, 1);
  Snapshot original = fleet.snapshot();
  step(0x10, 0x10, 1);
  Snapshot changed = fleet.snapshot();
  step(0x20, 0x20, 1);
  fleet.restore(original);
  // Without storing: on from the branch back.
  fleet.fill(Field::pc, kCode + 12);
  step(0, 1, 1);
  fleet.restore(changed);
  fleet.fill(Field::pc, kCode + 12);
  step(0, 0x10, 1);
  step(0x30, 0x30, 1);
  fleet.restore(original);
  step(0x40, 0x40, 1);
  fleet.restore(changed, Lanes{last()});
  fleet.fill(Field::pc, kCode + 12);
  fleet.fill(x(0), 0);
  fleet.resume_all();
  fleet.run();
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    EXPECT_EQ(fleet.get(x(0), lane), lane % 3 == 2 ? 1u : lane == last() ? 0x10u : 0x40u) << "lane " << lane;
  }
}

TEST_P(Snapshots, StoresAfterwardsStayPrivate) {
  // A lane is changed after a snapshot or a fork; nothing else may see it.
  if (lanes() > 40) GTEST_SKIP() << "tests each pair of lanes, so only small fleets";
  Fleet fleet = fleet_of({guest::str(3, 2, 1), guest::hlt(0)}, lanes(), policy());
  fleet.fill(x(1), kData + 2 * kPageBytes);
  set_each(fleet, x(2), [](uint64_t lane) { return 100 + lane; });
  fleet.run();
  auto stored = [&] {
    std::vector<uint64_t> words;
    for (const auto& bytes : memory_of(fleet, kData + 2 * kPageBytes, 8)) words.push_back(number_of(bytes));
    return words;
  };
  const Lanes from = lanes() == 40 ? Lanes{0, 31, 32, 39} : lanes_up_to(lanes());
  for (uint32_t source : from) {
    Snapshot start = fleet.snapshot();
    fleet.fork(source, all_lanes(fleet));
    EXPECT_EQ(stored(), std::vector<uint64_t>(lanes(), 100 + source));
    Snapshot forked = fleet.snapshot();
    for (uint32_t writer = 0; writer < lanes(); writer++) {
      for (bool by_guest : {true, false}) {
        if (by_guest) {
          fleet.set(x(2), writer, 7777);
          fleet.set(Field::pc, writer, kCode);
          fleet.resume(std::span(&writer, 1));
          fleet.run();
          expect_stop(fleet, writer, halt());
        } else {
          fleet.write(writer, kData + 2 * kPageBytes, std::vector<uint8_t>{0x61, 0x1E, 0, 0, 0, 0, 0, 0});
        }
        std::vector<uint64_t> wanted(lanes(), 100 + source);
        wanted[writer] = 7777;
        ASSERT_EQ(stored(), wanted) << "a lane sees what lane " << writer << " stored";
        fleet.restore(forked, std::span(&writer, 1));
        ASSERT_EQ(number_of(fleet.read(writer, kData + 2 * kPageBytes, 8)), 100u + source);
      }
    }
    fleet.restore(start);
    EXPECT_EQ(stored(), values_of(fleet, x(2)));
  }
}

TEST_P(Snapshots, ForkGivesTheWholeState) {
  std::vector<std::pair<uint32_t, Lanes>> forks = {{0, {0}}, {last(), {0}}};
  if (lanes() >= 5) forks.push_back({2, {4, 0, 2}});
  if (lanes() >= 40) {
    forks.push_back({3, {1, 31, 33, 35}});
    forks.push_back({35, {0, 5, 39}});
    forks.push_back({7, lanes_up_to(lanes())});
  }
  if (lanes() >= 100) forks.push_back({99, {64, 65, 98, 31, 0, 40}});
  for (bool changes_itself : {false, true}) {
    Fleet fleet = begun(changes_itself);
    fleet.map(even_lanes(fleet), kUnmapped, kPageBytes, kRead);
    fleet.set_stops(Lanes{last()}, std::vector<Stop>{{StopReason::exited, FaultKind::none, 9, 0}});
    for (const auto& [source, targets] : forks) {
      std::vector<LaneState> wanted = all_of(fleet);
      for (uint32_t target : targets) wanted[target] = wanted[source];
      fleet.fork(source, targets);
      expect_same(all_of(fleet), wanted, "fork of lane " + std::to_string(source));
      // They run on alike.
      fleet.run(budget_of(500));
      const std::vector<LaneState> later = all_of(fleet);
      for (uint32_t target : targets) {
        EXPECT_EQ(difference(later[target], later[source]), "") << "lane " << target << " after its fork";
      }
      // And apart: every lane gets a new seed.
      set_each(fleet, x(19), [](uint64_t lane) { return (lane + 11) * 0xD1342543DE82EF95; });
      fleet.run(budget_of(300));
    }
  }
}

TEST_P(Snapshots, KeepTheExclusiveMonitor) {
  // Between the load and the store of a pair; a replay must come to the same end.
  const Words words = {guest::ldxr(0, 1), guest::nop(), stxr(2, 3, 1), guest::hlt(0)};
  Fleet fleet = fleet_of(words, lanes(), policy());
  fleet.fill(x(1), kData);
  fleet.fill(x(2), 9);
  set_each(fleet, x(3), [](uint64_t lane) { return lane + 1; });
  fleet.run(budget_of(1));
  Snapshot between = fleet.snapshot();
  for (int repeat = 0; repeat < 3; repeat++) {
    fleet.run();
    expect_all_stopped(fleet, halt());
    for (uint32_t lane = 0; lane < lanes(); lane++) {
      EXPECT_EQ(fleet.get(x(2), lane), 0u) << "the store of lane " << lane << " failed";
      EXPECT_EQ(number_of(fleet.read(lane, kData, 8)), lane + 1u);
    }
    fleet.restore(between);
    if (repeat == 1) fleet.fork(last(), all_lanes(fleet));
    if (repeat == 1) set_each(fleet, x(3), [](uint64_t lane) { return lane + 1; });
  }
}

TEST_P(Snapshots, WrongUsesAreRefused) {
  Fleet fleet = begun(false), other = begun(false);
  const std::vector<LaneState> before = all_of(fleet);
  const auto count = static_cast<uint32_t>(lanes());
  Snapshot all = fleet.snapshot(), one = fleet.snapshot(Lanes{0}), foreign = other.snapshot();
  EXPECT_THROW((void)fleet.snapshot(Lanes{0, count}), ArgumentError);
  EXPECT_THROW(fleet.restore(all, Lanes{count}), ArgumentError);
  EXPECT_THROW(fleet.fork(count, Lanes{0}), ArgumentError);
  EXPECT_THROW(fleet.fork(0, Lanes{0, count}), ArgumentError);
  if (lanes() > 1) {
    EXPECT_THROW(fleet.restore(one, Lanes{1}), ArgumentError) << "a lane that it does not hold";
    EXPECT_THROW(fleet.restore(one, Lanes{0, 1}), ArgumentError);
  }
  EXPECT_THROW(fleet.restore(foreign), ArgumentError) << "of another fleet";
  EXPECT_THROW(fleet.restore(Snapshot()), myriarm::Error) << "an empty one";
  fleet.restore(all, Lanes{});
  fleet.fork(0, Lanes{});
  expect_same(all_of(fleet), before, "nothing has changed");
}

TEST_P(Snapshots, OutliveTheirFleetAsNothing) {
  Snapshot kept, moved;
  {
    Fleet fleet = begun(false);
    kept = fleet.snapshot();
    Snapshot another = fleet.snapshot(Lanes{0});
    moved = std::move(another);
    Fleet owner = std::move(fleet);  // closing the fleet empties the snapshot
    owner.run();
    owner.restore(moved);
    EXPECT_EQ(owner.get(Field::instructions, 0), 1000u);
    owner.close();
    EXPECT_THROW(owner.restore(kept), StateError);
  }
  Fleet fleet = begun(false);
  EXPECT_THROW(fleet.restore(kept), myriarm::Error);
  kept = Snapshot();
  Snapshot again = fleet.snapshot();
  kept = std::move(again);
  fleet.restore(kept);
}

TEST_P(Snapshots, GiveBackWhatTheyHeld) {
  if (flat()) GTEST_SKIP() << "flat memory has no pages to share";
  Fleet fleet = fleet_of({guest::str(3, 2, 1), guest::add_register(1, 1, 5), guest::subs(4, 4, 1),
                          guest::b_cond(guest::kNe, -3), guest::hlt(0)},
                         lanes(), policy());
  fleet.fill(x(5), kPageBytes);
  fleet.fill(x(1), kData);
  fleet.fill(x(4), 3);
  const uint64_t empty = fleet.pool_used();
  {
    Snapshot snapshot = fleet.snapshot();
    EXPECT_EQ(fleet.pool_used(), empty) << "a snapshot alone costs nothing";
    for (int repeat = 0; repeat < 3; repeat++) {
      fleet.run();
      const uint64_t dirty = fleet.pool_used();
      EXPECT_GT(dirty, empty);
      if (policy() == MemoryPolicy::transactional) fleet.commit();
      fleet.restore(snapshot);
      EXPECT_EQ(fleet.pool_used(), empty);
    }
  }
  fleet.run();
  if (policy() == MemoryPolicy::transactional) fleet.commit();
  const uint64_t dirty = fleet.pool_used();
  {
    // Three pages are written; a snapshot keeps the old pages until it is destroyed.
    Snapshot snapshot = fleet.snapshot();
    EXPECT_EQ(fleet.pool_used(), dirty);
    fleet.fill(x(1), kData);
    fleet.fill(x(4), 3);
    fleet.fill(Field::pc, kCode);
    fleet.resume_all();
    fleet.run();
    if (policy() == MemoryPolicy::transactional) fleet.commit();
    EXPECT_GT(fleet.pool_used(), dirty);
  }
  EXPECT_EQ(fleet.pool_used(), dirty) << "a snapshot that was dropped";
  fleet.unmap(all_lanes(fleet), kData, 4 * kPageBytes);
  EXPECT_EQ(fleet.pool_used(), empty);
}

TEST(SnapshotsOfPrograms, AreForkedBetweenPrograms) {
  // Lanes 0 to 31 run one program, the others another with other code and data at the same addresses.
  auto program = [](uint32_t constant, uint8_t byte) {
    Program made = program_of({guest::add(0, 0, constant), guest::svc(0), guest::ldr(0, 2, 1), guest::b(-3)}, kAll);
    made.segments[2].bytes.assign(kPageBytes, byte);
    return made;
  };
  const std::vector<Placement> placements = {{program(1, 11), 32}, {program(0x100, 22), 10}};
  for (MemoryPolicy policy : kWritablePolicies) {
    SCOPED_TRACE(policy_name(policy));
    Fleet fleet(placements, options_of(0, policy));
    fleet.fill(x(1), kData);
    fleet.run();
    fleet.resume_all();
    fleet.run();
    for (uint32_t lane = 0; lane < 42; lane++) {
      EXPECT_EQ(fleet.get(x(0), lane), lane < 32 ? 2u : 0x200u);
      EXPECT_EQ(fleet.get(x(2), lane), lane < 32 ? 11u : 22u);
    }
    Snapshot start = fleet.snapshot();
    const std::vector<LaneState> before = all_of(fleet);
    std::vector<LaneState> wanted = before;
    for (uint32_t lane : {5u, 41u}) wanted[lane] = before[lane == 5 ? 40 : 0];
    fleet.fork(40, Lanes{5});
    fleet.fork(0, Lanes{41});
    expect_same(all_of(fleet), wanted, "forked");
    fleet.resume_all();
    fleet.run();
    for (uint32_t lane = 0; lane < 42; lane++) {
      const bool second = (lane >= 32 || lane == 5) && lane != 41;
      EXPECT_EQ(fleet.get(x(0), lane), second ? 0x300u : 3u) << "lane " << lane << " has the code of its origin";
      EXPECT_EQ(fleet.get(x(2), lane), second ? 22u : 11u);
    }
    fleet.fork(5, lanes_up_to(42));
    fleet.resume_all();
    fleet.run();
    for (uint32_t lane = 0; lane < 42; lane++) EXPECT_EQ(fleet.get(x(0), lane), 0x400u);
    fleet.restore(start);
    expect_same(all_of(fleet), before, "restored");
    fleet.resume_all();
    fleet.run();
    for (uint32_t lane = 0; lane < 42; lane++) EXPECT_EQ(fleet.get(x(0), lane), lane < 32 ? 3u : 0x300u);
  }
}

TEST(SnapshotsOfMany, OneHundredThousandLanesGoBack) {
  constexpr uint64_t kLanes = 100'000;
  FleetOptions options = options_of(kLanes);
  options.pool = uint64_t{512} << 20;
  Fleet fleet(program_of({guest::add(0, 0, 1), guest::svc(0), guest::b(-2)}), options);
  set_each(fleet, x(0), [](uint64_t lane) { return lane; });
  fleet.run();
  Snapshot all = fleet.snapshot();
  Lanes odd;
  for (uint32_t lane = 1; lane < kLanes; lane += 2) odd.push_back(lane);
  Snapshot some = fleet.snapshot(odd);
  auto expect_each = [&](auto value_of) {
    std::vector<uint64_t> values(kLanes);
    fleet.get_all(x(0), values);
    uint64_t wrong = 0;
    for (uint64_t lane = 0; lane < kLanes; lane++) wrong += values[lane] != value_of(lane);
    EXPECT_EQ(wrong, 0u);
  };
  for (int i = 0; i < 2; i++) {
    fleet.resume_all();
    fleet.run();
  }
  expect_each([](uint64_t lane) { return lane + 3; });
  fleet.restore(some);
  expect_each([](uint64_t lane) { return lane + (lane % 2 == 1 ? 1 : 3); });
  fleet.restore(all);
  expect_each([](uint64_t lane) { return lane + 1; });
  fleet.fork(77, odd);
  expect_each([](uint64_t lane) { return lane % 2 == 1 ? 78 : lane + 1; });
}

TEST(SnapshotsOfMany, ARestoreWithoutRoomChangesNothing) {
  // Snapshots hold the pages of their moment, until nothing is left of the pool.
  const Words words = {guest::str(3, 4, 1), guest::add_register(1, 1, 5), guest::subs(4, 4, 1),
                       guest::b_cond(guest::kNe, -3), guest::hlt(0)};
  constexpr uint64_t kPages = 256, kHeap = kEnd;
  for (uint64_t lanes : {uint64_t{1}, uint64_t{40}}) {
    SCOPED_TRACE(lanes);
    Program program = program_of(words);
    program.segments.push_back({kHeap, kPages * kPageBytes, kRead | kWrite, {}});
    FleetOptions options = options_of(lanes, kHeap + kPages * kPageBytes - kCode);
    options.pool = uint64_t{1} << 20;
    Fleet fleet(program, options);
    auto write_pages = [&] {
      fleet.fill(x(1), kHeap);
      fleet.fill(x(4), 8);
      fleet.fill(x(5), kPageBytes);
      fleet.fill(Field::pc, kCode);
      fleet.resume_all();
      return stops_of(fleet.run(), StopReason::out_of_memory);
    };
    std::vector<Snapshot> kept;
    std::vector<std::vector<LaneState>> states;
    bool spent = false;
    for (int i = 0; i < 200 && !spent; i++) {
      spent = write_pages() > 0;
      kept.push_back(fleet.snapshot());
      states.push_back(states_of(fleet, kHeap, kHeap + 16 * kPageBytes));
    }
    EXPECT_TRUE(spent);
    // Each can be restored, for all or some lanes, or the fleet refuses with a reason and is unchanged.
    for (size_t i = 0; i < kept.size(); i += kept.size() / 4 + 1) {
      for (const Lanes& some : {lanes_up_to(lanes), Lanes{0}, Lanes{static_cast<uint32_t>(lanes - 1)}}) {
        std::vector<LaneState> wanted = states_of(fleet, kHeap, kHeap + 16 * kPageBytes);
        try {
          fleet.restore(kept[i], some);
          for (uint32_t lane : some) wanted[lane] = states[i][lane];
        } catch (const DeviceError&) {
        }
        if (!expect_same(states_of(fleet, kHeap, kHeap + 16 * kPageBytes), wanted, "restore " + std::to_string(i)))
          return;
        try {
          fleet.fork(0, Lanes{static_cast<uint32_t>(lanes - 1)});
          wanted[lanes - 1] = wanted[0];
        } catch (const DeviceError&) {
        }
        expect_same(states_of(fleet, kHeap, kHeap + 16 * kPageBytes), wanted, "fork");
      }
    }
    // Without them there is room.
    kept.clear();
    fleet.map(all_lanes(fleet), kHeap, kPages * kPageBytes, kRead | kWrite);
    fleet.fill(x(1), kHeap);
    fleet.fill(x(4), lanes == 1 ? 8 : 1);
    fleet.fill(Field::pc, kCode);
    fleet.resume_all();
    fleet.run();
    if (lanes == 1) expect_all_stopped(fleet, halt());
  }
}

}  // namespace
}  // namespace fleet_test
