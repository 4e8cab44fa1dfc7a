// SPDX-License-Identifier: Apache-2.0
// Any split of a run into calls, batches, modes, engines, time-outs, cancels and restored snapshots gives the state and
// the counts of one run. When a time-out or a cancel takes effect depends on the machine, but the result must not.
#include "mode_fixture.h"

namespace fleet_test {
namespace {

/// Lanes, seed, and whether the program changes itself.
class Splits : public testing::TestWithParam<std::tuple<uint64_t, uint32_t, bool>> {};
INSTANTIATE_TEST_SUITE_P(All, Splits,
                         testing::Combine(testing::Values(1, 5, 40, 1000), testing::Values(1u, 2u, 3u),
                                          testing::Bool()),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) + "_lanes_seed_" +
                                  std::to_string(std::get<1>(info.param)) +
                                  (std::get<2>(info.param) ? "_changes_itself" : "");
                         });

/// Runs the wandering program in one run, and in random pieces. `scale`: the factor by which program and pieces are
/// longer.
void split(uint64_t lanes, uint32_t seed, bool changes_itself, uint64_t rounds, uint64_t scale) {
  const Words words = wandering_program(changes_itself);
  const uint32_t permissions = kRead | kExecute | (changes_itself ? uint32_t{kWrite} : 0);
  Fleet whole = fleet_of(words, lanes, permissions), parts = fleet_of(words, lanes, permissions);
  std::mt19937 random(seed * 7919 + static_cast<uint32_t>(lanes));
  auto below = [&](uint64_t end) { return std::uniform_int_distribution<uint64_t>(0, end - 1)(random); };
  // Some lanes end at a limit in the middle.
  for (Fleet* fleet : {&whole, &parts}) {
    prepare_wandering(*fleet, rounds);
    set_each(*fleet, Field::limit, [](uint64_t lane) { return lane % 4 == 1 ? 300 + lane % 25 * 13 : kEndless; });
  }
  whole.run();
  uint64_t sum = 0;
  for (int call = 0; call < 400; call++) {
    const How& how = kHows[below(std::size(kHows))];
    RunOptions options =
        budget_of(1 + below(scale * (call % 3 == 0 ? 20 : 3000)), 1 + below(scale * (call % 2 == 0 ? 2000 : 200)));
    // Few batches are not worth the launches, and an endless budget is cut by batches, time or a cancel.
    if (options.instructions / options.instructions_per_batch > 40) options.instructions_per_batch = 400 * scale;
    options.mode = how.mode;
    constexpr Engine kEngines[] = {Engine::interpreter, Engine::stepper, Engine::translate};
    options.engine = kEngines[below(on_cpu() ? 3 : 2)];
    switch (below(5)) {
      case 0: options.max_batches = 1 + below(5); break;
      case 1: options.timeout = 0.0005; break;
      case 2: parts.cancel(); break;
      case 3: options.go_on = below(2) == 0; break;
      default: break;
    }
    if (!how.batches()) options.max_batches = kEndless;
    // Sometimes the test restores the state before the call.
    Snapshot before;
    const bool taken_back = below(6) == 0;
    if (taken_back) before = parts.snapshot();
    RunResult result;
    if (how.async) {
      parts.start(options);
      if (below(2) == 0) {
        const uint64_t enough = below(2000 * scale * lanes);
        until([&] {
          const Poll poll = parts.poll();
          return !poll.running || poll.instructions >= enough;
        });
        parts.cancel();
      }
      result = parts.wait().value();
    } else {
      result = parts.run(options);
    }
    if (taken_back) parts.restore(before);
    else sum += result.instructions;
    bool all_done = true;
    std::vector<uint64_t> counts(lanes), limits(lanes);
    parts.get_all(Field::instructions, counts);
    parts.get_all(Field::limit, limits);
    for (uint64_t lane = 0; lane < lanes; lane++) {
      all_done &= parts.stops()[lane].reason == StopReason::halt || counts[lane] == limits[lane];
    }
    if (all_done) break;
  }
  // To the end, whatever the random calls left; the first of these may meet a cancel that came too late for its run.
  for (int again = 0; again < 2; again++) sum += parts.run().instructions;
  const uint64_t begin = lanes == 1000 ? kData : kCode;
  expect_same(states_of(parts, begin), states_of(whole, begin), "split against whole");
  std::vector<uint64_t> counts(lanes);
  whole.get_all(Field::instructions, counts);
  EXPECT_EQ(sum, std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
  uint64_t halted = 0;
  for (const Stop& stop : whole.stops()) halted += stop.reason == StopReason::halt;
  EXPECT_EQ(halted, lanes - (lanes + 2) / 4);
}

TEST_P(Splits, LeaveTheStateOfOneRun) {
  auto [lanes, seed, changes_itself] = GetParam();
  if (lanes == 1000 && (seed != 1 || changes_itself)) GTEST_SKIP() << "once is enough";
  split(lanes, seed, changes_itself, lanes == 1000 ? 60 : 800, 1);
}

TEST(SplitsOfLongRuns, LeaveTheStateOfOneRun) {
  // Long enough for a cancel to come in the middle of a lane's batch.
  for (uint32_t seed : {1u, 2u, 3u}) split(5, seed, false, 20'000, 60);
}

}  // namespace
}  // namespace fleet_test
