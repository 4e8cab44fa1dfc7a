// SPDX-License-Identifier: Apache-2.0
// The pages from which lanes may execute, and code that changes: written by a lane, by the host, in some lanes only, or
// made executable later. Every program runs without a limit and one instruction at a time.
#include <algorithm>

#include "fleet_fixture.h"

namespace fleet_test {
namespace {

constexpr uint32_t kAll = kRead | kWrite | kExecute;

enum class Pace { free, stepped };

/// Runs until no lane is stopped by its limit.
void run(Fleet& fleet, Pace pace) {
  if (pace == Pace::free) {
    fleet.run();
    return;
  }
  std::vector<uint64_t> counts(fleet.lanes());
  for (bool again = true; again;) {
    fleet.get_all(Field::instructions, counts);
    for (uint64_t& count : counts) count++;
    fleet.set_all(Field::limit, counts);
    fleet.run();
    again = false;
    std::vector<uint32_t> limited;
    for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
      if (fleet.stops()[lane].reason == StopReason::budget) limited.push_back(lane);
    }
    again = !limited.empty();
    fleet.resume(limited);
  }
  fleet.fill(Field::limit, ~uint64_t{0});
}

class FleetCode : public testing::TestWithParam<std::tuple<uint64_t, Pace>> {
 protected:
  uint64_t lanes() const { return std::get<0>(GetParam()); }
  Pace pace() const { return std::get<1>(GetParam()); }
  /// The lanes that write code: two of three.
  static bool writes(uint64_t lane) { return lane % 3 != 2; }
  static std::vector<uint32_t> writers(const Fleet& fleet) {
    std::vector<uint32_t> chosen;
    for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
      if (writes(lane)) chosen.push_back(lane);
    }
    return chosen;
  }
  /// Sets x1 to the address that a lane writes to: code in the writing lanes, data in the others; x2 is the value.
  static void aim(Fleet& fleet, uint64_t code_address, uint64_t value) {
    set_each(fleet, x(1), [&](uint64_t lane) { return writes(lane) ? code_address : kData; });
    fleet.fill(x(2), value);
  }
  static void expect_x0(const Fleet& fleet, uint64_t writing, uint64_t other) {
    expect_all_stopped(fleet, halt());
    for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
      EXPECT_EQ(fleet.get(x(0), lane), writes(lane) ? writing : other) << "lane " << lane;
    }
  }
};

std::string label(const testing::TestParamInfo<std::tuple<uint64_t, Pace>>& info) {
  return std::to_string(std::get<0>(info.param)) + (std::get<1>(info.param) == Pace::free ? "_free" : "_stepped");
}
INSTANTIATE_TEST_SUITE_P(Lanes, FleetCode,
                         testing::Combine(testing::ValuesIn(kFleetSizes), testing::Values(Pace::free, Pace::stepped)),
                         label);

TEST_P(FleetCode, FetchesOnlyFromExecutablePages) {
  struct Target {
    uint64_t address;
    Stop stop;
  };
  const Target targets[] = {
      {kData + 8, fault(FaultKind::execute, kData + 8)},
      {kConstant, fault(FaultKind::execute, kConstant)},
      {kNoAccess, fault(FaultKind::execute, kNoAccess)},
      {kUnmapped, fault(FaultKind::unmapped, kUnmapped)},
      {kCode - 4, fault(FaultKind::unmapped, kCode - 4)},
      {kEnd, fault(FaultKind::unmapped, kEnd)},
      {0, fault(FaultKind::unmapped, 0)},
      {0x0080'0000'0001'0000, fault(FaultKind::unmapped, 0x0080'0000'0001'0000)},
      {kCode + 6, fault(FaultKind::alignment, kCode + 6)},
      {kData + 1, fault(FaultKind::alignment, kData + 1)},
      {kUnmapped + 3, fault(FaultKind::alignment, kUnmapped + 3)},
  };
  for (const Target& target : targets) {
    SCOPED_TRACE(target.address);
    for (uint32_t branch : {guest::br(1), guest::blr(1)}) {
      // The lanes that do not write branch to the HLT.
      Fleet fleet = fleet_of({guest::nop(), branch, guest::hlt(0)}, lanes());
      set_each(fleet, x(1), [&](uint64_t lane) { return writes(lane) ? target.address : kCode + 8; });
      run(fleet, pace());
      for (uint32_t lane = 0; lane < lanes(); lane++) {
        expect_stop(fleet, lane, writes(lane) ? target.stop : halt());
        EXPECT_EQ(fleet.get(Field::pc, lane), writes(lane) ? target.address : kCode + 8);
        EXPECT_EQ(fleet.get(Field::instructions, lane), 2u) << "the branch itself retires";
        EXPECT_EQ(fleet.get(x(30), lane), branch == guest::blr(1) ? kCode + 8 : 0);
      }
    }
  }
}

TEST_P(FleetCode, DropsTheTagOfABranchTarget) {
  Fleet fleet = fleet_of({guest::br(1), guest::nop(), guest::hlt(3)}, lanes());
  fleet.fill(x(1), 0x5A00'0000'0000'0000 | (kCode + 8));
  run(fleet, pace());
  expect_all_stopped(fleet, halt(3));
  EXPECT_EQ(fleet.get(Field::pc, 0), kCode + 8);
}

TEST_P(FleetCode, DirectBranchesCanLeaveTheWindow) {
  struct Target {
    int32_t words;
    FaultKind kind;
  };
  for (const Target& target :
       {Target{0x1000000, FaultKind::unmapped}, Target{-5, FaultKind::unmapped},
        Target{(kData - kCode) / 4, FaultKind::execute}, Target{(kUnmapped - kCode) / 4, FaultKind::unmapped}}) {
    Fleet fleet = fleet_of({guest::b(target.words), guest::hlt(0)}, lanes());
    run(fleet, pace());
    uint64_t address = kCode + static_cast<uint64_t>(int64_t{target.words} * 4);
    expect_all_stopped(fleet, fault(target.kind, address));
    EXPECT_EQ(fleet.get(Field::pc, 0), address);
    EXPECT_EQ(fleet.get(Field::instructions, 0), 1u);
  }
}

TEST_P(FleetCode, BranchesReachTheirTargetsOnEitherSide) {
  // An ADD and a branch for each case; every other word is a HLT with its own number. An engine may run a branch
  // together with the word before it, if the distance has few bits.
  std::vector<std::pair<size_t, uint32_t>> cases;  // index of the branch, number of the HLT that it reaches
  Words words;
  for (uint32_t i = 0; i < 2600; i++) words.push_back(guest::hlt(i));
  for (int32_t distance : {-1025, -1024, -513, -512, -511, -2, 2, 511, 512, 513, 1023, 1024}) {
    for (uint32_t branch : {guest::b(distance), guest::b_cond(guest::kNe, distance), guest::cbz(6, distance)}) {
      const size_t at = 1100 + 8 * cases.size();
      words[at - 1] = guest::add(0, 0, 1);
      words[at] = branch;
      cases.emplace_back(at, static_cast<uint32_t>(static_cast<int32_t>(at) + distance));
    }
  }
  Fleet fleet = fleet_of(words, lanes());
  uint64_t done = 0;
  for (auto [at, reached] : cases) {
    SCOPED_TRACE(myriarm::disassemble(words[at], kCode + 4 * at));
    fleet.fill(Field::pc, kCode + 4 * (at - 1));
    fleet.resume_all();
    run(fleet, pace());
    done++;
    expect_all_stopped(fleet, halt(reached));
    EXPECT_EQ(values_of(fleet, x(0)), std::vector<uint64_t>(lanes(), done));
    EXPECT_EQ(values_of(fleet, Field::instructions), std::vector<uint64_t>(lanes(), 2 * done));
  }
}

TEST_P(FleetCode, StraightLinesCrossPagesAndEndWhereCodeEnds) {
  Words words(3 * kPageBytes / 4, guest::add(0, 0, 1));
  Fleet fleet = fleet_of(words, lanes());
  run(fleet, pace());
  expect_all_stopped(fleet, fault(FaultKind::unmapped, kCode + 3 * kPageBytes));
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    EXPECT_EQ(fleet.get(x(0), lane), words.size());
    EXPECT_EQ(fleet.get(Field::instructions, lane), words.size());
    EXPECT_EQ(fleet.get(Field::pc, lane), kCode + 3 * kPageBytes);
  }
}

TEST_P(FleetCode, RunsSegmentsThatAreFarApart) {
  constexpr uint64_t kFar = kCode + (24 << 20);
  const Words near = {guest::blr(1), guest::add(0, 0, 1), guest::subs(4, 4, 1), guest::b_cond(guest::kNe, -3),
                      guest::hlt(0)};
  Program program = program_of(near);
  program.segments.push_back({kFar, kPageBytes, kRead | kExecute, bytes_of({guest::add(0, 0, 0x100), guest::ret()})});
  Fleet fleet(program, options_of(lanes(), 32 << 20));
  fleet.fill(x(1), kFar);
  fleet.fill(x(4), 50);
  run(fleet, pace());
  expect_x0(fleet, 50 * 0x101, 50 * 0x101);
  EXPECT_EQ(fleet.get(Field::instructions, 0), 50 * 6u);
}

TEST_P(FleetCode, WritesOneOfTwoSegments) {
  constexpr uint64_t kFar = kCode + (24 << 20);
  const Words near = {guest::blr(5), guest::str(2, 2, 1), guest::blr(5), guest::hlt(0)};
  for (bool other : {false, true}) {
    Program program = program_of(near, kAll);
    program.segments.push_back({kFar, kPageBytes, kAll, bytes_of({guest::add(0, 0, 1), guest::ret()})});
    Fleet fleet(program, options_of(lanes(), 32 << 20));
    fleet.fill(x(5), kFar);
    aim(fleet, other ? kFar : kCode + 8, other ? guest::add(0, 0, 0x100) : guest::nop());
    run(fleet, pace());
    expect_x0(fleet, other ? 0x101 : 1, 2);
  }
}

TEST_P(FleetCode, WritesTheNextInstruction) {
  Fleet fleet = fleet_of({guest::nop(), guest::str(2, 2, 1), guest::nop(), guest::hlt(0)}, lanes(), kAll);
  aim(fleet, kCode + 8, guest::add(0, 0, 7));
  run(fleet, pace());
  expect_x0(fleet, 7, 0);
  EXPECT_EQ(fleet.get(Field::instructions, 0), 3u);
}

TEST_P(FleetCode, WritesOneWordOfACompareAndBranch) {
  // The first time x0 += 1, because x4 is 0; the written word inverts the condition.
  const Words words = {
      guest::cmp(4, 0),  guest::b_cond(guest::kNe, 3), guest::add(0, 0, 1), guest::b(2),  guest::add(0, 0, 256),
      guest::cbnz(6, 4), guest::str(2, 2, 1),          guest::add(6, 6, 1), guest::b(-8), guest::hlt(0)};
  struct Change {
    uint64_t index;
    uint32_t word;
  };
  for (const Change& change : {Change{1, guest::b_cond(guest::kEq, 3)}, Change{0, guest::cmp(4, 1)}}) {
    Fleet fleet = fleet_of(words, lanes(), kAll);
    aim(fleet, kCode + 4 * change.index, change.word);
    run(fleet, pace());
    expect_x0(fleet, 0x101, 2);
  }
}

TEST_P(FleetCode, WritesAcrossInstructionsAndPages) {
  // Eight bytes that begin in the middle of a word: the end of one instruction, a whole one, the begin of a third.
  // At the start, amid a page, and across its end.
  for (uint64_t index : {uint64_t{12}, uint64_t{100}, kPageBytes / 4 - 2}) {
    Words words(2 * kPageBytes / 4, guest::nop());
    for (uint64_t i = 0; i < 3; i++) words[index + i] = guest::movz(0, 1);
    words[index + 3] = guest::cbnz(6, 5);
    words[index + 4] = guest::str(3, 2, 1);
    words[index + 5] = guest::add(6, 6, 1);
    words[index + 6] = guest::b(static_cast<int32_t>(-6 - static_cast<int64_t>(index)));
    words[index + 8] = guest::hlt(0);
    const uint32_t after[] = {guest::movz(0, 1, 16), guest::movk(0, 0x33, 32), guest::movk(0, 0x44)};
    // The first word keeps its lower half, the third its upper half.
    const uint32_t made[] = {(after[0] & 0xFFFF0000) | (words[index] & 0xFFFF), after[1],
                             (words[index + 2] & 0xFFFF0000) | (after[2] & 0xFFFF)};
    uint64_t value;
    std::memcpy(&value, reinterpret_cast<const uint8_t*>(made) + 2, 8);
    Fleet fleet = fleet_of(words, lanes(), kAll);
    aim(fleet, kCode + index * 4 + 2, value);
    run(fleet, pace());
    SCOPED_TRACE(index);
    // movz x0, #1, lsl #16; movk x0, #0x33, lsl #32; movz x0, #0x44
    expect_x0(fleet, 0x44, 1);
    Words now(3);
    std::vector<uint8_t> bytes = fleet.read(0, kCode + index * 4, 12);
    std::memcpy(now.data(), bytes.data(), 12);
    EXPECT_EQ(now, Words(made, made + 3));
  }
}

TEST_P(FleetCode, WritesCodeToAnotherPageAndWritesItAgain) {
  const Words words = {guest::str(3, 2, 1), guest::blr(5), guest::str(3, 3, 1), guest::blr(5), guest::hlt(0)};
  auto code = [](uint32_t first) { return uint64_t{guest::ret()} << 32 | first; };
  Fleet fleet = fleet_of(words, lanes());
  aim(fleet, kOtherCode + 0x40, code(guest::add(0, 0, 1)));
  fleet.fill(x(3), code(guest::add(0, 0, 0x100)));
  fleet.fill(x(5), kOtherCode + 0x40);
  run(fleet, pace());
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    expect_stop(fleet, lane, writes(lane) ? halt() : plain(StopReason::undefined));  // zeros are UDF #0
    EXPECT_EQ(fleet.get(x(0), lane), writes(lane) ? 0x101u : 0u);
    EXPECT_EQ(fleet.get(Field::pc, lane), writes(lane) ? kCode + 16 : kOtherCode + 0x40);
  }
}

TEST_P(FleetCode, WritesFromAPageOfDataIntoTheCodeBehindIt) {
  const Words words = {guest::blr(5), guest::str(3, 2, 1), guest::blr(5), guest::hlt(0)};
  Fleet fleet = fleet_of(words, lanes());
  fleet.map(all_lanes(fleet), kOtherCode - kPageBytes, kPageBytes, kRead | kWrite);
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    fleet.write(lane, kOtherCode, bytes_of({guest::add(0, 0, 1), guest::ret()}));
  }
  aim(fleet, kOtherCode - 4, uint64_t{guest::add(0, 0, 0x100)} << 32);
  fleet.fill(x(5), kOtherCode);
  run(fleet, pace());
  expect_x0(fleet, 0x101, 2);
}

TEST_P(FleetCode, WritesCodeThatRunsOnIntoThePageItCameFrom) {
  // The end of kOtherCode's page is written with NOPs; then comes unmapped memory.
  Fleet fleet = fleet_of({guest::str(3, 2, 1), guest::br(1), guest::hlt(0)}, lanes());
  fleet.fill(x(1), kOtherCode + kPageBytes - 8);
  fleet.fill(x(2), uint64_t{guest::nop()} << 32 | guest::nop());
  run(fleet, pace());
  expect_all_stopped(fleet, fault(FaultKind::unmapped, kOtherCode + kPageBytes));
  EXPECT_EQ(fleet.get(Field::instructions, 0), 4u);
}

TEST_P(FleetCode, TheHostWritesCode) {
  const Words words = {guest::cmp(4, 0), guest::b_cond(guest::kNe, 3), guest::add(0, 0, 1),
                       guest::b(2),      guest::add(0, 0, 256),        guest::svc(1),
                       guest::b(-6)};
  Fleet fleet = fleet_of(words, lanes());
  auto write_word = [&](uint32_t index, uint32_t word) {
    for (uint32_t lane : writers(fleet)) fleet.write(lane, kCode + 4 * index, bytes_of({word}));
  };
  auto step = [&](uint64_t written, uint64_t other) {
    run(fleet, pace());
    for (uint32_t lane = 0; lane < lanes(); lane++) {
      expect_stop(fleet, lane, {StopReason::syscall, FaultKind::none, 1, 0});
      EXPECT_EQ(fleet.get(x(0), lane), writes(lane) ? written : other) << "lane " << lane;
    }
    fleet.resume_all();
  };
  write_word(2, guest::add(0, 0, 2));  // before the first run
  step(2, 1);
  write_word(1, guest::b_cond(guest::kEq, 3));
  step(0x102, 2);
  write_word(1, guest::b_cond(guest::kNe, 3));
  write_word(0, guest::cmp(4, 1));
  step(0x202, 3);
  write_word(6, guest::hlt(0));  // at the lane's pc
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    if (!writes(lane)) fleet.set(Field::pc, lane, kCode + 8);
  }
  run(fleet, pace());
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    expect_stop(fleet, lane, writes(lane) ? halt() : Stop{StopReason::syscall, FaultKind::none, 1, 0});
  }
}

TEST_P(FleetCode, RawMemoryRewritesItsFirstWord) {
  const Words words = {guest::add(0, 0, 1), guest::cbnz(6, 4), guest::str(2, 2, 1),
                       guest::add(6, 6, 1), guest::b(-4),      guest::hlt(0)};
  for (uint64_t address : {uint64_t{0}, uint64_t{0x2000}}) {
    Fleet fleet(myriarm::raw_program("raw", bytes_of(words), address, 0x10000), options_of(lanes(), 0x10000));
    EXPECT_EQ(fleet.get(Field::sp, 0), 0x10000u);
    set_each(fleet, x(1), [&](uint64_t lane) { return writes(lane) ? address : 0x8000; });
    fleet.fill(x(2), guest::add(0, 0, 0x100));
    run(fleet, pace());
    expect_x0(fleet, 0x101, 2);
  }
}

TEST_P(FleetCode, RawMemoryHoldsDataBesideCode) {
  // Adds x4 to the doubleword after the code, 200 times.
  const Words words = {guest::ldr(3, 0, 1),  guest::add_register(0, 0, 4),  guest::str(3, 0, 1),
                       guest::subs(5, 5, 1), guest::b_cond(guest::kNe, -4), guest::hlt(0)};
  Fleet fleet(myriarm::raw_program("raw", bytes_of(words), 0x1000, 0x10000), options_of(lanes(), 0x10000));
  fleet.fill(x(1), 0x1000 + words.size() * 4);
  set_each(fleet, x(4), [](uint64_t lane) { return lane + 1; });
  fleet.fill(x(5), 200);
  run(fleet, pace());
  expect_all_stopped(fleet, halt());
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    EXPECT_EQ(number_of(fleet.read(lane, 0x1000 + words.size() * 4, 8)), 200u * (lane + 1));
    EXPECT_EQ(fleet.get(Field::instructions, lane), 200 * 5u);
    EXPECT_EQ(fleet.read(lane, 0x1000, words.size() * 4), bytes_of(words));
  }
}

TEST_P(FleetCode, DataBecomesExecutable) {
  // Like a JIT compiler, the lane writes code, asks the host to make it executable, and calls it.
  const Words words = {guest::str(3, 2, 1), guest::svc(0), guest::blr(1), guest::hlt(0)};
  Fleet fleet = fleet_of(words, lanes());
  fleet.fill(x(1), kData + 0x10);
  set_each(fleet, x(2), [](uint64_t lane) {
    return uint64_t{guest::ret()} << 32 | guest::add(0, 0, static_cast<uint32_t>(lane) + 1);
  });
  run(fleet, pace());
  expect_all_stopped(fleet, plain(StopReason::syscall));
  fleet.protect(writers(fleet), kData, kPageBytes, kRead | kExecute);
  fleet.resume_all();
  run(fleet, pace());
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    expect_stop(fleet, lane, writes(lane) ? halt() : fault(FaultKind::execute, kData + 0x10));
    EXPECT_EQ(fleet.get(x(0), lane), writes(lane) ? lane + 1 : 0);
  }
  // Changed as data, executed again.
  fleet.protect(all_lanes(fleet), kData, kPageBytes, kRead | kWrite);
  fleet.fill(x(2), uint64_t{guest::ret()} << 32 | guest::add(0, 0, 0x200));
  fleet.fill(x(0), 0);
  fleet.fill(Field::pc, kCode);
  fleet.resume_all();
  run(fleet, pace());
  expect_all_stopped(fleet, plain(StopReason::syscall));
  fleet.protect(all_lanes(fleet), kData, kPageBytes, kRead | kExecute);
  fleet.resume_all();
  run(fleet, pace());
  expect_x0(fleet, 0x200, 0x200);
}

TEST_P(FleetCode, ZerosAreMappedOverCode) {
  const Words words = {guest::add(0, 0, 1), guest::svc(0), guest::b(-2)};
  Fleet fleet = fleet_of(words, lanes());
  run(fleet, pace());
  fleet.map(writers(fleet), kCode, kPageBytes, kAll);
  fleet.resume_all();
  run(fleet, pace());
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    expect_stop(fleet, lane, plain(writes(lane) ? StopReason::undefined : StopReason::syscall));
    EXPECT_EQ(fleet.get(x(0), lane), writes(lane) ? 1u : 2u);
  }
  fleet.unmap(writers(fleet), kCode, kPageBytes);
  fleet.resume_all();
  run(fleet, pace());
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    expect_stop(fleet, lane, writes(lane) ? fault(FaultKind::unmapped, kCode + 8) : plain(StopReason::syscall));
  }
}

TEST_P(FleetCode, CodeLosesItsPermissionAndGetsItBack) {
  const Words words = {guest::add(0, 0, 1), guest::svc(0), guest::b(-2)};
  Fleet fleet = fleet_of(words, lanes());
  run(fleet, pace());
  fleet.protect(writers(fleet), kCode, kPageBytes, kRead);
  fleet.resume_all();
  run(fleet, pace());
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    expect_stop(fleet, lane, writes(lane) ? fault(FaultKind::execute, kCode + 8) : plain(StopReason::syscall));
  }
  fleet.protect(all_lanes(fleet), kCode, kPageBytes, kRead | kExecute);
  fleet.resume_all();
  run(fleet, pace());
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    expect_stop(fleet, lane, plain(StopReason::syscall));
    EXPECT_EQ(fleet.get(x(0), lane), writes(lane) ? 2u : 3u);
  }
}

TEST_P(FleetCode, TheNextPageOfCodeLosesItsPermission) {
  // From the first page into the second by running on, and by a branch.
  constexpr int32_t kWords = kPageBytes / 4;
  for (uint32_t second : {guest::nop(), guest::b(kWords - 1)}) {
    Words words(2 * kWords, guest::nop());
    words[1] = second;
    words[kWords] = guest::svc(0);
    Fleet fleet = fleet_of(words, lanes());
    run(fleet, pace());
    expect_all_stopped(fleet, plain(StopReason::syscall));
    fleet.protect(writers(fleet), kCode + kPageBytes, kPageBytes, kRead);
    fleet.fill(Field::pc, kCode);
    fleet.resume_all();
    run(fleet, pace());
    for (uint32_t lane = 0; lane < lanes(); lane++) {
      expect_stop(fleet, lane,
                  writes(lane) ? fault(FaultKind::execute, kCode + kPageBytes) : plain(StopReason::syscall));
    }
  }
}

TEST_P(FleetCode, ATagInThePcIsPartOfTheAddress) {
  constexpr uint64_t kTagged = 0x5A00'0000'0000'0000 | kCode;
  Fleet fleet = fleet_of({guest::add(0, 0, 1), guest::hlt(3)}, lanes());
  fleet.fill(Field::pc, kTagged);
  run(fleet, pace());
  expect_all_stopped(fleet, fault(FaultKind::unmapped, kTagged));
  EXPECT_EQ(fleet.get(Field::pc, 0), kTagged);
  EXPECT_EQ(fleet.get(x(0), 0), 0u);
}

TEST(FleetCodeBudget, IsExactInCodeThatWasWritten) {
  // The lane overwrites the one branch of a loop with a NOP, so that only the limit can end the straight line early.
  Words words(2 * kPageBytes / 4, guest::add(0, 0, 1));
  words[0] = guest::str(2, 2, 1);
  words[2] = guest::b(-1);
  words.back() = guest::hlt(0);
  const uint64_t total = words.size() - 1;
  Fleet fleet = fleet_of(words, 80, kAll);
  fleet.fill(x(1), kCode + 8);
  fleet.fill(x(2), guest::nop());
  auto limit = [&](uint64_t lane) { return lane < 40 ? lane : total + 40 - 79 + lane - 38; };
  set_each(fleet, Field::limit, limit);
  fleet.run();
  for (uint32_t lane = 0; lane < 80; lane++) {
    expect_stop(fleet, lane, limit(lane) <= total ? plain(StopReason::budget) : halt());
    uint64_t retired = std::min(limit(lane), total);
    EXPECT_EQ(fleet.get(Field::instructions, lane), retired);
    EXPECT_EQ(fleet.get(Field::pc, lane), kCode + 4 * retired);
    EXPECT_EQ(fleet.get(x(0), lane), retired - std::min<uint64_t>(retired, 1) - (retired >= 3));
  }
}

}  // namespace
}  // namespace fleet_test
