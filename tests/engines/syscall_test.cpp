// SPDX-License-Identifier: Apache-2.0
// System calls that the caller serves: the arrays that the handler gets, the effect of its results and actions, and
// exact counts and budgets across calls, in every mode.
#include <stdexcept>

#include "mode_fixture.h"

namespace fleet_test {
namespace {

class Syscalls : public testing::TestWithParam<std::tuple<How, uint64_t>> {
 protected:
  How how() const { return std::get<0>(GetParam()); }
  uint64_t lanes() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(All, Syscalls, testing::Combine(testing::ValuesIn(kHows), testing::ValuesIn(kFleetSizes)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

constexpr Stop syscall_stop(uint32_t imm16) { return {StopReason::syscall, FaultKind::none, imm16, 0}; }

RunOptions serving(myriarm::SyscallHandler handler, uint64_t instructions = kEndless, uint64_t per_batch = 10'000'000) {
  RunOptions options = budget_of(instructions, per_batch);
  options.on_syscall = std::move(handler);
  return options;
}

/// x0 iterations with a system call of number x8, whose results are added up in x10; then HLT.
Words calling() {
  return {guest::add(9, 0, 0),  guest::add(0, 9, 0),           guest::svc(0x21), guest::add_register(10, 10, 0),
          guest::subs(9, 9, 1), guest::b_cond(guest::kNe, -4), guest::hlt(0)};
}
/// The instructions of this many iterations.
uint64_t calling_count(uint64_t rounds) { return 1 + 5 * rounds; }

TEST_P(Syscalls, HandlerSeesEachLane) {
  Fleet fleet = fleet_of({guest::nop(), guest::svc(0x1234), guest::add(1, 0, 0), guest::hlt(0)}, lanes());
  for (unsigned n = 0; n < 6; n++) {
    set_each(fleet, x(n), [&](uint64_t lane) { return 0xAB00000000000000 + lane * 100 + n; });
  }
  set_each(fleet, x(8), [](uint64_t lane) { return lane * 3 + (uint64_t{1} << 40); });
  int calls = 0;
  RunResult result = drive(fleet, how(), serving([&](Fleet& in_call, const SyscallBatch& batch) {
                             calls++;
                             EXPECT_EQ(in_call.lanes(), lanes());
                             ASSERT_EQ(batch.lanes.size(), lanes());
                             ASSERT_EQ(batch.numbers.size(), lanes());
                             ASSERT_EQ(batch.immediates.size(), lanes());
                             ASSERT_EQ(batch.arguments.size(), 6 * lanes());
                             ASSERT_EQ(batch.results.size(), lanes());
                             ASSERT_EQ(batch.actions.size(), lanes());
                             std::vector<bool> seen(lanes());
                             for (size_t i = 0; i < lanes(); i++) {
                               const uint32_t lane = batch.lanes[i];
                               ASSERT_LT(lane, lanes());
                               EXPECT_FALSE(seen[lane]) << "lane " << lane << " twice";
                               seen[lane] = true;
                               EXPECT_EQ(batch.numbers[i], lane * 3 + (uint64_t{1} << 40));
                               EXPECT_EQ(batch.immediates[i], 0x1234u);
                               for (unsigned n = 0; n < 6; n++)
                                 EXPECT_EQ(batch.arguments[6 * i + n], 0xAB00000000000000 + lane * 100 + n);
                               EXPECT_EQ(batch.results[i], batch.arguments[6 * i]) << "x0 stays unless told";
                               EXPECT_EQ(batch.actions[i], SyscallAction::resume);
                               EXPECT_EQ(in_call.get(Field::pc, lane), kCode + 8);
                               EXPECT_EQ(in_call.get(Field::instructions, lane), 2u);
                               if (lane % 2 == 0) batch.results[i] = lane + 7;
                             }
                           }));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(result.instructions, 3 * lanes());
  EXPECT_EQ(result.signal, Signal::halt);
  EXPECT_EQ(stops_of(result, StopReason::syscall), 0u) << "served ones do not count";
  EXPECT_EQ(stops_of(result, StopReason::halt), lanes());
  expect_all_stopped(fleet, halt());
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    EXPECT_EQ(fleet.get(x(1), lane), lane % 2 == 0 ? lane + 7 : 0xAB00000000000000 + lane * 100);
  }
}

TEST_P(Syscalls, LanesCallAsOftenAsTheyLike) {
  for (uint64_t per_batch : {3u, 11u, 10'000'000u}) {
    SCOPED_TRACE(per_batch);
    Fleet fleet = fleet_of(calling(), lanes());
    auto rounds = [](uint64_t lane) { return lane % 7 + 1; };
    set_each(fleet, x(0), rounds);
    set_each(fleet, x(8), [](uint64_t lane) { return lane; });
    uint64_t served = 0;
    RunResult result = drive(fleet, how(),
                             serving(
                                 [&](Fleet&, const SyscallBatch& batch) {
                                   EXPECT_FALSE(batch.lanes.empty());
                                   served += batch.lanes.size();
                                   for (size_t i = 0; i < batch.lanes.size(); i++) {
                                     EXPECT_EQ(batch.numbers[i], batch.lanes[i]);
                                     batch.results[i] = batch.arguments[6 * i] * 1000 + batch.lanes[i];
                                   }
                                 },
                                 kEndless, per_batch));
    uint64_t wanted = 0, instructions = 0;
    for (uint32_t lane = 0; lane < lanes(); lane++) {
      const uint64_t n = rounds(lane);
      wanted += n;
      instructions += calling_count(n);
      EXPECT_EQ(fleet.get(x(10), lane), n * (n + 1) / 2 * 1000 + n * lane);
      EXPECT_EQ(fleet.get(Field::instructions, lane), calling_count(n));
    }
    expect_all_stopped(fleet, halt());
    EXPECT_EQ(served, wanted);
    EXPECT_EQ(result.instructions, instructions);
    EXPECT_EQ(result.signal, Signal::halt);
    EXPECT_EQ(all_stops(result), lanes());
  }
}

TEST_P(Syscalls, ActionsResumeStopAndExit) {
  // Two calls; the lane's number chooses the action at the first.
  Fleet fleet = fleet_of({guest::svc(1), guest::add(1, 0, 0), guest::svc(2), guest::hlt(0)}, lanes());
  fleet.fill(x(0), 5);
  int first = 0, second = 0;
  RunResult result = drive(fleet, how(), serving([&](Fleet&, const SyscallBatch& batch) {
                             for (size_t i = 0; i < batch.lanes.size(); i++) {
                               const uint32_t lane = batch.lanes[i];
                               (batch.immediates[i] == 1 ? first : second)++;
                               batch.results[i] = 40 + lane;
                               if (batch.immediates[i] == 2) continue;
                               batch.actions[i] = lane % 3 == 0   ? SyscallAction::resume
                                                  : lane % 3 == 1 ? SyscallAction::stop
                                                                  : SyscallAction::exit;
                             }
                           }));
  uint64_t resumed = 0, stopped = 0, exited = 0;
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    resumed += lane % 3 == 0;
    stopped += lane % 3 == 1;
    exited += lane % 3 == 2;
    switch (lane % 3) {
      case 0: expect_stop(fleet, lane, halt()); break;
      case 1: expect_stop(fleet, lane, syscall_stop(1)); break;
      default: expect_stop(fleet, lane, {StopReason::exited, FaultKind::none, 40 + lane, 0});
    }
    if (lane % 3 < 2) {
      EXPECT_EQ(fleet.get(x(0), lane), 40u + lane);
    }
    EXPECT_EQ(fleet.get(x(1), lane), lane % 3 == 0 ? 40u + lane : 0u);
    EXPECT_EQ(fleet.get(Field::instructions, lane), lane % 3 == 0 ? 3u : 1u);
  }
  EXPECT_EQ(static_cast<uint64_t>(first), lanes());
  EXPECT_EQ(static_cast<uint64_t>(second), resumed);
  EXPECT_EQ(result.instructions, 3 * resumed + stopped + exited);
  EXPECT_EQ(result.stopped, lanes());
  EXPECT_EQ(result.lanes_left, 0u);
  EXPECT_EQ(stops_of(result, StopReason::exited), exited);
  EXPECT_EQ(stops_of(result, StopReason::syscall), stopped) << "what was not resumed counts";
  EXPECT_EQ(stops_of(result, StopReason::halt), resumed);
  EXPECT_EQ(result.signal, stopped > 0 ? Signal::syscall : Signal::halt);
  // The stopped lanes go on when they are told to.
  fleet.resume_all();
  drive(fleet, how(), serving([](Fleet&, const SyscallBatch&) {}));
  for (uint32_t lane = 1; lane < lanes(); lane += 3) {
    expect_stop(fleet, lane, halt());
    EXPECT_EQ(fleet.get(x(1), lane), 40u + lane);
  }
}

TEST_P(Syscalls, WithoutAHandlerLanesStop) {
  Fleet fleet = fleet_of(calling(), lanes());
  fleet.fill(x(0), 2);
  RunResult result = drive(fleet, how());
  expect_all_stopped(fleet, syscall_stop(0x21));
  EXPECT_EQ(result.signal, Signal::syscall);
  EXPECT_EQ(stops_of(result, StopReason::syscall), lanes());
  EXPECT_EQ(result.instructions, 3 * lanes());
}

TEST_P(Syscalls, LanesThatHadStoppedBeforeAreNotServed) {
  Fleet fleet = fleet_of(calling(), lanes());
  fleet.fill(x(0), 3);
  drive(fleet, how());
  const std::vector<uint32_t> even = even_lanes(fleet);
  uint64_t served = 0;
  auto options = serving([&](Fleet&, const SyscallBatch& batch) {
    for (uint32_t lane : batch.lanes) EXPECT_EQ(lane % 2, 0u);
    served += batch.lanes.size();
  });
  EXPECT_EQ(drive(fleet, how(), options).instructions, 0u);
  EXPECT_EQ(served, 0u);
  expect_all_stopped(fleet, syscall_stop(0x21));
  fleet.resume(even);
  drive(fleet, how(), options);
  EXPECT_EQ(served, 2 * even.size());
  for (uint32_t lane = 0; lane < lanes(); lane++) expect_stop(fleet, lane, lane % 2 == 0 ? halt() : syscall_stop(0x21));
}

TEST_P(Syscalls, BatchesAreReportedBesideThem) {
  if (how().mode != Mode::continuous) GTEST_SKIP() << "of continuous mode";
  Fleet fleet = fleet_of(calling(), lanes());
  set_each(fleet, x(0), [](uint64_t lane) { return lane % 5 + 2; });
  uint64_t served = 0, wanted = 0, sum = 0, batches = 0, called = 0;
  auto options = serving([&](Fleet&, const SyscallBatch& batch) { served += batch.lanes.size(); }, kEndless, 4);
  options.on_batch = [&](Fleet&, const BatchReport& report) {
    EXPECT_EQ(report.batch, batches);
    batches++;
    sum += report.instructions;
    called += stops_of(report, StopReason::syscall);
    return true;
  };
  RunResult result = drive(fleet, how(), options);
  for (uint64_t lane = 0; lane < lanes(); lane++) wanted += lane % 5 + 2;
  EXPECT_EQ(served, wanted);
  EXPECT_EQ(called, wanted) << "a batch tells of its calls, the whole run of none";
  EXPECT_EQ(stops_of(result, StopReason::syscall), 0u);
  EXPECT_EQ(sum, result.instructions);
  EXPECT_EQ(batches, result.batches);
  expect_all_stopped(fleet, halt());
}

TEST_P(Syscalls, HandlerUsesRegistersAndMemory) {
  // The guest stores a number of its own at x1 and calls; the handler doubles it in memory; the guest loads it.
  const Words words = {guest::str(3, 2, 1), guest::svc(0), guest::ldr(3, 3, 1), guest::add_register(3, 3, 11),
                       guest::hlt(0)};
  Fleet fleet = fleet_of(words, lanes());
  set_each(fleet, x(1), [](uint64_t lane) { return kData + lane * 8; });
  set_each(fleet, x(2), [](uint64_t lane) { return lane + 1; });
  drive(fleet, how(), serving([&](Fleet& in_call, const SyscallBatch& batch) {
          std::vector<Transfer> transfers;
          for (size_t i = 0; i < batch.lanes.size(); i++) {
            transfers.push_back({batch.lanes[i], 8, batch.arguments[6 * i + 1], 8 * i});
          }
          std::vector<uint64_t> numbers(batch.lanes.size());
          std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(numbers.data()), 8 * numbers.size());
          in_call.read(transfers, bytes);
          for (size_t i = 0; i < numbers.size(); i++) {
            EXPECT_EQ(numbers[i], batch.lanes[i] + 1u);
            numbers[i] *= 2;
          }
          in_call.write(transfers, bytes);
          in_call.set(x(11), batch.lanes, std::vector<uint64_t>(batch.lanes.size(), 1000));
          // Running it from here is not possible.
          EXPECT_THROW(in_call.run(), StateError);
          EXPECT_THROW(in_call.start(), StateError);
        }));
  expect_all_stopped(fleet, halt());
  for (uint32_t lane = 0; lane < lanes(); lane++) EXPECT_EQ(fleet.get(x(3), lane), 2 * (lane + 1u) + 1000);
}

TEST_P(Syscalls, HandlerThatThrowsEndsTheRun) {
  struct Refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  Fleet fleet = fleet_of(calling(), lanes());
  fleet.fill(x(0), 4);
  int calls = 0;
  auto options = serving([&](Fleet&, const SyscallBatch& batch) {
    std::fill(batch.results.begin(), batch.results.end(), 100);
    if (++calls == 3) throw Refusal("no more of this");
  });
  try {
    drive(fleet, how(), options);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Refusal& refusal) {
    EXPECT_STREQ(refusal.what(), "no more of this");
  }
  EXPECT_EQ(calls, 3);
  EXPECT_FALSE(fleet.is_running());
  expect_all_stopped(fleet, syscall_stop(0x21));
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    EXPECT_EQ(fleet.get(Field::instructions, lane), calling_count(2) + 2);
    EXPECT_EQ(fleet.get(Field::pc, lane), kCode + 12);
    EXPECT_EQ(fleet.get(x(0), lane), 2u) << "not what the failed call said";
    EXPECT_EQ(fleet.get(x(10), lane), 200u);
  }
  // The caller answers by hand, and the lanes go on.
  fleet.fill(x(0), 7);
  fleet.resume_all();
  RunResult result = drive(fleet, how(), options);
  expect_all_stopped(fleet, halt());
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(result.instructions, (calling_count(4) - calling_count(2) - 2) * lanes());
  for (uint32_t lane = 0; lane < lanes(); lane++) EXPECT_EQ(fleet.get(x(10), lane), 200u + 7 + 100);
}

TEST_P(Syscalls, BudgetsAreExactAcrossThem) {
  // Two of three instructions are not calls.
  const Words words = {guest::add(1, 1, 1), guest::svc(0), guest::b(-2)};
  for (uint64_t per_batch : {2u, 5u, 10'000'000u}) {
    for (uint64_t budget : {1u, 2u, 3u, 4u, 5u, 50u, 51u, 52u}) {
      SCOPED_TRACE(std::to_string(budget) + " in batches of " + std::to_string(per_batch));
      Fleet fleet = fleet_of(words, lanes());
      set_each(fleet, Field::limit, [&](uint64_t lane) { return lane % 5 == 4 ? 2 * budget - 1 : kEndless; });
      uint64_t served = 0;
      auto options =
          serving([&](Fleet&, const SyscallBatch& batch) { served += batch.lanes.size(); }, budget, per_batch);
      for (uint64_t round = 1; round <= 2; round++) {
        drive(fleet, how(), options);
        uint64_t wanted = 0;
        const std::vector<uint64_t> counts = values_of(fleet, Field::instructions), x1 = values_of(fleet, x(1)),
                                    pc = values_of(fleet, Field::pc);
        for (uint32_t lane = 0; lane < lanes(); lane++) {
          const uint64_t retired = lane % 5 == 4 ? std::min(round * budget, 2 * budget - 1) : round * budget;
          EXPECT_EQ(counts[lane], retired);
          EXPECT_EQ(x1[lane], (retired + 2) / 3);
          EXPECT_EQ(pc[lane], kCode + retired % 3 * 4);
          wanted += (retired + 1) / 3;
        }
        EXPECT_EQ(served, wanted) << "a call that is the last of a budget is served too";
        expect_all_stopped(fleet, plain(StopReason::budget));
      }
    }
  }
}

TEST_P(Syscalls, MixWithOtherStops) {
  // By lane: calls, halts, faults, goes on to the end of its budget.
  const Words words = {guest::cbz(0, 7), guest::sub(1, 0, 1), guest::cbz(1, 6), guest::sub(1, 0, 2),
                       guest::cbz(1, 5), guest::add(2, 2, 1), guest::b(-1),     guest::svc(3),
                       guest::hlt(1),    guest::ldr(3, 4, 5)};
  Fleet fleet = fleet_of(words, lanes());
  set_each(fleet, x(0), [](uint64_t lane) { return lane % 4; });
  fleet.fill(x(5), kUnmapped);
  uint64_t served = 0;
  RunResult result = drive(fleet, how(),
                           serving(
                               [&](Fleet&, const SyscallBatch& batch) {
                                 for (uint32_t lane : batch.lanes) EXPECT_EQ(lane % 4, 0u);
                                 served += batch.lanes.size();
                               },
                               60, 25));
  uint64_t kinds[4] = {};
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    kinds[lane % 4]++;
    expect_stop(fleet, lane,
                lane % 4 < 2    ? halt(1)
                : lane % 4 == 2 ? fault(FaultKind::unmapped, kUnmapped)
                                : plain(StopReason::budget));
    EXPECT_EQ(fleet.get(Field::instructions, lane), lane % 4 == 0 ? 2u : lane % 4 == 1 ? 3u : lane % 4 == 2 ? 5u : 60u);
  }
  EXPECT_EQ(served, kinds[0]);
  EXPECT_EQ(stops_of(result, StopReason::halt), kinds[0] + kinds[1]);
  EXPECT_EQ(stops_of(result, StopReason::fault), kinds[2]);
  EXPECT_EQ(stops_of(result, StopReason::budget), kinds[3]);
  EXPECT_EQ(result.lanes_left, kinds[3]);
  EXPECT_EQ(result.signal, kinds[2] > 0 ? Signal::fault : Signal::halt);
}

TEST_P(Syscalls, HandlerCancelsTheRun) {
  Fleet fleet = fleet_of({guest::svc(0), guest::b(-1)}, lanes());
  int calls = 0;
  RunResult result = drive(fleet, how(),
                           serving(
                               [&](Fleet& in_call, const SyscallBatch&) {
                                 if (++calls == 5) in_call.cancel();
                               },
                               kEndless, 1000));
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(result.signal, Signal::cancelled);
  EXPECT_EQ(result.lanes_left, lanes());
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    const Stop& stop = fleet.stops()[lane];
    EXPECT_EQ(stop.reason, StopReason::cancelled) << describe(lane, stop);
  }
  EXPECT_EQ(drive(fleet, how(), serving([](Fleet&, const SyscallBatch&) {}, 10)).instructions, 10 * lanes());
}

TEST_P(Syscalls, TimeoutEndsEndlessCalls) {
  Fleet fleet = fleet_of({guest::svc(0), guest::b(-1)}, lanes());
  RunOptions options = serving([&](Fleet&, const SyscallBatch&) {}, kEndless, 1000);
  options.timeout = 0.02;
  RunResult result = drive(fleet, how(), options);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, Signal::checkpoint);
  EXPECT_EQ(result.lanes_left, lanes());
}

TEST(SyscallsOfMany, AllInOneCall) {
  constexpr uint64_t kLanes = 100'000;
  for (const How& how : kHows) {
    Fleet fleet = fleet_of({guest::svc(0), guest::add(1, 0, 1), guest::hlt(0)}, kLanes);
    set_each(fleet, x(0), [](uint64_t lane) { return lane; });
    uint64_t calls = 0, lanes = 0;
    drive(fleet, how, serving([&](Fleet&, const SyscallBatch& batch) {
            calls++;
            lanes += batch.lanes.size();
            for (size_t i = 0; i < batch.lanes.size(); i++) batch.results[i] = batch.arguments[6 * i] * 2;
          }));
    EXPECT_EQ(calls, 1u);
    EXPECT_EQ(lanes, kLanes);
    std::vector<uint64_t> values(kLanes);
    fleet.get_all(x(1), values);
    uint64_t wrong = 0;
    for (uint64_t lane = 0; lane < kLanes; lane++) wrong += values[lane] != 2 * lane + 1;
    EXPECT_EQ(wrong, 0u);
  }
}

}  // namespace
}  // namespace fleet_test
