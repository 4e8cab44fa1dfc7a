// SPDX-License-Identifier: Apache-2.0
// Snapshots as objects: the fleet that they belong to, their lifetime, and transactions. Tests of the backends check
// their content.
#include "fleet_of_fakes.h"

namespace fleet_test {
namespace {

std::vector<uint64_t> all_of(const Fleet& fleet, Field field) {
  std::vector<uint64_t> values(fleet.lanes());
  fleet.get_all(field, values);
  return values;
}

void number_lanes(Fleet& fleet, uint64_t offset) {
  std::vector<uint64_t> values(fleet.lanes());
  std::iota(values.begin(), values.end(), offset);
  fleet.set_all(x(1), values);
}

TEST(Snapshots, OfSomeLanesAndBack) {
  Fleet fleet = fleet_of(5);
  number_lanes(fleet, 10);
  const Snapshot some = fleet.snapshot(std::vector<uint32_t>{3, 1});
  const Snapshot none = fleet.snapshot(std::span<const uint32_t>());
  const Snapshot all = fleet.snapshot();
  EXPECT_EQ(some.lanes(), (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(all.lanes(), (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(none.lanes().empty());
  EXPECT_TRUE(Snapshot().lanes().empty());
  number_lanes(fleet, 100);
  set_stop(fleet, 1, StopReason::breakpoint);
  EXPECT_EQ(fleet.stops()[1].reason, StopReason::breakpoint);
  fleet.restore(some);
  EXPECT_EQ(all_of(fleet, x(1)), (std::vector<uint64_t>{100, 11, 102, 13, 104}));
  EXPECT_EQ(fleet.stops()[1].reason, StopReason::none);
  fleet.restore(none);
  fleet.restore(all, std::vector<uint32_t>{4, 0});
  EXPECT_EQ(all_of(fleet, x(1)), (std::vector<uint64_t>{10, 11, 102, 13, 14}));
  fleet.restore(all, {});
  EXPECT_EQ(fleet.get(x(1), 2), 102u);
  fleet.restore(all);
  EXPECT_EQ(fleet.get(x(1), 2), 12u);
}

TEST(Snapshots, MistakesAreRefused) {
  Fleet fleet = fleet_of(5), other = fleet_of(5);
  const Snapshot some = fleet.snapshot(std::vector<uint32_t>{1, 3});
  auto refused = [](auto call) { expect_error<ArgumentError>(call); };
  refused([&] { fleet.snapshot(std::vector<uint32_t>{1, 5}); });
  refused([&] { fleet.snapshot(std::vector<uint32_t>{1, 2, 1}); });
  refused([&] { fleet.restore(some, std::vector<uint32_t>{1, 2}); });
  refused([&] { fleet.restore(some, std::vector<uint32_t>{1, 1}); });
  refused([&] { fleet.restore(some, std::vector<uint32_t>{7}); });
  refused([&] { other.restore(some); });
  refused([&] { other.restore(some, std::vector<uint32_t>{1}); });
  refused([&] { fleet.fork(5, std::vector<uint32_t>{1}); });
  refused([&] { fleet.fork(0, std::vector<uint32_t>{1, 5}); });
  refused([&] { fleet.fork(0, std::vector<uint32_t>{1, 2, 1}); });
  expect_error<StateError>([&] { fleet.restore(Snapshot()); });
}

TEST(Snapshots, ForkGivesLanesTheStateOfOne) {
  Fleet fleet = fleet_of(5);
  number_lanes(fleet, 10);
  set_stop(fleet, 2, StopReason::breakpoint);
  fleet.fork(2, std::vector<uint32_t>{4, 2, 0});
  EXPECT_EQ(all_of(fleet, x(1)), (std::vector<uint64_t>{12, 11, 12, 13, 12}));
  EXPECT_EQ(fleet.stops()[4].reason, StopReason::breakpoint);
  EXPECT_EQ(fleet.stops()[3].reason, StopReason::none);
  fleet.fork(1, {});
  fleet.fork(1, std::vector<uint32_t>{1});
  EXPECT_TRUE(FakeBackend::last().snapshots.empty());
}

TEST(Snapshots, AreGivenBackWhenTheyGo) {
  Fleet fleet = fleet_of(2);
  FakeBackend& backend = FakeBackend::last();
  {
    const Snapshot first = fleet.snapshot();
    Snapshot second = fleet.snapshot();
    EXPECT_EQ(backend.snapshots.size(), 2u);
    second = fleet.snapshot();
    EXPECT_EQ(backend.snapshots.size(), 2u);
    const Snapshot moved = std::move(second);
    EXPECT_EQ(backend.snapshots.size(), 2u);
  }
  EXPECT_TRUE(backend.snapshots.empty());
  // A snapshot that is destroyed while the fleet runs is released at the end of the run.
  backend.script[5] = halt();
  Snapshot kept = fleet.snapshot();
  backend.on_run = [&](const RunOrder&) {
    std::thread([&] { kept = Snapshot(); }).join();
    EXPECT_EQ(backend.snapshots.size(), 1u);
  };
  fleet.run();
  EXPECT_TRUE(backend.snapshots.empty());
}

TEST(Snapshots, OutliveTheirFleetAsNothing) {
  Fleet other = fleet_of(2);
  Snapshot closed, destroyed;
  {
    Fleet first = fleet_of(2), second = fleet_of(2);
    closed = first.snapshot();
    destroyed = second.snapshot();
    first.close();
    expect_error<StateError>([&] { (void)closed.lanes(); });
    expect_error<StateError>([&] { first.restore(closed); });
  }
  expect_error<StateError>([&] { (void)destroyed.lanes(); });
  expect_error<StateError>([&] { other.restore(destroyed); });
  closed = Snapshot();
}

TEST(Transactions, KeepTheStateBeforeTheFirstRun) {
  Fleet fleet = fleet_of(2, MemoryPolicy::transactional);
  FakeBackend& backend = FakeBackend::last();
  backend.script[50] = halt();
  number_lanes(fleet, 7);
  fleet.rollback();  // nothing has run
  fleet.commit();
  EXPECT_EQ(fleet.get(x(1), 0), 7u);
  EXPECT_TRUE(backend.snapshots.empty());
  fleet.run({.instructions = 10});
  EXPECT_EQ(backend.snapshots.size(), 1u);
  number_lanes(fleet, 70);  // after a run, so rollback() undoes this change too
  fleet.start({.instructions = 10});
  fleet.wait();
  EXPECT_EQ(backend.snapshots.size(), 1u) << "only the first run keeps the state";
  EXPECT_EQ(fleet.get(Field::instructions, 0), 20u);
  fleet.rollback();
  EXPECT_TRUE(backend.snapshots.empty());
  EXPECT_EQ(fleet.get(Field::instructions, 0), 0u);
  EXPECT_EQ(fleet.get(x(1), 0), 7u);
  EXPECT_EQ(fleet.stops()[0].reason, StopReason::none);
  fleet.rollback();
  fleet.run();
  fleet.commit();
  EXPECT_TRUE(backend.snapshots.empty());
  fleet.rollback();
  EXPECT_EQ(fleet.get(Field::instructions, 0), 50u);
  EXPECT_EQ(fleet.stops()[0].reason, StopReason::halt);
  fleet.run();
  EXPECT_EQ(backend.snapshots.size(), 1u);

  Fleet plain = fleet_of(2);
  expect_error<StateError>([&] { plain.commit(); });
  expect_error<StateError>([&] { plain.rollback(); });
  plain.run({.instructions = 1});
  EXPECT_TRUE(FakeBackend::last().snapshots.empty());
}

TEST(Views, OfPagedMemoryAreRefused) {
  for (MemoryPolicy policy : {MemoryPolicy::private_copy, MemoryPolicy::read_only, MemoryPolicy::transactional}) {
    Fleet fleet = fleet_of(1, policy);
    expect_error<StateError>([&] { fleet.memory_view(); });
  }
  Fleet fleet = fleet_of(1, MemoryPolicy::shared);
  fleet.memory_view();
  fleet.view(x(3));
  expect_error<ArgumentError>([&] { fleet.view(Field::count); });
}

}  // namespace
}  // namespace fleet_test
