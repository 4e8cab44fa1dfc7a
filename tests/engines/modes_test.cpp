// SPDX-License-Identifier: Apache-2.0
// All modes give the same results: the tests of the earlier systems in every mode and memory policy, then budgets,
// batches, reports and time-outs. split_test.cpp tests that no way to split a run changes its result.
#include <cmath>

#include "mode_fixture.h"

namespace fleet_test {
namespace {

TEST(ModeFixture, WordsAreWhatTheySay) {
  const std::pair<uint32_t, const char*> rows[] = {{ubfx(1, 19, 33, 13), "ubfm x1, x19, #33, #45"},
                                                   {tbnz(19, 60, -2), "tbnz x19, #60, 0xfff8"},
                                                   {tbnz(3, 5, 2), "tbnz w3, #5, 0x10008"},
                                                   {add_shifted(4, 27, 5, 10), "add x4, x27, x5, lsl #10"},
                                                   {stxr(2, 3, 1), "stxr w2, x3, [x1]"}};
  for (const auto& [word, text] : rows) {
    std::string have = myriarm::disassemble(word, kCode);
    std::replace(have.begin(), have.end(), '\t', ' ');
    EXPECT_EQ(have, text);
  }
}

// ---------------------------------------------------------------- the checks of the earlier systems

/// A program, and the state of every lane after it.
struct Check {
  const char* name;
  Words words;
  uint64_t budget;
  Stop stop;
  uint64_t instructions;
  std::vector<std::pair<unsigned, uint64_t>> registers;  // number and value
  std::vector<std::pair<uint64_t, uint64_t>> memory;     // address and doubleword
  uint64_t stores_at = 0;  // with read-only memory: instructions retired before the first store, if memory is not empty
};

constexpr Stop syscall_stop(uint32_t imm16) { return {StopReason::syscall, FaultKind::none, imm16, 0}; }

const std::vector<Check>& checks() {
  using namespace guest;
  const uint64_t second = kData + 2 * kPageBytes;  // zeros at first
  static const std::vector<Check> all = {
      {"str_64",
       {movz(1, 2, 16), movz(0, 0x1234), movk(0, 0xABCD, 48), str(3, 0, 1), hlt(0)},
       kEndless,
       halt(),
       4,
       {},
       {{kData, 0xABCD000000001234}},
       3},
      {"str_then_ldr_64",
       {movz(1, 2, 16), movz(0, 0x4242), str(3, 0, 1), ldr(3, 2, 1), hlt(0)},
       kEndless,
       halt(),
       4,
       {{2, 0x4242}},
       {{kData, 0x4242}},
       2},
      {"strb",
       {movz(1, 2, 16), movk(1, 0x2000), movz(0, 0x1FF), str(0, 0, 1), hlt(0)},
       kEndless,
       halt(),
       4,
       {},
       {{second, 0xFF}},
       3},
      {"str_32",
       {movz(1, 2, 16), movk(1, 0x2000), movz(0, 0xBEEF), movk(0, 7, 32), str(2, 0, 1), hlt(0)},
       kEndless,
       halt(),
       5,
       {},
       {{second, 0xBEEF}},
       4},
      {"several_addresses",
       {movz(1, 2, 16), movk(1, 0x2000), movz(0, 1), str_post(0, 1, 8), movz(0, 2), str_post(0, 1, 120), movz(0, 3),
        str(3, 0, 1), hlt(0)},
       kEndless,
       halt(),
       8,
       {{1, second + 128}},
       {{second, 1}, {second + 8, 2}, {second + 16, 0}, {second + 128, 3}},
       3},
      {"str_in_a_loop",
       {movz(1, 2, 16), movk(1, 0x2000), movz(2, 100), str_post(2, 1, 8), subs(2, 2, 1), b_cond(kNe, -2), hlt(0)},
       kEndless,
       halt(),
       3 + 300,
       {{1, second + 800}, {2, 0}},
       {{second, 100}, {second + 792, 1}, {second + 800, 0}},
       3},
      {"movz", {movz(0, 42), movz(1, 0xFFFF, 48), hlt(0)}, kEndless, halt(), 2, {{0, 42}, {1, 0xFFFF000000000000}}, {}},
      {"add_immediate", {movz(0, 100), add(0, 0, 50), hlt(0)}, kEndless, halt(), 2, {{0, 150}}, {}},
      {"sub_immediate",
       {movz(0, 100), sub(0, 0, 30), sub(1, 1, 1), hlt(0)},
       kEndless,
       halt(),
       3,
       {{0, 70}, {1, ~uint64_t{0}}},
       {}},
      {"b", {movz(0, 1), b(2), movz(0, 99), hlt(0)}, kEndless, halt(), 2, {{0, 1}}, {}},
      {"cbnz_loop",
       {movz(0, 10), sub(0, 0, 1), add(1, 1, 1), cbnz(0, -2), hlt(0)},
       kEndless,
       halt(),
       31,
       {{0, 0}, {1, 10}},
       {}},
      {"hlt_stops", {nop(), hlt(0x55), movz(0, 1)}, kEndless, halt(0x55), 1, {{0, 0}}, {}},
      {"svc_stops", {movz(8, 93), svc(0), movz(0, 1)}, kEndless, syscall_stop(0), 2, {{0, 0}, {8, 93}}, {}},
      {"budget_stops", {add(0, 0, 1), b(-1)}, 1001, plain(StopReason::budget), 1001, {{0, 501}}, {}},
  };
  return all;
}

class ModeChecks : public testing::TestWithParam<std::tuple<How, MemoryPolicy>> {
 protected:
  How how() const { return std::get<0>(GetParam()); }
  MemoryPolicy policy() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(All, ModeChecks, testing::Combine(testing::ValuesIn(kHows), testing::ValuesIn(kPolicies)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  policy_name(std::get<1>(info.param));
                         });

/// The number of batches that a lane needs which retires this many instructions and gets this stop.
uint64_t batches_of(const How& how, uint64_t instructions, uint64_t per_batch, const Stop& stop) {
  if (!how.batches()) return 1;
  // A HLT or a fault that begins a batch takes another one, since the lane had retired the whole batch before it.
  bool needs_budget = stop.reason == StopReason::halt || stop.reason == StopReason::fault;
  return needs_budget ? instructions / per_batch + 1 : (instructions + per_batch - 1) / per_batch;
}

void check(const Check& check, const How& how, MemoryPolicy policy, uint64_t lanes, uint64_t per_batch) {
  SCOPED_TRACE(std::string(check.name) + ", " + std::to_string(lanes) + " lanes, batches of " +
               std::to_string(per_batch));
  Fleet fleet = fleet_of(check.words, lanes, policy);
  const bool refused = policy == MemoryPolicy::read_only && !check.memory.empty();
  const Stop stop = refused ? fault(FaultKind::write, 0) : check.stop;
  const uint64_t instructions = refused ? check.stores_at : check.instructions;
  RunResult result = drive(fleet, how, budget_of(check.budget, per_batch));
  EXPECT_EQ(result.instructions, lanes * instructions);
  EXPECT_EQ(result.batches, batches_of(how, instructions, per_batch, stop));
  EXPECT_EQ(result.signal, signal_of(stop.reason));
  EXPECT_EQ(result.stopped, lanes);
  EXPECT_EQ(stops_of(result, stop.reason), lanes);
  EXPECT_EQ(all_stops(result), lanes);
  EXPECT_EQ(result.lanes_left, stop.reason == StopReason::budget ? lanes : 0);
  EXPECT_FALSE(result.timed_out);
  auto each = [&](auto value) { return std::vector<decltype(value)>(lanes, value); };
  EXPECT_EQ(values_of(fleet, Field::instructions), each(instructions));
  if (refused) {
    for (uint32_t lane = 0; lane < lanes; lane++) {
      EXPECT_EQ(fleet.stops()[lane].fault, FaultKind::write) << describe(lane, fleet.stops()[lane]);
      EXPECT_GE(fleet.stops()[lane].address, kData);
    }
    EXPECT_EQ(values_of(fleet, Field::pc), each(kCode + 4 * check.stores_at));
    EXPECT_EQ(memory_of(fleet, kData, 2 * kPageBytes), each(initial_bytes(kData, 2 * kPageBytes)));
    return;
  }
  expect_all_stopped(fleet, stop);
  for (auto [number, value] : check.registers) EXPECT_EQ(values_of(fleet, x(number)), each(value)) << "x" << number;
  for (auto [address, value] : check.memory) {
    for (const auto& bytes : memory_of(fleet, address, 8)) EXPECT_EQ(number_of(bytes), value) << address;
  }
}

TEST_P(ModeChecks, OfTheEarlierSystems) {
  for (uint64_t lanes : kFleetSizes) {
    for (const Check& each : checks()) {
      check(each, how(), policy(), lanes, 10'000'000);
      if (how().batches() && lanes == 5) {
        for (uint64_t per_batch : {1, 2, 7}) check(each, how(), policy(), lanes, per_batch);
      }
    }
  }
}

TEST_P(ModeChecks, OneMillionInstructionsWithStores) {
  const Words words = {guest::movz(1, 2, 16), guest::add(0, 0, 1), guest::str(3, 0, 1), guest::b(-2)};
  Fleet fleet = fleet_of(words, 1, policy());
  RunResult result = drive(fleet, how(), budget_of(1'000'000, 300'000));
  if (policy() == MemoryPolicy::read_only) {
    EXPECT_EQ(result.instructions, 2u);
    expect_all_stopped(fleet, fault(FaultKind::write, kData));
    return;
  }
  EXPECT_EQ(result.instructions, 1'000'000u);
  EXPECT_EQ(result.signal, Signal::checkpoint);
  EXPECT_EQ(result.batches, how().batches() ? 4u : 1u);
  // One MOVZ, then 333,333 iterations of three instructions.
  EXPECT_EQ(fleet.get(x(0), 0), 333'333u);
  EXPECT_EQ(fleet.get(Field::pc, 0), kCode + 4);
  EXPECT_EQ(number_of(fleet.read(0, kData, 8)), 333'333u);
}

// ---------------------------------------------------------------- budgets, batches and reports

class Modes : public testing::TestWithParam<std::tuple<How, uint64_t>> {
 protected:
  How how() const { return std::get<0>(GetParam()); }
  uint64_t lanes() const { return std::get<1>(GetParam()); }
};
std::string mode_label(const testing::TestParamInfo<std::tuple<How, uint64_t>>& info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::to_string(std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(All, Modes, testing::Combine(testing::ValuesIn(kHows), testing::ValuesIn(kFleetSizes)),
                         mode_label);
/// Those with batches, and those whose batches the host starts.
class BatchedModes : public Modes {};
class ContinuousModes : public Modes {};
INSTANTIATE_TEST_SUITE_P(All, BatchedModes,
                         testing::Combine(testing::Values(kHows[1], kHows[3], kHows[5], kHows[6]),
                                          testing::ValuesIn(kFleetSizes)),
                         mode_label);
INSTANTIATE_TEST_SUITE_P(All, ContinuousModes,
                         testing::Combine(testing::Values(kHows[1], kHows[5]), testing::ValuesIn(kFleetSizes)),
                         mode_label);

/// SUBS, B.NE: twice as many instructions as x0 says, then HLT.
Words countdown() { return {guest::subs(0, 0, 1), guest::b_cond(guest::kNe, -1), guest::hlt(3)}; }
/// A length for each lane, all different.
uint64_t rounds_of(uint64_t lane) { return 10 + lane * 37 % 41 * 9; }

TEST_P(Modes, BudgetIsOfEachCallAndGoesOn) {
  for (uint64_t per_batch : {7u, 100u, 10'000'000u}) {
    Fleet fleet = fleet_of(countdown(), lanes());
    set_each(fleet, x(0), rounds_of);
    uint64_t done = 0;
    for (uint64_t budget : {1u, 2u, 50u, 33u, 700u}) {
      RunResult result = drive(fleet, how(), budget_of(budget, per_batch));
      uint64_t sum = 0, longest = 0, left = 0, halts = 0;
      const std::vector<uint64_t> counts = values_of(fleet, Field::instructions), x0 = values_of(fleet, x(0));
      for (uint32_t lane = 0; lane < lanes(); lane++) {
        const uint64_t total = 2 * rounds_of(lane);
        const uint64_t before = std::min(done, total), after = std::min(done + budget, total);
        const bool had_halted = done > total;  // the HLT needs budget of its own
        sum += after - before;
        if (!had_halted) longest = std::max(longest, std::min(budget, after - before + 1));
        EXPECT_EQ(counts[lane], after);
        EXPECT_EQ(x0[lane], rounds_of(lane) - (after + 1) / 2);
        expect_stop(fleet, lane, done + budget > total ? halt(3) : plain(StopReason::budget));
        left += done + budget <= total;
        halts += done + budget > total && !had_halted;
      }
      EXPECT_EQ(result.instructions, sum);
      EXPECT_EQ(result.lanes_left, left);
      EXPECT_EQ(result.stopped, lanes());
      EXPECT_EQ(stops_of(result, StopReason::halt), halts);
      EXPECT_EQ(stops_of(result, StopReason::budget), left);
      EXPECT_EQ(result.signal, halts > 0 ? Signal::halt : Signal::checkpoint);
      if (how().batches() && longest > 0) {
        EXPECT_EQ(result.batches, (longest + per_batch - 1) / per_batch) << budget << " in batches of " << per_batch;
      }
      done += budget;
    }
    expect_all_stopped(fleet, halt(3));
    // Nothing is left: a run does nothing.
    RunResult result = drive(fleet, how(), budget_of(100, per_batch));
    EXPECT_EQ(result.instructions, 0u);
    EXPECT_EQ(result.lanes_left, 0u);
    EXPECT_EQ(all_stops(result), 0u);
    expect_all_stopped(fleet, halt(3));
  }
}

TEST_P(Modes, TheLowerOfLimitAndBudgetCounts) {
  Fleet fleet = fleet_of({guest::add(0, 0, 1), guest::b(-1)}, lanes());
  auto limit = [](uint64_t lane) { return 60 + lane * 29 % 83; };
  set_each(fleet, Field::limit, limit);
  for (uint64_t round = 1; round <= 4; round++) {
    RunResult result = drive(fleet, how(), budget_of(45, 20));
    uint64_t sum = 0, left = 0;
    for (uint32_t lane = 0; lane < lanes(); lane++) {
      uint64_t retired = std::min(45 * round, limit(lane));
      sum += retired - std::min(45 * (round - 1), limit(lane));
      left += retired < limit(lane);
      EXPECT_EQ(fleet.get(Field::instructions, lane), retired);
      EXPECT_EQ(fleet.get(Field::limit, lane), limit(lane)) << "a budget is not a limit";
    }
    EXPECT_EQ(result.instructions, sum);
    EXPECT_EQ(result.lanes_left, left) << "a lane at its limit does not go on";
    EXPECT_EQ(result.signal, Signal::checkpoint);
    expect_all_stopped(fleet, plain(StopReason::budget));
  }
}

TEST_P(Modes, LanesThatWereCancelledWaitIfToldNotToGoOn) {
  Fleet fleet = fleet_of({guest::add(0, 0, 1), guest::b(-1)}, lanes());
  fleet.cancel();
  EXPECT_EQ(drive(fleet, how()).instructions, 0u);
  expect_all_stopped(fleet, plain(StopReason::cancelled));
  const std::vector<uint32_t> even = even_lanes(fleet);
  fleet.resume(even);
  RunOptions options = budget_of(6, 4);
  options.go_on = false;
  EXPECT_EQ(drive(fleet, how(), options).instructions, 6 * even.size());
  const std::vector<uint64_t> counts = values_of(fleet, Field::instructions);
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    EXPECT_EQ(counts[lane], lane % 2 == 0 ? 6u : 0u) << "lane " << lane;
    expect_stop(fleet, lane, plain(lane % 2 == 0 ? StopReason::budget : StopReason::cancelled));
  }
  // Told to go on, they run with the others.
  EXPECT_EQ(drive(fleet, how(), budget_of(6, 4)).instructions, 6 * lanes());
}

TEST_P(Modes, RunsOnlyFreshLanesIfToldNotToGoOn) {
  Fleet fleet = fleet_of({guest::add(0, 0, 1), guest::b(-1)}, lanes());
  drive(fleet, how(), budget_of(10));
  std::vector<uint32_t> even = even_lanes(fleet);
  fleet.resume(even);
  RunOptions options = budget_of(6, 4);
  options.go_on = false;
  RunResult result = drive(fleet, how(), options);
  EXPECT_EQ(result.instructions, 6 * even.size());
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    EXPECT_EQ(fleet.get(Field::instructions, lane), lane % 2 == 0 ? 16u : 10u);
  }
  expect_all_stopped(fleet, plain(StopReason::budget));
}

TEST_P(BatchedModes, MaxBatchesLeavesTheRest) {
  Fleet fleet = fleet_of(countdown(), lanes());
  set_each(fleet, x(0), rounds_of);
  RunOptions options = budget_of(kEndless, 13);
  options.max_batches = 3;
  RunResult result = drive(fleet, how(), options);
  uint64_t left = 0;
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    bool halts = 2 * rounds_of(lane) < 39;
    EXPECT_EQ(fleet.get(Field::instructions, lane), std::min<uint64_t>(39, 2 * rounds_of(lane)));
    expect_stop(fleet, lane, halts ? halt(3) : plain(StopReason::budget));
    left += !halts;
  }
  EXPECT_EQ(result.batches, left > 0 ? 3u : 2u);
  EXPECT_EQ(result.lanes_left, left);
  EXPECT_EQ(stops_of(result, StopReason::budget), left);
  // And the rest is done by the next.
  EXPECT_EQ(drive(fleet, how(), budget_of(kEndless, 13)).lanes_left, 0u);
  expect_all_stopped(fleet, halt(3));
}

TEST_P(ContinuousModes, ReportsEachBatch) {
  constexpr uint64_t kBatch = 100;
  // Lanes halt, fault and break in different batches.
  Fleet fleet = fleet_of(
      {guest::subs(0, 0, 1), guest::b_cond(guest::kNe, -1), guest::cbz(2, 2), guest::br(3), guest::brk(4)}, lanes());
  set_each(fleet, x(0), rounds_of);
  set_each(fleet, x(2), [](uint64_t lane) { return lane % 3; });
  std::vector<BatchReport> reports;
  RunOptions options = budget_of(kEndless, kBatch);
  options.on_batch = [&](Fleet& in_batch, const BatchReport& report) {
    // The handler can use the fleet, whose state agrees with the report.
    uint64_t stopped = 0;
    for (const Stop& stop : in_batch.stops()) stopped += stop.reason == StopReason::budget;
    EXPECT_EQ(stopped, report.lanes_left);
    EXPECT_LE(in_batch.get(Field::instructions, 0), (report.batch + 1) * kBatch);
    in_batch.set(x(9), 0, report.batch + 1);
    reports.push_back(report);
    return true;
  };
  RunResult result = drive(fleet, how(), options);
  ASSERT_EQ(reports.size(), result.batches);
  EXPECT_EQ(fleet.get(x(9), 0), result.batches);
  uint64_t sum = 0;
  for (uint64_t batch = 0; batch < reports.size(); batch++) {
    const BatchReport& report = reports[batch];
    uint64_t instructions = 0, left = 0, faults = 0, breaks = 0;
    for (uint64_t lane = 0; lane < lanes(); lane++) {
      // A fault is at the branch's target, after it; BRK does not retire.
      const bool breaks_off = lane % 3 == 0;
      const uint64_t total = 2 * rounds_of(lane) + (breaks_off ? 1 : 2);
      const uint64_t done = std::min(batch * kBatch, total);
      instructions += std::min(kBatch, total - done);
      if (batch * kBatch > total) continue;
      if (total >= (batch + 1) * kBatch) {
        left++;
      } else if (batch == total / kBatch) {
        (breaks_off ? breaks : faults)++;
      }
    }
    EXPECT_EQ(report.batch, batch);
    EXPECT_EQ(report.instructions, instructions) << batch;
    EXPECT_EQ(report.lanes_left, left) << batch;
    EXPECT_EQ(stops_of(report, StopReason::budget), left) << batch;
    EXPECT_EQ(stops_of(report, StopReason::fault), faults) << batch;
    EXPECT_EQ(stops_of(report, StopReason::breakpoint), breaks) << batch;
    EXPECT_EQ(all_stops(report), left + faults + breaks);
    EXPECT_EQ(report.signal, faults > 0 ? Signal::fault : breaks > 0 ? Signal::breakpoint : Signal::checkpoint);
    sum += report.instructions;
  }
  EXPECT_EQ(sum, result.instructions);
  EXPECT_EQ(result.signal, lanes() > 1 ? Signal::fault : Signal::breakpoint);
  EXPECT_EQ(result.lanes_left, 0u);
}

TEST_P(ContinuousModes, OnBatchEndsTheRun) {
  Fleet fleet = fleet_of({guest::add(0, 0, 1), guest::b(-1)}, lanes());
  RunOptions options = budget_of(kEndless, 10);
  options.on_batch = [](Fleet&, const BatchReport& report) { return report.batch < 2; };
  RunResult result = drive(fleet, how(), options);
  EXPECT_EQ(result.batches, 3u);
  EXPECT_EQ(result.instructions, 30 * lanes());
  EXPECT_EQ(result.lanes_left, lanes());
  expect_all_stopped(fleet, plain(StopReason::budget));
  // An exception from it ends the run, and the lanes can be resumed.
  options.on_batch = [](Fleet&, const BatchReport&) -> bool { throw std::runtime_error("no more"); };
  try {
    drive(fleet, how(), options);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "no more");
  }
  EXPECT_FALSE(fleet.is_running());
  EXPECT_EQ(fleet.get(x(0), 0), 20u);
  EXPECT_EQ(drive(fleet, how(), budget_of(5, 2)).instructions, 5 * lanes());
  EXPECT_EQ(fleet.get(Field::instructions, 0), 45u);
}

TEST_P(Modes, OptionsThatDoNotGoTogetherAreRefused) {
  Fleet fleet = fleet_of({guest::add(0, 0, 1), guest::hlt(0)}, lanes());
  auto refused = [&](auto change) {
    RunOptions options;
    options.mode = how().mode;
    if (how().mode == Mode::mega) options.instructions = 100;
    change(options);
    try {
      if (how().async) fleet.start(options);
      else fleet.run(options);
      ADD_FAILURE() << "nothing was thrown";
      if (how().async) fleet.wait();
    } catch (const myriarm::ArgumentError& error) {
      EXPECT_NE(std::string(error.what()), "");
    }
    EXPECT_FALSE(fleet.is_running());
  };
  refused([](RunOptions& options) { options.timeout = -1; });
  refused([](RunOptions& options) { options.timeout = std::nan(""); });
  if (how().mode == Mode::mega) refused([](RunOptions& options) { options.instructions = kEndless; });
  if (how().batches()) refused([](RunOptions& options) { options.instructions_per_batch = 0; });
  if (how().mode != Mode::continuous) {
    refused([](RunOptions& options) { options.on_batch = [](Fleet&, const BatchReport&) { return true; }; });
  }
  refused([](RunOptions& options) { options.mode = static_cast<Mode>(77); });
  // None of these calls has run anything.
  EXPECT_EQ(fleet.get(Field::instructions, 0), 0u);
  EXPECT_EQ(drive(fleet, how()).instructions, lanes());
}

TEST_P(Modes, TimeoutEndsAnEndlessLoop) {
  const Words words = {guest::add(0, 0, 1), guest::eor_register(1, 1, 0), guest::b(-2)};
  Fleet fleet = fleet_of(words, lanes()), again = fleet_of(words, lanes());
  RunOptions options = budget_of(kEndless, 100'000);
  options.timeout = 0.03;
  RunResult result = drive(fleet, how(), options);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, Signal::checkpoint);
  EXPECT_EQ(result.lanes_left, lanes());
  EXPECT_EQ(result.stopped, lanes());
  std::vector<uint64_t> counts(lanes());
  fleet.get_all(Field::instructions, counts);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), uint64_t{0}), result.instructions);
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    const Stop& stop = fleet.stops()[lane];
    EXPECT_TRUE(stop.reason == StopReason::cancelled || (how().batches() && stop.reason == StopReason::budget))
        << describe(lane, stop);
  }
  // At an exact boundary: a run to the same counts is in the same state, and both go on alike.
  again.set_all(Field::limit, counts);
  again.run();
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    for (Field field : {x(0), x(1), Field::pc, Field::instructions}) {
      EXPECT_EQ(fleet.get(field, lane), again.get(field, lane)) << "lane " << lane << " after " << counts[lane];
    }
  }
  options.timeout = 0;
  options.instructions = 1000;
  result = drive(fleet, how(), options);
  EXPECT_EQ(result.instructions, 1000 * lanes());
  EXPECT_FALSE(result.timed_out);
  expect_all_stopped(fleet, plain(StopReason::budget));
}

TEST_P(Modes, TimeThatIsNotNeededChangesNothing) {
  Fleet fleet = fleet_of(countdown(), lanes());
  set_each(fleet, x(0), rounds_of);
  RunOptions options = budget_of(kEndless, 50);
  options.timeout = 600;
  RunResult result = drive(fleet, how(), options);
  EXPECT_FALSE(result.timed_out);
  expect_all_stopped(fleet, halt(3));
}

TEST_P(Modes, LanesWithAStopWaitWhileOthersGoOn) {
  // SVC in every lane; the even ones go on and halt while the odd ones wait and are changed.
  Fleet fleet = fleet_of({guest::svc(1), guest::add(0, 0, 1), guest::svc(2), guest::hlt(0)}, lanes());
  RunResult result = drive(fleet, how());
  EXPECT_EQ(stops_of(result, StopReason::syscall), lanes());
  std::vector<uint32_t> even = even_lanes(fleet), odd;
  for (uint32_t lane = 1; lane < lanes(); lane += 2) odd.push_back(lane);
  fleet.resume(even);
  result = drive(fleet, how(), budget_of(2, 1));
  EXPECT_EQ(result.instructions, 2 * even.size());
  EXPECT_EQ(stops_of(result, StopReason::syscall), even.size());
  EXPECT_EQ(result.stopped, lanes());
  for (uint32_t lane = 0; lane < lanes(); lane++) expect_stop(fleet, lane, syscall_stop(lane % 2 == 0 ? 2 : 1));
  fleet.set(x(0), odd, std::vector<uint64_t>(odd.size(), 40));
  fleet.resume_all();
  drive(fleet, how());
  for (uint32_t lane : odd) {
    expect_stop(fleet, lane, syscall_stop(2));
    EXPECT_EQ(fleet.get(x(0), lane), 41u);
  }
  for (uint32_t lane : even) expect_stop(fleet, lane, halt());
}

class ManyLanes : public testing::TestWithParam<How> {};
INSTANTIATE_TEST_SUITE_P(All, ManyLanes, testing::ValuesIn(kHows),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(ManyLanes, OneHundredThousandEachDoTheirOwn) {
  constexpr uint64_t kLanes = 100'000;
  // x2 = [x1] + x0 after x0 % 4 rounds, and back to memory in one lane of 64.
  const Words words = {
      guest::subs(3, 3, 1), guest::b_cond(guest::kCs, -1), guest::ldr(3, 2, 1), guest::add_register(2, 2, 0),
      guest::cbnz(4, 2),    guest::str(3, 2, 1),           guest::hlt(0)};
  FleetOptions options = options_of(kLanes);
  options.pool = uint64_t{256} << 20;
  Fleet fleet(program_of(words), options);
  set_each(fleet, x(0), [](uint64_t lane) { return lane * lane; });
  fleet.fill(x(1), kData + 64);
  set_each(fleet, x(3), [](uint64_t lane) { return lane % 4; });
  set_each(fleet, x(4), [](uint64_t lane) { return lane % 64; });
  RunResult result = drive(fleet, GetParam(), budget_of(kEndless, 5));
  const uint64_t before = number_of(initial_bytes(kData + 64, 8));
  std::vector<uint64_t> counts(kLanes), sums(kLanes);
  fleet.get_all(Field::instructions, counts);
  fleet.get_all(x(2), sums);
  uint64_t total = 0, wrong = 0;
  for (uint64_t lane = 0; lane < kLanes; lane++) {
    uint64_t wanted = 2 * (lane % 4 + 1) + 3 + (lane % 64 == 0);
    total += wanted;
    wrong +=
        counts[lane] != wanted || sums[lane] != before + lane * lane || fleet.stops()[lane].reason != StopReason::halt;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(result.instructions, total);
  EXPECT_EQ(stops_of(result, StopReason::halt), kLanes);
  for (uint32_t lane : {0u, 1u, 63u, 64u, 65u, 99'904u, 99'999u}) {
    EXPECT_EQ(number_of(fleet.read(lane, kData + 64, 8)), before + (lane % 64 == 0 ? uint64_t{lane} * lane : 0));
  }
}

}  // namespace
}  // namespace fleet_test
