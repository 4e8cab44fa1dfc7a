// SPDX-License-Identifier: Apache-2.0
// Processes with handlers of signals: alarms on guest time, faults, signals to itself. Any split of a run gives the state and
// the counts of one run, on every engine, and snapshots, forks and restores keep all that belongs to signals.
#include "mode_fixture.h"
#include "process_words.h"
#include "silent_host.h"

namespace fleet_test {
namespace {

// Numbers of Linux on AArch64.
constexpr uint32_t kExitGroup = 94, kNanosleep = 101, kSetitimer = 103, kTkill = 130, kRtSigaction = 134,
                   kRtSigreturn = 139, kProcessNumber = 1000;
constexpr uint32_t kUser = 10, kSegment = 11, kAlarm = 14, kVirtualAlarm = 26;
constexpr uint64_t kInforms = 4, kHasRestorer = 0x04000000;
// In kData: what handlers have computed, then the arguments of calls.
constexpr uint64_t kSum = kData, kActions = kData + 0x100, kRealTimer = kData + 0x200, kVirtualTimer = kData + 0x220,
                   kSleep = kData + 0x240;
constexpr uint32_t kSignals[] = {kUser, kSegment, kAlarm, kVirtualAlarm};
constexpr uint64_t kRounds = 3000;

/// Skips `body` unless the lowest three bits of x19 are `bits`.
Words every_eighth(uint32_t bits, Words body) {
  for (uint32_t bit = 0; bit < 3; bit++) {
    const auto behind = static_cast<int32_t>(body.size()) + 1;
    const uint32_t wrong = guest::tbnz(19, bit, behind) ^ ((bits >> bit & 1) ? 1u << 24 : 0);  // TBZ
    body.insert(body.begin(), wrong);
  }
  return body;
}

/// Sets its handlers and timers, then computes for x19 rounds, in some of which it faults, signals itself, or sleeps.
/// The handler mixes the signal's number into kSum, and lets a fault go on behind its instruction.
Words signalled_program(uint64_t& handler, uint64_t& restorer) {
  Words words;
  for (size_t i = 0; i < std::size(kSignals); i++) {
    words = words + value_of(0, kSignals[i]) + value_of(1, kActions + i * 32) + value_of(2, 0) + value_of(3, 8) +
            make_call(kRtSigaction);
  }
  words = words + value_of(0, 0) + value_of(1, kRealTimer) + value_of(2, 0) + make_call(kSetitimer);
  words = words + value_of(0, 1) + value_of(1, kVirtualTimer) + value_of(2, 0) + make_call(kSetitimer);
  words = words + value_of(26, 0x9E3779B1) + value_of(28, kUnmapped);
  const Words body = Words{guest::madd(25, 25, 26, 19), guest::add(27, 27, 1), guest::eor_register(24, 25, 27)} +
                     every_eighth(3, {guest::ldr(3, 5, 28)}) +
                     every_eighth(5, value_of(0, kProcessNumber) + value_of(1, kUser) + make_call(kTkill) +
                                         Words{guest::add_register(25, 25, 0)}) +
                     every_eighth(6, value_of(0, kSleep) + value_of(1, 0) + make_call(kNanosleep) +
                                         Words{guest::add_register(25, 25, 0)});
  words =
      words + body + Words{guest::subs(19, 19, 1), guest::b_cond(guest::kNe, -static_cast<int32_t>(body.size()) - 1)};
  words = words + value_of(0, 7) + make_call(kExitGroup) + Words{guest::hlt(9)};
  handler = kCode + words.size() * 4;
  words = words + value_of(9, kSum) + Words{guest::ldr(3, 10, 9),         guest::madd(10, 10, 26, 0),
                                            guest::str(3, 10, 9),         guest::add(9, 9, 8),
                                            guest::ldr(3, 10, 9),         guest::add(10, 10, 1),
                                            guest::str(3, 10, 9),         guest::cmp(0, kSegment),
                                            guest::b_cond(guest::kNe, 5), guest::add(11, 2, 440),
                                            guest::ldr(3, 12, 11),        guest::add(12, 12, 4),
                                            guest::str(3, 12, 11),        guest::ret()};
  restorer = kCode + words.size() * 4;
  return words + make_call(kRtSigreturn) + Words{guest::hlt(8)};
}

void write_word(Fleet& fleet, uint32_t lane, uint64_t address, uint64_t value) {
  fleet.write(lane, address, std::span(reinterpret_cast<const uint8_t*>(&value), 8));
}

Fleet signalled_fleet(uint64_t lanes) {
  uint64_t handler, restorer;
  Program program = program_of(signalled_program(handler, restorer));
  program.process = myriarm::ProcessStart{kUnmapped + 4 * kPageBytes, kEnd, 4 * kPageBytes, "/bin/test"};
  FleetOptions options = options_of(lanes);
  options.processes.host = std::make_shared<myriarm::test::SilentHost>();
  options.processes.keep_memory = true;
  Fleet fleet(program, options);
  for (uint32_t lane = 0; lane < lanes; lane++) {
    write_word(fleet, lane, kSum, 1);
    write_word(fleet, lane, kSum + 8, 0);
    for (size_t i = 0; i < std::size(kSignals); i++) {
      const uint64_t mask =
          kSignals[i] == kSegment ? 0 : ~uint64_t{0};  // alarms may come within the handler of a fault
      const uint64_t action[] = {handler, kInforms | kHasRestorer, restorer, mask};
      for (size_t k = 0; k < 4; k++) write_word(fleet, lane, kActions + i * 32 + k * 8, action[k]);
    }
    const uint64_t numbers[] = {0, lane % 3 == 0 ? 0 : 1 + lane % 5, 0, 1 + lane % 7, 0, 2 + lane % 4, 0, 1 + lane % 3,
                                0, 300 + lane * 977 % 9000};
    for (size_t k = 0; k < std::size(numbers); k++) write_word(fleet, lane, kRealTimer + k * 8, numbers[k]);
  }
  fleet.fill(x(19), kRounds);
  return fleet;
}
static_assert(kVirtualTimer == kRealTimer + 32 && kSleep == kVirtualTimer + 32);

class SignalSplits : public testing::TestWithParam<std::tuple<uint64_t, uint32_t>> {};
INSTANTIATE_TEST_SUITE_P(All, SignalSplits, testing::Combine(testing::Values(1, 5, 40), testing::Values(1u, 2u, 3u)));

TEST_P(SignalSplits, LeaveTheStateOfOneRun) {
  const auto [lanes, seed] = GetParam();
  Fleet whole = signalled_fleet(lanes), parts = signalled_fleet(lanes);
  std::mt19937 random(seed * 104729 + static_cast<uint32_t>(lanes));
  auto below = [&](uint64_t end) { return std::uniform_int_distribution<uint64_t>(0, end - 1)(random); };
  whole.run();
  for (uint32_t lane = 0; lane < lanes; lane++) {
    expect_stop(whole, lane, {StopReason::exited, FaultKind::none, 7, 0});
    const auto bytes = memory_of(whole, kSum + 8, 8);
    EXPECT_GT(number_of(bytes[lane]), kRounds / 5) << "handlers have run";
  }
  for (int call = 0; call < 3000; call++) {
    RunOptions options;
    options.instructions = 1 + below(call % 3 == 0 ? 4 : 400);
    constexpr Engine kEngines[] = {Engine::interpreter, Engine::stepper, Engine::translate};
    options.engine = kEngines[below(on_cpu() ? 3 : 2)];
    Snapshot before;
    const bool taken_back = below(6) == 0;
    if (taken_back) before = parts.snapshot();
    parts.run(options);
    if (taken_back) parts.restore(before);
    bool all_done = true;
    for (const Stop& stop : parts.stops()) all_done &= stop.reason == StopReason::exited;
    if (all_done) break;
  }
  parts.run();
  expect_same(states_of(parts, kCode), states_of(whole, kCode), "split against whole");
}

TEST(Signals, AreTheSameOnEachEngine) {
  constexpr uint64_t kLanes = 40;
  Fleet expected = signalled_fleet(kLanes);
  RunOptions options;
  options.engine = Engine::stepper;
  expected.run(options);
  for (Engine engine : {Engine::interpreter, Engine::translate}) {
    if (engine == Engine::translate && !on_cpu()) continue;
    Fleet fleet = signalled_fleet(kLanes);
    options.engine = engine;
    fleet.run(options);
    expect_same(states_of(fleet, kCode), states_of(expected, kCode), "engine");
  }
}

TEST(Signals, BelongToTheLaneThatIsForked) {
  constexpr uint64_t kLanes = 4;
  Fleet alone = signalled_fleet(kLanes);
  alone.run();
  for (uint64_t begun : {1, 60, 500, 3333}) {
    Fleet forked = signalled_fleet(kLanes);
    RunOptions options;
    options.instructions = begun;
    forked.run(options);
    constexpr uint32_t kOthers[] = {0, 1, 3};
    forked.fork(2, kOthers);
    forked.run();
    const auto states = states_of(forked, kCode), expected = states_of(alone, kCode);
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      expect_same({states[lane]}, {expected[2]}, "forked");
    }
  }
}

}  // namespace
}  // namespace fleet_test
