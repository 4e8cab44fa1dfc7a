// SPDX-License-Identifier: Apache-2.0
// Threads of a process: they count by exclusives, wait for each other by futexes, sleep and send each other signals. Any split of a
// run gives the state and the counts of one run, on every engine, and snapshots, forks and restores keep all that belongs to them.
#include <set>

#include "mode_fixture.h"
#include "process_words.h"
#include "silent_host.h"

namespace fleet_test {
namespace {

// Numbers of Linux on AArch64.
constexpr uint32_t kExitCall = 93, kExitGroupCall = 94, kFutexCall = 98, kSleepCall = 101, kYieldCall = 124,
                   kTgkillCall = 131, kActionCall = 134, kReturnCall = 139, kCloneCall = 220, kOwnNumber = 1000;
constexpr uint32_t kUserSignal = 10, kWaitPrivate = 128, kWakePrivate = 129;
constexpr uint64_t kThreadFlags = 0x3D0F00;  // as pthread_create() has them
constexpr uint64_t kRestorerFlag = 0x04000000;
constexpr uint32_t kOthers = 5;
// In kData: what is counted, how many have left, what handlers count; where each thread's id is cleared; arguments; stacks.
constexpr uint64_t kCount = kData, kLeft = kData + 8, kHandled = kData + 16, kAction = kData + 0x100,
                   kSleepTime = kData + 0x140, kStacks = kUnmapped + 8 * kPageBytes;
constexpr uint64_t kTurns = 400, kSpins = 20'000;

constexpr uint32_t stxr(uint32_t s, uint32_t t, uint32_t n) { return 0xC8007C00 | s << 16 | n << 5 | t; }
/// Adds x20 to the word at the address in x21, by exclusives.
Words add_exclusively() {
  return {guest::ldxr(9, 21), guest::add_register(9, 9, 20), stxr(10, 9, 21), guest::cbnz(10, -3)};
}
/// Skips `body` unless bits 0 and 1 of x19 are `bits`.
Words every_fourth(uint32_t bits, Words body) {
  for (uint32_t bit = 0; bit < 2; bit++) {
    const auto behind = static_cast<int32_t>(body.size()) + 1;
    const uint32_t wrong = guest::tbnz(19, bit, behind) ^ ((bits >> bit & 1) ? 1u << 24 : 0);  // TBZ
    body.insert(body.begin(), wrong);
  }
  return body;
}

/// The first thread makes the others, then all work; the last one to leave wakes the first one, which waits for that.
Words threads_program(uint64_t& handler, uint64_t& restorer) {
  Words words =
      value_of(0, kUserSignal) + value_of(1, kAction) + value_of(2, 0) + value_of(3, 8) + make_call(kActionCall);
  const auto work_size = [](const Words& all) { return static_cast<int32_t>(all.size()); };
  // Longer than a slice, with flags that are the first thread's alone.
  const Words spin = {guest::madd(25, 25, 26, 23),  guest::cmp(22, 0),     guest::nop(),          guest::nop(),
                      guest::b_cond(guest::kEq, 2), guest::add(27, 27, 1), guest::sub(23, 23, 1), guest::cbnz(23, -7)};
  Words work = value_of(23, kSpins) + spin + value_of(21, kCount);
  const Words turn = Words{guest::add(20, 22, 1)} + add_exclusively() + every_fourth(1, make_call(kYieldCall)) +
                     every_fourth(2, value_of(0, kSleepTime) + value_of(1, 0) + make_call(kSleepCall)) +
                     every_fourth(3, value_of(0, kOwnNumber) + Words{guest::add(1, 22, kOwnNumber)} +
                                         value_of(2, kUserSignal) + make_call(kTgkillCall)) +
                     Words{guest::madd(25, 25, 26, 19)};
  work = work + turn + Words{guest::subs(19, 19, 1), guest::b_cond(guest::kNe, -work_size(turn) - 1)};
  work = work + value_of(21, kLeft) + value_of(20, 1) + add_exclusively();
  work = work + value_of(0, kLeft) + value_of(1, kWakePrivate) + value_of(2, 9) + make_call(kFutexCall);
  const Words leave = work + value_of(0, 3) + make_call(kExitCall);
  for (uint32_t i = 1; i <= kOthers; i++) {
    words = words + value_of(0, kThreadFlags) + value_of(1, kStacks + i * 0x1800) + value_of(2, kData + 0x200) +
            value_of(3, i) + value_of(4, kData + 0x208) + make_call(kCloneCall);
    const Words child = value_of(22, i) + leave;
    words = words + Words{guest::cbnz(0, work_size(child) + 1)} + child;
  }
  words = words + value_of(22, 0) + work;
  // Until kLeft is the number of all.
  const Words wait = value_of(21, kLeft) + Words{guest::ldr(2, 2, 21), guest::cmp(2, kOthers + 1)};
  const Words sleep = value_of(0, kLeft) + value_of(1, kWaitPrivate) + value_of(3, 0) + make_call(kFutexCall);
  words = words + wait + Words{guest::b_cond(guest::kEq, work_size(sleep) + 2)} + sleep +
          Words{guest::b(-work_size(sleep) - 1 - work_size(wait))};
  words = words + value_of(0, 7) + make_call(kExitGroupCall) + Words{guest::hlt(9)};
  handler = kCode + words.size() * 4;
  words = words + value_of(11, kHandled) +
          Words{guest::ldr(3, 12, 11), guest::add(12, 12, 1), guest::str(3, 12, 11), guest::ret()};
  restorer = kCode + words.size() * 4;
  return words + make_call(kReturnCall) + Words{guest::hlt(8)};
}

void put_word(Fleet& fleet, uint32_t lane, uint64_t address, uint64_t value) {
  fleet.write(lane, address, std::span(reinterpret_cast<const uint8_t*>(&value), 8));
}

Fleet process_fleet(const Words& words, uint64_t lanes) {
  Program program = program_of(words);
  program.process = myriarm::ProcessStart{kUnmapped + 4 * kPageBytes, kEnd, 4 * kPageBytes, "/bin/test"};
  program.segments.push_back({kUnmapped + 8 * kPageBytes, 8 * kPageBytes, kRead | kWrite, {}});
  FleetOptions options = options_of(lanes);
  options.processes.host = std::make_shared<myriarm::test::SilentHost>();
  options.processes.keep_memory = true;
  return Fleet(program, options);
}

Fleet threaded_fleet(uint64_t lanes) {
  uint64_t handler, restorer;
  Fleet fleet = process_fleet(threads_program(handler, restorer), lanes);
  for (uint32_t lane = 0; lane < lanes; lane++) {
    for (uint64_t address : {kCount, kLeft, kHandled}) put_word(fleet, lane, address, 0);
    const uint64_t action[] = {handler, kRestorerFlag, restorer, 0};
    for (size_t k = 0; k < 4; k++) put_word(fleet, lane, kAction + k * 8, action[k]);
    put_word(fleet, lane, kSleepTime, 0);
    put_word(fleet, lane, kSleepTime + 8, 300 + lane * 977 % 9000);
  }
  fleet.fill(x(19), kTurns);
  fleet.fill(x(26), 0x9E3779B1);
  return fleet;
}

void expect_all_work_done(const Fleet& fleet, uint64_t lanes) {
  for (uint32_t lane = 0; lane < lanes; lane++) {
    expect_stop(fleet, lane, {StopReason::exited, FaultKind::none, 7, 0});
    EXPECT_EQ(fleet.get(x(27), lane), 0u) << "the first thread has its own flags again after each switch";
    // The first of the threads adds 1 each time, the next one 2, and so on; each signals itself in every fourth turn.
    EXPECT_EQ(number_of(memory_of(fleet, kCount, 8)[lane]), kTurns * (kOthers + 1) * (kOthers + 2) / 2);
    EXPECT_EQ(number_of(memory_of(fleet, kHandled, 8)[lane]), kTurns / 4 * (kOthers + 1));
  }
}

class ThreadSplits : public testing::TestWithParam<std::tuple<uint64_t, uint32_t>> {};
INSTANTIATE_TEST_SUITE_P(All, ThreadSplits, testing::Combine(testing::Values(1, 5, 40), testing::Values(1u, 2u, 3u)));

TEST_P(ThreadSplits, LeaveTheStateOfOneRun) {
  const auto [lanes, seed] = GetParam();
  Fleet whole = threaded_fleet(lanes), parts = threaded_fleet(lanes);
  std::mt19937 random(seed * 104729 + static_cast<uint32_t>(lanes));
  auto below = [&](uint64_t end) { return std::uniform_int_distribution<uint64_t>(0, end - 1)(random); };
  whole.run();
  expect_all_work_done(whole, lanes);
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

TEST(Threads, AreTheSameOnEachEngine) {
  constexpr uint64_t kLanes = 40;
  Fleet expected = threaded_fleet(kLanes);
  RunOptions options;
  options.engine = Engine::stepper;
  expected.run(options);
  for (Engine engine : {Engine::interpreter, Engine::translate}) {
    if (engine == Engine::translate && !on_cpu()) continue;
    Fleet fleet = threaded_fleet(kLanes);
    options.engine = engine;
    fleet.run(options);
    expect_same(states_of(fleet, kCode), states_of(expected, kCode), "engine");
  }
}

TEST(Threads, BelongToTheLaneThatIsForked) {
  constexpr uint64_t kLanes = 4;
  Fleet alone = threaded_fleet(kLanes);
  alone.run();
  for (uint64_t begun : {1, 60, 500, 3333}) {
    Fleet forked = threaded_fleet(kLanes);
    RunOptions options;
    options.instructions = begun;
    forked.run(options);
    constexpr uint32_t kTargets[] = {0, 1, 3};
    forked.fork(2, kTargets);
    forked.run();
    const auto states = states_of(forked, kCode), expected = states_of(alone, kCode);
    for (uint32_t lane = 0; lane < kLanes; lane++) expect_same({states[lane]}, {expected[2]}, "forked");
  }
}

TEST(Threads, CanBeNamed) {
  Fleet fleet = threaded_fleet(2);
  ASSERT_EQ(fleet.threads(1).size(), 1u);
  EXPECT_EQ(fleet.threads(1)[0].id, kOwnNumber);
  uint64_t most = 0, waiting = 0, numbered = 0;
  for (int i = 0; i < 4000; i++) {
    RunOptions options;
    options.instructions = 397;
    fleet.run(options);
    if (fleet.stops()[1].reason == StopReason::exited) break;
    const std::vector<myriarm::GuestThread> threads = fleet.threads(1);
    most = std::max<uint64_t>(most, threads.size());
    uint64_t running = 0;
    for (const myriarm::GuestThread& thread : threads) {
      running += thread.is_running;
      waiting += thread.is_waiting;
      // Each has its number in x22, from its second instruction on.
      if (thread.x[22] != 0) {
        EXPECT_EQ(thread.x[22], thread.id - kOwnNumber);
      }
      numbered += thread.x[22] != 0;
      if (thread.is_running) {
        EXPECT_EQ(thread.pc, fleet.get(Field::pc, 1));
        EXPECT_EQ(thread.x[19], fleet.get(x(19), 1));
      }
    }
    EXPECT_LE(running, 1u);
  }
  EXPECT_EQ(most, kOthers + 1);
  EXPECT_GT(waiting, 0u);
  EXPECT_GT(numbered, 0u);
}

TEST(Threads, ThatIsNoProcessHasNoNumber) {
  const Fleet fleet(program_of({guest::hlt(0)}), options_of(1));
  const std::vector<myriarm::GuestThread> threads = fleet.threads(0);
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0].id, 0u);
  EXPECT_EQ(threads[0].process, 0u);
  EXPECT_TRUE(threads[0].is_running);
  EXPECT_EQ(threads[0].pc, kCode);
}

/// Makes a thread, which waits, and a process, which makes a thread too. They have 1 to 4 in x19, and all but the second spin.
Words family_program() {
  const auto size_of = [](const Words& all) { return static_cast<int32_t>(all.size()); };
  const auto clone_call = [](uint64_t flags) {
    return value_of(0, flags) + value_of(1, kStacks + 0x1800) + value_of(2, kData + 0x200) + value_of(3, 0x77) +
           value_of(4, kData + 0x208) + make_call(kCloneCall);
  };
  const Words spin = {guest::b(0)};
  const Words waits = value_of(19, 2) + value_of(0, kLeft) + value_of(1, kWaitPrivate) + value_of(2, 0) +
                      value_of(3, 0) + make_call(kFutexCall);
  const Words child = value_of(19, 3) + clone_call(kThreadFlags) + Words{guest::cbnz(0, 3)} + value_of(19, 4) + spin;
  Words words = value_of(19, 1) + clone_call(kThreadFlags) + Words{guest::cbnz(0, size_of(waits) + 1)} + waits;
  words = words + value_of(0, 17) + make_call(kCloneCall) + Words{guest::cbnz(0, size_of(child) + 1)} + child;
  return words + spin;
}

TEST(Threads, OfAllProcessesCanBeNamed) {
  Fleet fleet = process_fleet(family_program(), 2);
  for (uint32_t lane = 0; lane < 2; lane++) put_word(fleet, lane, kLeft, 0);
  std::set<uint32_t> running;
  RunOptions options;
  options.instructions = 61'000;  // a slice has 50'000
  for (int i = 0; i < 8; i++) {
    fleet.run(options);
    const std::vector<myriarm::GuestThread> threads = fleet.threads(1);
    if (i < 2) continue;  // not all have begun
    ASSERT_EQ(threads.size(), 4u);
    for (uint32_t n = 0; n < 4; n++) {
      const myriarm::GuestThread& thread = threads[n];
      EXPECT_EQ(thread.id, kOwnNumber + n);
      EXPECT_EQ(thread.process, n < 2 ? kOwnNumber : kOwnNumber + 2) << n;
      EXPECT_EQ(thread.x[19], n + 1);
      EXPECT_EQ(thread.is_waiting, n == 1);
      EXPECT_EQ(thread.tpidr, n == 1 || n == 3 ? 0x77 : 0) << n;
      if (!thread.is_running) continue;
      running.insert(n);
      EXPECT_EQ(fleet.get(x(19), 1), n + 1);
      EXPECT_EQ(fleet.get(Field::tpidr, 1), thread.tpidr);
    }
    EXPECT_EQ(threads[1].x[8], kFutexCall);
    EXPECT_EQ(threads[0].x[0], kOwnNumber + 2);
  }
  EXPECT_EQ(running, (std::set<uint32_t>{0, 2, 3}));
}

}  // namespace
}  // namespace fleet_test
