// SPDX-License-Identifier: Apache-2.0
// The contract of include/myriarm/fleet.h: stops, budgets, cancelling, fields, and refused arguments. Memory is tested
// in fleet_memory_test.cpp, code that changes in fleet_code_test.cpp.
#include <algorithm>
#include <thread>

#include "fleet_fixture.h"

namespace fleet_test {
namespace {

TEST(GuestWords, AreWhatTheySay) {
  const std::pair<uint32_t, const char*> rows[] = {
      {guest::nop(), "hint #0x0"},
      {guest::movz(3, 0x12, 16), "movz x3, #0x12, lsl #16"},
      {guest::movk(3, 0x12, 32), "movk x3, #0x12, lsl #32"},
      {guest::add(1, 2, 3), "add x1, x2, #0x3"},
      {guest::sub(1, 2, 3), "sub x1, x2, #0x3"},
      {guest::subs(1, 2, 3), "subs x1, x2, #0x3"},
      {guest::cmp(4, 5), "subs xzr, x4, #0x5"},
      {guest::add_register(1, 2, 3), "add x1, x2, x3"},
      {guest::eor_register(1, 2, 3), "eor x1, x2, x3"},
      {guest::madd(1, 2, 3, 4), "madd x1, x2, x3, x4"},
      {guest::b(-1), "b 0xfffc"},
      {guest::bl(4), "bl 0x10010"},
      {guest::b_cond(guest::kNe, -2), "b.ne 0xfff8"},
      {guest::cbz(1, 2), "cbz x1, 0x10008"},
      {guest::cbnz(1, -2), "cbnz x1, 0xfff8"},
      {guest::br(1), "br x1"},
      {guest::blr(1), "blr x1"},
      {guest::ret(), "ret"},
      {guest::ldr(0, 2, 1), "ldrb w2, [x1]"},
      {guest::ldr(1, 2, 1), "ldrh w2, [x1]"},
      {guest::ldr(2, 2, 1), "ldr w2, [x1]"},
      {guest::ldr(3, 2, 1), "ldr x2, [x1]"},
      {guest::str(0, 2, 1), "strb w2, [x1]"},
      {guest::str(1, 2, 1), "strh w2, [x1]"},
      {guest::str(2, 2, 1), "str w2, [x1]"},
      {guest::str(3, 2, 1), "str x2, [x1]"},
      {guest::str_post(2, 1, 8), "str x2, [x1], #8"},
      {guest::ldr_post(2, 1, 8), "ldr x2, [x1], #8"},
      {guest::ldp(2, 3, 1), "ldp x2, x3, [x1]"},
      {guest::stp(2, 3, 1), "stp x2, x3, [x1]"},
      {guest::ldp_w(2, 3, 1), "ldp w2, w3, [x1]"},
      {guest::stp_w(2, 3, 1), "stp w2, w3, [x1]"},
      {guest::ldxr(2, 1), "ldxr x2, [x1]"},
      {guest::stlr(2, 1), "stlr x2, [x1]"},
      {guest::svc(1), "svc #0x1"},
      {guest::brk(1), "brk #0x1"},
      {guest::hlt(1), "hlt #0x1"},
      {guest::udf(1), "udf #1"},
  };
  for (const auto& [word, text] : rows) {
    std::string have = myriarm::disassemble(word, kCode);
    std::replace(have.begin(), have.end(), '\t', ' ');
    EXPECT_EQ(have, text);
  }
}

TEST(Fleet, BeginsAsTheProgramSays) {
  for (uint64_t lanes : kFleetSizes) {
    Fleet fleet = fleet_of({guest::hlt(0)}, lanes);
    EXPECT_EQ(fleet.lanes(), lanes);
    EXPECT_EQ(fleet.memory_begin(), kCode);
    EXPECT_EQ(fleet.memory_end(), kEnd);
    EXPECT_FALSE(fleet.device().id.empty());
    EXPECT_GE(fleet.device().units, 1u);
    expect_all_stopped(fleet, Stop{});
    std::vector<uint64_t> values(lanes);
    for (unsigned f = 0; f < static_cast<unsigned>(Field::count); f++) {
      auto field = static_cast<Field>(f);
      uint64_t want = field == Field::pc      ? kCode
                      : field == Field::sp    ? kData + 4 * kPageBytes
                      : field == Field::limit ? ~uint64_t{0}
                                              : 0;
      fleet.get_all(field, values);
      EXPECT_EQ(values, std::vector<uint64_t>(lanes, want)) << "field " << f;
    }
  }
}

TEST(Fleet, KeepsEveryFieldOfEveryLane) {
  for (uint64_t lanes : kFleetSizes) {
    Fleet fleet = fleet_of({guest::hlt(0)}, lanes);
    // Bits that each register has.
    auto legal = [](unsigned field, uint64_t value) {
      switch (static_cast<Field>(field)) {
        case Field::nzcv: return value & 15;
        case Field::fpcr: return value & 0x07C80000;
        case Field::fpsr: return value & 0x0800009F;
        default: return value;
      }
    };
    auto value_of = [&](unsigned field, uint64_t lane) {
      uint64_t value = (field + 1) * 0x9E3779B97F4A7C15 ^ lane << 40 ^ lane;
      if (static_cast<Field>(field) == Field::pc) return kCode;
      if (static_cast<Field>(field) == Field::instructions) return value & 0xFFFF;
      if (static_cast<Field>(field) == Field::limit) return ~uint64_t{0} - lane;
      return legal(field, value);
    };
    constexpr auto kFields = static_cast<unsigned>(Field::count);
    for (unsigned f = 0; f < kFields; f++) {
      set_each(fleet, static_cast<Field>(f), [&](uint64_t lane) { return value_of(f, lane); });
    }
    auto expect_all = [&](const char* when) {
      std::vector<uint64_t> values(lanes);
      for (unsigned f = 0; f < kFields; f++) {
        fleet.get_all(static_cast<Field>(f), values);
        for (uint64_t lane = 0; lane < lanes; lane++) {
          EXPECT_EQ(values[lane], value_of(f, lane)) << when << ", field " << f << ", lane " << lane;
        }
      }
    };
    expect_all("as set");
    fleet.run();  // a HLT changes nothing
    expect_all("after a run");

    // Some lanes, in any order; the others stay.
    std::vector<uint32_t> some = {static_cast<uint32_t>(lanes - 1)};
    if (lanes > 2) some.push_back(1);
    for (unsigned f = 0; f < kFields; f++) {
      auto field = static_cast<Field>(f);
      std::vector<uint64_t> values(some.size());
      fleet.get(field, some, values);
      for (size_t i = 0; i < some.size(); i++) EXPECT_EQ(values[i], value_of(f, some[i]));
      for (size_t i = 0; i < some.size(); i++) values[i] = legal(f, 0x05800008 + f + i);
      fleet.set(field, some, values);
      for (size_t i = 0; i < some.size(); i++) EXPECT_EQ(fleet.get(field, some[i]), legal(f, 0x05800008 + f + i));
      if (lanes > 2) {
        EXPECT_EQ(fleet.get(field, 0), value_of(f, 0));
      }
      fleet.fill(field, legal(f, 0x07800003));
      values.resize(lanes);
      fleet.get_all(field, values);
      EXPECT_EQ(values, std::vector<uint64_t>(lanes, legal(f, 0x07800003)));
    }
  }
}

TEST(Fleet, StopsAtExceptionsAndGoesOn) {
  struct Row {
    uint32_t word;
    Stop stop;
    bool retires;
  };
  const Row rows[] = {
      {guest::hlt(0xF000), halt(0xF000), false},
      {guest::brk(0x123), {StopReason::breakpoint, FaultKind::none, 0x123, 0}, false},
      {guest::udf(0x77), {StopReason::undefined, FaultKind::none, 0, 0x77}, false},
      {0xFFFFFFFF, {StopReason::undefined, FaultKind::none, 0, 0xFFFFFFFF}, false},
      {guest::svc(0xFFFF), {StopReason::syscall, FaultKind::none, 0xFFFF, 0}, true},
  };
  for (uint64_t lanes : kFleetSizes) {
    for (const Row& row : rows) {
      Fleet fleet = fleet_of({guest::add(0, 0, 1), row.word, guest::add(0, 0, 1), guest::hlt(1)}, lanes);
      myriarm::RunResult result = fleet.run();
      expect_all_stopped(fleet, row.stop);
      EXPECT_EQ(result.stopped, lanes);
      EXPECT_EQ(result.instructions, lanes * (row.retires ? 2 : 1));
      EXPECT_EQ(fleet.get(Field::pc, 0), kCode + (row.retires ? 8 : 4));
      EXPECT_EQ(fleet.get(Field::instructions, 0), row.retires ? 2u : 1u);
      // A lane with a stop does not run.
      EXPECT_EQ(fleet.run().instructions, 0u);
      expect_all_stopped(fleet, row.stop);
      // The last lane goes on after the instruction, with a result from the host.
      auto last = static_cast<uint32_t>(lanes - 1);
      fleet.set(Field::pc, last, kCode + 8);
      fleet.set(x(0), last, 40);
      fleet.resume(std::span(&last, 1));
      expect_stop(fleet, last, Stop{});
      EXPECT_EQ(fleet.run().instructions, 1u);
      expect_stop(fleet, last, halt(1));
      EXPECT_EQ(fleet.get(x(0), last), 41u);
      if (lanes > 1) expect_stop(fleet, 0, row.stop);
    }
  }
}

TEST(Fleet, TakesStopsFromTheHost) {
  Fleet fleet = fleet_of({guest::add(0, 0, 1), guest::hlt(0)}, 40);
  const uint32_t lanes[] = {3, 39};
  const Stop stops[] = {{StopReason::exited, FaultKind::none, 42, 0}, {StopReason::fault, FaultKind::read, 1, 99}};
  fleet.set_stops(lanes, stops);
  EXPECT_EQ(fleet.run().instructions, 38u);
  for (uint32_t lane = 0; lane < 40; lane++) {
    expect_stop(fleet, lane, lane == 3 ? stops[0] : lane == 39 ? stops[1] : halt());
    EXPECT_EQ(fleet.get(x(0), lane), lane == 3 || lane == 39 ? 0u : 1u);
  }
  fleet.resume({});
  EXPECT_EQ(fleet.run().instructions, 0u);
  fleet.resume(lanes);
  EXPECT_EQ(fleet.run().instructions, 2u);
  expect_all_stopped(fleet, halt());
}

/// A loop of 13 iterations with a call, conditional branches, 50 instructions without a branch, and stores.
Words branching_program() {
  Words words = {guest::movz(4, 13), guest::movz(2, 0x1234), guest::movk(2, 0xBEEF, 16)};
  const auto loop = static_cast<int32_t>(words.size());
  auto here = [&] { return static_cast<int32_t>(words.size()); };
  words.push_back(guest::bl(60 + 4));  // to the function after the loop, see below
  for (int i = 0; i < 50; i++) {
    words.push_back(i % 3 == 0   ? guest::madd(2, 2, 5, 4)
                    : i % 3 == 1 ? guest::eor_register(2, 2, 3)
                                 : guest::add(3, 3, 11));
  }
  words.push_back(guest::cmp(4, 7));
  words.push_back(guest::b_cond(guest::kLt, 2));
  words.push_back(guest::add(3, 3, 1));
  words.push_back(guest::str_post(2, 1, 8));
  words.push_back(guest::subs(4, 4, 1));
  words.push_back(guest::b_cond(guest::kNe, loop - here()));
  words.push_back(guest::hlt(0));
  while (here() < loop + 64) words.push_back(guest::udf(0));
  words.push_back(guest::add(5, 5, 3));
  words.push_back(guest::cbz(6, 3));
  words.push_back(guest::eor_register(3, 3, 2));
  words.push_back(guest::b(2));
  words.push_back(guest::add(6, 6, 1));
  words.push_back(guest::sub(0, 3, 9));
  words.push_back(guest::ret());
  return words;
}

constexpr Field kCompared[] = {x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(30), Field::sp, Field::pc, Field::nzcv};

TEST(FleetBudget, IsExactForEveryLimit) {
  const Words words = branching_program();
  auto prepare = [](Fleet& fleet) {
    fleet.fill(x(1), kData + kPageBytes - 28);  // stores are not aligned, and one lies on two pages
  };
  // The reference: one lane, one instruction at a time.
  struct State {
    std::vector<uint64_t> fields;
    std::vector<uint8_t> memory;
    bool operator==(const State&) const = default;
  };
  auto states_of = [](const Fleet& fleet) {
    std::vector<State> each(fleet.lanes());
    for (Field field : kCompared) {
      const std::vector<uint64_t> values = values_of(fleet, field);
      for (size_t lane = 0; lane < each.size(); lane++) each[lane].fields.push_back(values[lane]);
    }
    const std::vector<std::vector<uint8_t>> memory = memory_of(fleet, kData + kPageBytes - 32, 128);
    for (size_t lane = 0; lane < each.size(); lane++) each[lane].memory = memory[lane];
    return each;
  };
  std::vector<State> states;
  {
    Fleet fleet = fleet_of(words);
    prepare(fleet);
    for (uint64_t limit = 0;; limit++) {
      fleet.set(Field::limit, 0, limit);
      uint64_t retired = fleet.run().instructions;
      EXPECT_EQ(retired, fleet.stops()[0].reason == StopReason::halt || limit == 0 ? 0u : 1u);
      if (fleet.stops()[0].reason != StopReason::budget) break;
      ASSERT_EQ(fleet.get(Field::instructions, 0), limit);
      states.push_back(states_of(fleet)[0]);
      fleet.resume_all();
    }
    expect_stop(fleet, 0, halt());
  }
  const uint64_t total = states.size() - 1;
  ASSERT_GT(total, 700u);
  // The loop repeats, so that a lane is far from its limit most of the time, and the lanes' limits are at every
  // instruction.
  Fleet fleet = fleet_of(words, total + 3);
  prepare(fleet);
  set_each(fleet, Field::limit, [](uint64_t lane) { return lane; });
  myriarm::RunResult result = fleet.run();
  uint64_t sum = 0;
  std::vector<uint64_t> counts = values_of(fleet, Field::instructions);
  std::vector<State> have = states_of(fleet);
  for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
    uint64_t retired = std::min<uint64_t>(lane, total);
    sum += retired;
    expect_stop(fleet, lane, lane <= total ? plain(StopReason::budget) : halt());
    ASSERT_EQ(counts[lane], retired);
    ASSERT_TRUE(have[lane] == states[retired]) << "limit " << lane;
  }
  EXPECT_EQ(result.instructions, sum);
  // A limit that is reached already stops at once; a higher one goes on to the same end.
  fleet.resume_all();
  EXPECT_EQ(fleet.run().instructions, 0u);
  for (uint32_t lane : {0u, 17u, static_cast<uint32_t>(total)}) expect_stop(fleet, lane, plain(StopReason::budget));
  fleet.fill(Field::limit, ~uint64_t{0});
  fleet.resume_all();
  fleet.run();
  expect_all_stopped(fleet, halt());
  counts = values_of(fleet, Field::instructions);
  have = states_of(fleet);
  for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
    ASSERT_EQ(counts[lane], total);
    ASSERT_TRUE(have[lane] == states[total]) << "resumed after " << lane;
  }
}

TEST(FleetBudget, IsExactFarFromTheStart) {
  // Loops of 5 instructions with a pair at the end, or 4 pages without a branch: more than an engine runs between two
  // comparisons with the limit.
  Words line(4 * kPageBytes / 4, guest::add(0, 0, 1));
  line.back() = guest::b(1 - static_cast<int32_t>(line.size()));
  const Words loop = {guest::add(0, 0, 1), guest::add(0, 0, 1), guest::add(0, 0, 1), guest::cmp(0, 0),
                      guest::b_cond(guest::kNe, -4)};
  for (const Words& words : {line, loop}) {
    Fleet fleet = fleet_of(words, 40);
    auto limit = [&](uint64_t lane) { return lane < 20 ? 4090 + lane : 30000 + 997 * lane; };
    set_each(fleet, Field::limit, limit);
    fleet.run();
    for (int round = 1; round <= 3; round++) {
      for (uint32_t lane = 0; lane < 40; lane++) {
        uint64_t retired = limit(lane) * static_cast<uint64_t>(round);
        expect_stop(fleet, lane, plain(StopReason::budget));
        EXPECT_EQ(fleet.get(Field::instructions, lane), retired);
        uint64_t rounds = retired / words.size(), rest = retired % words.size();
        EXPECT_EQ(fleet.get(Field::pc, lane), kCode + 4 * rest);
        uint64_t adds = words.size() == 5 ? 3 : words.size() - 1;
        EXPECT_EQ(fleet.get(x(0), lane), rounds * adds + std::min(rest, adds));
      }
      set_each(fleet, Field::limit, [&](uint64_t lane) { return limit(lane) * static_cast<uint64_t>(round + 1); });
      fleet.resume_all();
      fleet.run();
    }
  }
}

TEST(FleetBudget, CountsFromWhereTheHostPutsIt) {
  Fleet fleet = fleet_of({guest::add(0, 0, 1), guest::b(-1)}, 5);
  set_each(fleet, Field::instructions, [](uint64_t lane) { return lane * 1000; });
  fleet.fill(Field::limit, 2001);
  EXPECT_EQ(fleet.run().instructions, 2001u + 1001 + 1);
  expect_all_stopped(fleet, plain(StopReason::budget));
  EXPECT_EQ(fleet.get(Field::instructions, 4), 4000u);
  EXPECT_EQ(fleet.get(x(0), 2), 1u);
}

TEST(FleetCancel, EndsAnEndlessLoop) {
  for (uint64_t lanes : kFleetSizes) {
    Fleet fleet = fleet_of({guest::cbz(0, 0), guest::hlt(5)}, lanes);
    std::thread canceller([&] {
      until([&] { return fleet.poll().instructions > 0; });
      fleet.cancel();
    });
    uint64_t instructions = fleet.run().instructions;
    canceller.join();
    EXPECT_GT(instructions, 0u);
    expect_all_stopped(fleet, plain(StopReason::cancelled));
    uint64_t sum = 0;
    for (uint32_t lane = 0; lane < lanes; lane++) {
      sum += fleet.get(Field::instructions, lane);
      EXPECT_EQ(fleet.get(Field::pc, lane), kCode);
    }
    EXPECT_EQ(sum, instructions);
    // The lanes go on, and the next run is not cancelled.
    fleet.fill(x(0), 1);
    fleet.resume_all();
    EXPECT_EQ(fleet.run().instructions, lanes);
    expect_all_stopped(fleet, halt(5));
  }
}

TEST(FleetCancel, BeforeARunEndsIt) {
  Fleet fleet = fleet_of({guest::b(0)}, 5);
  fleet.cancel();
  EXPECT_EQ(fleet.run().instructions, 0u);
  expect_all_stopped(fleet, plain(StopReason::cancelled));
}

TEST(FleetCancel, LeavesStopsThatLanesHave) {
  // Even lanes halt, odd ones never do. The run has batches, because without them a CPU would begin some lanes only
  // when others have ended.
  Fleet fleet = fleet_of({guest::cbnz(0, 2), guest::hlt(7), guest::b(0)}, 40);
  set_each(fleet, x(0), [](uint64_t lane) { return lane % 2; });
  std::thread canceller([&] {
    std::vector<myriarm::Signal> signals(40);
    until([&] {
      fleet.poll_lanes({}, signals);
      return std::count(signals.begin(), signals.end(), myriarm::Signal::halt) == 20;
    });
    fleet.cancel();
  });
  myriarm::RunOptions options;
  options.mode = myriarm::Mode::continuous;
  options.instructions_per_batch = 100'000;
  fleet.run(options);
  canceller.join();
  for (uint32_t lane = 0; lane < 40; lane++) {
    expect_stop(fleet, lane, lane % 2 == 0 ? halt(7) : plain(StopReason::cancelled));
  }
}

TEST(Fleet, MovesToAnotherOwner) {
  Fleet first = fleet_of({guest::add(0, 0, 1), guest::hlt(0)}, 2);
  Fleet second = std::move(first);
  second.run();
  expect_all_stopped(second, halt());
  first = std::move(second);
  EXPECT_EQ(first.get(x(0), 1), 1u);
}

/// The message of the Error that `call` throws; it must be of this type and have one line.
template <class Error, class Call>
void expect_error(Call call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()), "");
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

TEST(FleetArguments, OfTheFleetAreChecked) {
  using myriarm::ArgumentError;
  const Program good = program_of({guest::hlt(0)});
  auto with = [&](auto change) {
    FleetOptions options = options_of(1);
    Program program = good;
    change(program, options);
    expect_error<ArgumentError>([&] { Fleet fleet(program, options); });
  };
  with([](Program&, FleetOptions& o) { o.lanes = 0; });
  with([](Program&, FleetOptions& o) { o.lanes = uint64_t{1} << 40; });
  with([](Program&, FleetOptions& o) { o.memory = 0; });
  with([](Program&, FleetOptions& o) { o.memory = kEnd - kCode + 1; });
  with([](Program&, FleetOptions& o) { o.memory = kPageBytes; });  // the program does not fit
  with([](Program&, FleetOptions& o) { o.memory = uint64_t{1} << 60; });
  with([](Program&, FleetOptions& o) { o.device = "tpu"; });
  with([](Program&, FleetOptions& o) { o.device = ""; });
  with([](Program& p, FleetOptions&) { p.segments.clear(); });
  with([](Program& p, FleetOptions&) { p.segments.push_back(p.segments[0]); });
  with([](Program& p, FleetOptions&) { p.segments[0].address = ~uint64_t{0} - 8; });
  with([](Program& p, FleetOptions&) { p.segments[0].size = ~uint64_t{0}; });
  with([](Program& p, FleetOptions&) { p.segments[0].bytes.resize(p.segments[0].size + 1); });
  for (const char* device : {"cuda:99", "cuda:x", "cuda:"}) {
    FleetOptions options = options_of(1);
    options.device = device;
    expect_error<myriarm::DeviceError>([&] { Fleet fleet(good, options); });
  }
}

TEST(FleetArguments, OfCallsAreChecked) {
  using myriarm::ArgumentError;
  Fleet fleet = fleet_of({guest::hlt(0)}, 5);
  const std::vector<uint32_t> outside = {0, 5}, inside = {0, 4}, none;
  std::vector<uint64_t> two(2), five(5);
  std::vector<uint8_t> buffer(64);
  std::vector<uint32_t> done(2);
  auto refused = [](auto call) { expect_error<ArgumentError>(call); };
  refused([&] { fleet.get(x(0), outside, two); });
  refused([&] { fleet.set(x(0), outside, two); });
  refused([&] { fleet.get(x(0), inside, five); });
  refused([&] { fleet.set(x(0), inside, five); });
  refused([&] { fleet.get_all(x(0), two); });
  refused([&] { fleet.set_all(x(0), two); });
  refused([&] { fleet.get(Field::count, inside, two); });
  refused([&] { fleet.fill(static_cast<Field>(255), 0); });
  refused([&] { (void)fleet.get(x(0), 5); });
  refused([&] { fleet.set(x(0), 5, 0); });
  refused([&] { fleet.resume(outside); });
  refused([&] { fleet.set_stops(outside, std::vector<Stop>(2)); });
  refused([&] { fleet.set_stops(inside, std::vector<Stop>(1)); });
  for (auto change : {&Fleet::map, &Fleet::protect}) {
    refused([&] { (fleet.*change)(outside, kData, kPageBytes, kRead); });
    refused([&] { (fleet.*change)(inside, kData + 8, kPageBytes, kRead); });
    refused([&] { (fleet.*change)(inside, kData, 100, kRead); });
    refused([&] { (fleet.*change)(inside, kData, 0, kRead); });
    refused([&] { (fleet.*change)(inside, kCode - kPageBytes, kPageBytes, kRead); });
    refused([&] { (fleet.*change)(inside, kEnd, kPageBytes, kRead); });
    refused([&] { (fleet.*change)(inside, kEnd - kPageBytes, 2 * kPageBytes, kRead); });
    refused([&] { (fleet.*change)(inside, kData, ~uint64_t{0} - kPageBytes + 1, kRead); });
  }
  auto transfer = [&](Transfer t, std::span<uint32_t> done_of = {}) {
    refused([&] { fleet.read(std::span(&t, 1), buffer, done_of); });
    refused([&] { fleet.write(std::span(&t, 1), buffer, done_of); });
  };
  transfer({5, 1, kData, 0});
  transfer({0, 65, kData, 0});
  transfer({0, 8, kData, 60});
  transfer({0, 8, kData, ~uint64_t{0} - 3});
  transfer({0, 8, kData, 0}, done);
  refused([&] { (void)fleet.read(0, kUnmapped, 8); });
  refused([&] { (void)fleet.read(0, kData + 4 * kPageBytes - 4, 8); });
  refused([&] { (void)fleet.read(0, kData, uint64_t{1} << 50); });
  refused([&] { (void)fleet.read(5, kData, 8); });
  refused([&] { fleet.write(0, kUnmapped, buffer); });
  // Calls with empty lists have no effect.
  fleet.get(x(0), none, {});
  fleet.set(x(0), none, {});
  fleet.set_stops(none, {});
  fleet.unmap(none, kData, kPageBytes);
  fleet.protect(none, kData, kPageBytes, 0);
  EXPECT_EQ(fleet.read(0, kData, 16), initial_bytes(kData, 16));
  EXPECT_TRUE(fleet.read(0, kUnmapped, 0).empty());
}

TEST(Fleet, StopsHaveNames) {
  EXPECT_STREQ(name(StopReason::out_of_memory), "out_of_memory");
  EXPECT_STREQ(name(FaultKind::alignment), "alignment");
}

}  // namespace
}  // namespace fleet_test
