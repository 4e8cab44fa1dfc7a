// SPDX-License-Identifier: Apache-2.0
// Lanes that a run leaves out stay as they are until a handler resumes them; and lanes that nothing has changed cost
// nothing to restore.
#include "mode_fixture.h"

namespace fleet_test {
namespace {

TEST(LeftOut, ALaneThatAHandlerResumesHasTheWholeBudget) {
  for (bool restored : {false, true}) {
    Fleet fleet = fleet_of({guest::add(1, 1, 1), guest::b(-1)}, 40);
    const std::vector<uint32_t> late = {1, 33};
    fleet.resume_all();
    Snapshot begin = fleet.snapshot(late);
    fleet.run(budget_of(100));
    ASSERT_EQ(fleet.stops()[1].reason, StopReason::budget);
    if (restored) fleet.set(Field::instructions, late, std::vector<uint64_t>{0, 0});
    fleet.resume({{0}});
    RunOptions options = budget_of(1000, 100);
    options.mode = Mode::continuous;
    options.go_on = false;
    options.on_batch = [&](Fleet& running, const BatchReport& report) {
      if (report.batch == 2) restored ? running.restore(begin) : running.resume(late);
      return true;
    };
    const RunResult result = fleet.run(options);
    EXPECT_EQ(result.instructions, 3000u);
    EXPECT_EQ(result.batches, 13u);
    EXPECT_EQ(stops_of(result, StopReason::budget), 3u);
    for (uint32_t lane = 0; lane < 40; lane++) {
      const bool ran = lane == 0 || lane == 1 || lane == 33;
      const uint64_t before = restored && lane != 0 && ran ? 0 : 100;
      EXPECT_EQ(fleet.get(Field::instructions, lane), before + (ran ? 1000u : 0u)) << "lane " << lane;
    }
  }
}

TEST(LeftOut, ALaneOutOfMemoryWaitsUntilItIsResumed) {
  // Lanes 0 and 32 write more pages than a GPU's pool has at first, so that it grows in the middle of the run.
  constexpr uint64_t kPages = 2000;
  Fleet fleet(program_of({guest::str(2, 2, 1), guest::add_register(1, 1, 3), guest::subs(4, 4, 1),
                          guest::b_cond(guest::kNe, -3), guest::hlt(1)}),
              options_of(40, (kPages + 64) * kPageBytes));
  fleet.map(all_lanes(fleet), kData, kPages * kPageBytes, kRead | kWrite);
  fleet.fill(x(1), kData);
  fleet.fill(x(3), kPageBytes);
  fleet.fill(x(4), kPages);
  std::vector<uint32_t> waiting;
  for (uint32_t lane = 0; lane < 40; lane++) {
    if (lane % 32 != 0) waiting.push_back(lane);
  }
  const Stop starved{StopReason::out_of_memory, myriarm::FaultKind::none, 0, 0};
  fleet.set_stops(waiting, std::vector<Stop>(waiting.size(), starved));
  const RunResult result = fleet.run(budget_of(kPages * 10, 1000));
  EXPECT_EQ(stops_of(result, StopReason::halt), 2u);
  EXPECT_EQ(all_stops(result), 2u);
  EXPECT_EQ(result.instructions, 2 * 4 * kPages);
  for (uint32_t lane : waiting) {
    EXPECT_EQ(fleet.get(Field::instructions, lane), 0u) << "lane " << lane;
    EXPECT_EQ(fleet.stops()[lane].reason, StopReason::out_of_memory) << "lane " << lane;
  }
}

TEST(LeftOut, LanesThatAHandlerRestoresToTheEndOfABatchGoOnWhateverTheOthersDo) {
  for (bool go_on : {true, false}) {
    // Lanes count to 10 and fault; the snapshot has them at 4, where a budget ended.
    Fleet fleet = fleet_of({guest::add(1, 1, 1), guest::subs(2, 2, 1), guest::b_cond(guest::kNe, -2), 0}, 40);
    fleet.fill(x(2), 10);
    fleet.run(budget_of(12));
    Snapshot snapshot = fleet.snapshot();
    fleet.run();
    ASSERT_EQ(fleet.stops()[5].reason, StopReason::undefined);
    fleet.resume({{0}});
    const uint64_t before = fleet.get(Field::instructions, 5);
    RunOptions options = budget_of(1000, 100);
    options.mode = Mode::continuous;
    options.go_on = go_on;
    uint64_t restored = 0, told = 0;
    options.on_batch = [&](Fleet& running, const BatchReport&) {
      told++;
      if (restored++ < 3) running.restore(snapshot);
      return true;
    };
    const RunResult result = fleet.run(options);
    EXPECT_EQ(result.instructions, 3 * 40 * (before - 12));
    EXPECT_EQ(result.batches, told);
    EXPECT_EQ(stops_of(result, StopReason::undefined), 40u);
    EXPECT_EQ(all_stops(result), 40u);
    EXPECT_EQ(result.lanes_left, 0u);
  }
}

TEST(LeftOut, ATouchOfAHandlerAddsNoBatchWhereNoLaneHasBudget) {
  Fleet fleet = fleet_of({guest::add(1, 1, 1), guest::b(-1)}, 40);
  RunOptions options = budget_of(100, 50);
  options.mode = Mode::continuous;
  options.on_batch = [&](Fleet& running, const BatchReport&) {
    running.set_stops({{7}}, {{halt(3)}});
    return true;
  };
  const RunResult result = fleet.run(options);
  EXPECT_EQ(result.batches, 2u);
  EXPECT_EQ(result.instructions, 39u * 100 + 50);
  EXPECT_EQ(stops_of(result, StopReason::budget), 39u);
}

TEST(LeftOut, LanesThatAreAsTheSnapshotHasThemCostNothingToRestore) {
  Fleet fleet = fleet_of({guest::str(2, 2, 1), guest::hlt(1)}, 64);
  fleet.fill(x(1), kData);
  fleet.run();
  Snapshot snapshot = fleet.snapshot();
  const uint64_t used = fleet.pool_used();
  ASSERT_NE(used, 0u);
  fleet.restore(snapshot, {{3, 40, 41}});
  EXPECT_EQ(fleet.pool_used(), used);
  fleet.restore(snapshot);
  EXPECT_EQ(fleet.pool_used(), used);
}

}  // namespace
}  // namespace fleet_test
