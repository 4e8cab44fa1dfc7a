// SPDX-License-Identifier: Apache-2.0
// The memory policies read-only, transactional and shared, each with its contract. This file and, mode by mode,
// modes_test.cpp test that results are the same under every policy.
#include "mode_fixture.h"

namespace fleet_test {
namespace {

constexpr uint32_t kAll = kRead | kWrite | kExecute;

/// Puts every lane back to the entry without a stop.
void again(Fleet& fleet) {
  fleet.fill(Field::pc, kCode);
  fleet.resume_all();
}

class Policies : public testing::TestWithParam<uint64_t> {
 protected:
  uint64_t lanes() const { return GetParam(); }
  uint32_t last() const { return static_cast<uint32_t>(lanes() - 1); }
};
INSTANTIATE_TEST_SUITE_P(Lanes, Policies, testing::ValuesIn(kFleetSizes),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_P(Policies, AreWhatTheFleetWasMadeWith) {
  for (MemoryPolicy policy : kPolicies) {
    Fleet fleet = fleet_of({guest::hlt(0)}, lanes(), policy);
    EXPECT_EQ(fleet.memory_policy(), policy);
    bool flat = policy == MemoryPolicy::shared || policy == MemoryPolicy::device_shared;
    if (!flat) {
      EXPECT_THROW(fleet.memory_view(), StateError);
    }
    if (policy != MemoryPolicy::transactional) {
      EXPECT_THROW(fleet.commit(), StateError);
      EXPECT_THROW(fleet.rollback(), StateError);
    }
  }
}

TEST_P(Policies, GiveTheSameResults) {
  auto run = [&](MemoryPolicy policy, bool changes_itself) {
    Fleet fleet = fleet_of(wandering_program(changes_itself), lanes(), policy, kAll);
    prepare_wandering(fleet, 300);
    fleet.run();
    expect_all_stopped(fleet, halt(7));
    return states_of(fleet, kCode);
  };
  for (bool changes_itself : {false, true}) {
    const std::vector<LaneState> wanted = run(MemoryPolicy::private_copy, changes_itself);
    for (MemoryPolicy policy : {MemoryPolicy::transactional, MemoryPolicy::shared, MemoryPolicy::device_shared}) {
      expect_same(run(policy, changes_itself), wanted, policy_name(policy));
    }
  }
}

TEST_P(Policies, HaveTheSamePermissionsAndFaults) {
  for (MemoryPolicy policy : kWritablePolicies) {
    SCOPED_TRACE(policy_name(policy));
    struct Row {
      uint32_t word;
      uint64_t base;
      Stop stop;
    };
    const Row rows[] = {
        {guest::ldr(3, 0, 1), kUnmapped + 8, fault(FaultKind::unmapped, kUnmapped + 8)},
        {guest::str(3, 0, 1), kUnmapped, fault(FaultKind::unmapped, kUnmapped)},
        {guest::str(3, 0, 1), kConstant, fault(FaultKind::write, kConstant)},
        {guest::str(2, 0, 1), kCode, fault(FaultKind::write, kCode)},
        {guest::ldr(3, 0, 1), kWriteOnly, fault(FaultKind::read, kWriteOnly)},
        {guest::ldr(0, 0, 1), kNoAccess + 5, fault(FaultKind::read, kNoAccess + 5)},
        {guest::ldr(3, 0, 1), kEnd, fault(FaultKind::unmapped, kEnd)},
        {guest::str(3, 0, 1), kEnd - 4, fault(FaultKind::unmapped, kEnd - 4)},
        {guest::ldr(3, 0, 1), kCode - 8, fault(FaultKind::unmapped, kCode - 8)},
        {guest::stp(2, 3, 1), kData + 4 * kPageBytes - 8, fault(FaultKind::unmapped, kData + 4 * kPageBytes)},
        {guest::br(1), kData, fault(FaultKind::execute, kData)},
        {guest::br(1), kUnmapped, fault(FaultKind::unmapped, kUnmapped)},
    };
    for (const Row& row : rows) {
      Fleet fleet = fleet_of({guest::nop(), row.word, guest::hlt(0)}, lanes(), policy);
      fleet.fill(x(1), row.base);
      fleet.run();
      expect_all_stopped(fleet, row.stop);
      EXPECT_EQ(fleet.read(last(), kData, 2 * kPageBytes), initial_bytes(kData, 2 * kPageBytes));
      EXPECT_THROW((void)fleet.read(last(), kUnmapped, 1), myriarm::ArgumentError);
      EXPECT_THROW(fleet.write(last(), kUnmapped, std::vector<uint8_t>(1)), myriarm::ArgumentError);
    }
  }
}

TEST_P(Policies, MapAndProtectWorkUnderEach) {
  for (MemoryPolicy policy : kWritablePolicies) {
    SCOPED_TRACE(policy_name(policy));
    Fleet fleet = fleet_of({guest::ldr(3, 2, 1), guest::str(3, 3, 1), guest::hlt(0)}, lanes(), policy);
    const std::vector<uint32_t> even = even_lanes(fleet);
    constexpr uint64_t at = kUnmapped + kPageBytes + 16;
    auto run = [&](uint64_t address) {
      fleet.fill(x(1), address);
      fleet.fill(x(2), 0);
      set_each(fleet, x(3), [](uint64_t lane) { return 1000 + lane; });
      again(fleet);
      fleet.run();
    };
    auto expect_each = [&](const Stop& even_stop, const Stop& odd_stop) {
      for (uint32_t lane = 0; lane < lanes(); lane++) expect_stop(fleet, lane, lane % 2 == 0 ? even_stop : odd_stop);
    };
    fleet.map(even, kUnmapped, 2 * kPageBytes, kRead | kWrite);
    run(at);
    expect_each(halt(), fault(FaultKind::unmapped, at));
    fleet.protect(even, kUnmapped + kPageBytes, kPageBytes, kRead);
    run(at);
    expect_each(fault(FaultKind::write, at), fault(FaultKind::unmapped, at));
    for (uint32_t lane : even) EXPECT_EQ(fleet.get(x(2), lane), 1000u + lane) << "protect keeps what is there";
    fleet.map(even, kUnmapped + kPageBytes, kPageBytes, kRead | kWrite);
    run(at);
    for (uint32_t lane : even) EXPECT_EQ(fleet.get(x(2), lane), 0u) << "map gives zeros";
    fleet.unmap(even, kData, kPageBytes);
    run(kData);
    expect_each(fault(FaultKind::unmapped, kData), halt());
    fleet.map(all_lanes(fleet), kData, kPageBytes, kRead | kWrite);
    run(kData);
    expect_all_stopped(fleet, halt());
    for (uint32_t lane = 0; lane < lanes(); lane++) EXPECT_EQ(fleet.get(x(2), lane), 0u);
  }
}

// ---------------------------------------------------------------- read-only

TEST_P(Policies, ReadOnlyRefusesEveryStoreOfTheGuest) {
  const uint32_t stores[] = {guest::str(0, 2, 1),      guest::str(1, 2, 1), guest::str(2, 2, 1),   guest::str(3, 2, 1),
                             guest::str_post(2, 1, 8), guest::stp(2, 3, 1), guest::stp_w(2, 3, 1), guest::stlr(2, 1)};
  for (uint32_t store : stores) {
    for (uint64_t base : {kData, kData + kPageBytes + 8, kData + 3 * kPageBytes, kOtherCode, kWriteOnly}) {
      Fleet fleet = fleet_of({guest::ldr(3, 4, 5), store, guest::hlt(0)}, lanes(), MemoryPolicy::read_only);
      set_each(fleet, x(1), [&](uint64_t lane) { return base + lane * 16; });
      fleet.fill(x(2), ~uint64_t{0});
      fleet.fill(x(3), ~uint64_t{0});
      fleet.fill(x(5), kData + 16);
      RunResult result = fleet.run();
      EXPECT_EQ(result.instructions, lanes());
      EXPECT_EQ(result.signal, Signal::fault);
      for (uint32_t lane = 0; lane < lanes(); lane++) {
        expect_stop(fleet, lane, fault(FaultKind::write, base + lane * 16));
        EXPECT_EQ(fleet.get(Field::pc, lane), kCode + 4);
        EXPECT_EQ(fleet.get(x(1), lane), base + lane * 16);
        EXPECT_EQ(fleet.get(x(4), lane), number_of(initial_bytes(kData + 16, 8))) << "loads are allowed";
      }
      EXPECT_EQ(fleet.read(last(), kData, 2 * kPageBytes), initial_bytes(kData, 2 * kPageBytes));
      EXPECT_EQ(fleet.read(last(), kOtherCode, kPageBytes), std::vector<uint8_t>(kPageBytes));
    }
  }
}

TEST_P(Policies, ReadOnlyLetsTheHostWrite) {
  const Words words = {guest::ldr(3, 2, 1), guest::cbz(2, 2), guest::str(3, 2, 1), guest::hlt(0)};
  Fleet fleet = fleet_of(words, lanes(), MemoryPolicy::read_only);
  fleet.write(last(), kData + 64, std::vector<uint8_t>{7, 0, 0, 0, 0, 0, 0, 0});
  fleet.map(all_lanes(fleet), kUnmapped, kPageBytes, kRead | kWrite);
  fleet.write(last(), kUnmapped, std::vector<uint8_t>(8, 1));
  fleet.fill(x(1), kData + 64);
  fleet.run();
  expect_all_stopped(fleet, fault(FaultKind::write, kData + 64));
  EXPECT_EQ(fleet.get(x(2), last()), 7u);
  if (lanes() > 1) {
    EXPECT_EQ(fleet.get(x(2), 0), number_of(initial_bytes(kData + 64, 8)));
  }
  // Not even pages that were mapped or made writable later.
  fleet.protect(all_lanes(fleet), kConstant, kPageBytes, kRead | kWrite);
  for (uint64_t base : {kUnmapped, kConstant}) {
    fleet.fill(x(1), base);
    again(fleet);
    fleet.run();
    if (base == kConstant) expect_all_stopped(fleet, fault(FaultKind::write, base));
    else expect_stop(fleet, last(), fault(FaultKind::write, base));
  }
  // Code that the host writes is executed.
  fleet.write(last(), kCode, bytes_of({guest::hlt(0x99)}));
  again(fleet);
  fleet.run();
  expect_stop(fleet, last(), halt(0x99));
}

TEST_P(Policies, ReadOnlyStaysSoThroughSnapshots) {
  Fleet fleet = fleet_of({guest::ldr(3, 2, 1), guest::str(3, 3, 1), guest::hlt(0)}, lanes(), MemoryPolicy::read_only);
  fleet.fill(x(1), kData + 8);
  fleet.write(last(), kData + 8, std::vector<uint8_t>(8, 1));
  const std::vector<LaneState> before = states_of(fleet);
  Snapshot snapshot = fleet.snapshot();
  fleet.write(last(), kData + 8, std::vector<uint8_t>(8, 2));
  fleet.write(0, kData + kPageBytes, std::vector<uint8_t>(8, 3));
  fleet.restore(snapshot);
  expect_same(states_of(fleet), before, "restored");
  fleet.fork(last(), all_lanes(fleet));
  fleet.run();
  expect_all_stopped(fleet, fault(FaultKind::write, kData + 8));
  for (uint32_t lane = 0; lane < lanes(); lane++) EXPECT_EQ(fleet.get(x(2), lane), 0x0101010101010101u);
}

// ---------------------------------------------------------------- transactional

class Transactions : public testing::TestWithParam<std::tuple<How, uint64_t>> {
 protected:
  How how() const { return std::get<0>(GetParam()); }
  uint64_t lanes() const { return std::get<1>(GetParam()); }
  uint32_t last() const { return static_cast<uint32_t>(lanes() - 1); }
};
INSTANTIATE_TEST_SUITE_P(All, Transactions, testing::Combine(testing::ValuesIn(kHows), testing::ValuesIn(kFleetSizes)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST_P(Transactions, RollBackToTheInputAndCommitWhatIsWanted) {
  Fleet fleet = fleet_of(wandering_program(true), lanes(), MemoryPolicy::transactional, kAll);
  Fleet plain = fleet_of(wandering_program(true), lanes(), MemoryPolicy::private_copy, kAll);
  for (Fleet* each : {&fleet, &plain}) prepare_wandering(*each, 200);
  fleet.rollback();  // there is nothing to undo
  fleet.commit();
  std::vector<LaneState> input = states_of(fleet, kCode);
  const uint64_t used = fleet.pool_used();
  for (int repeat = 0; repeat < 3; repeat++) {
    // Several runs and the host's changes between them, undone together.
    for (uint64_t budget : {100u, 1u, 500u}) {
      drive(fleet, how(), budget_of(budget, 60));
      fleet.write(last(), kData + 3 * kPageBytes, std::vector<uint8_t>(8, 9));
    }
    EXPECT_EQ(fleet.get(Field::instructions, 0), 601u);
    fleet.rollback();
    expect_same(states_of(fleet, kCode), input, "rolled back");
    EXPECT_EQ(fleet.pool_used(), used) << "pages of a transaction that was undone stay in use";
  }
  // Committed changes stay, and a later rollback restores the committed state.
  for (int step = 0; step < 4; step++) {
    drive(fleet, how(), budget_of(250, 60));
    plain.run(budget_of(250));
    fleet.commit();
    expect_same(states_of(fleet, kCode), states_of(plain, kCode), "committed");
    drive(fleet, how(), budget_of(400, 60));
    fleet.rollback();
    expect_same(states_of(fleet, kCode), states_of(plain, kCode), "rolled back to what was committed");
  }
  drive(fleet, how());
  plain.run();
  fleet.commit();
  fleet.rollback();
  expect_all_stopped(fleet, halt(7));
  expect_same(states_of(fleet, kCode), states_of(plain, kCode), "at the end");
}

TEST_P(Transactions, ChangesOfTheHostBeforeTheRunStay) {
  Fleet fleet =
      fleet_of({guest::str(3, 2, 1), guest::add(3, 3, 1), guest::hlt(0)}, lanes(), MemoryPolicy::transactional);
  fleet.run();  // stores at 0, which is a fault
  expect_all_stopped(fleet, fault(FaultKind::unmapped, 0));
  fleet.commit();
  for (uint64_t value : {10u, 20u}) {
    fleet.fill(x(1), kData);
    fleet.fill(x(2), 0xEE);
    fleet.fill(x(3), value);
    fleet.write(last(), kData + 8, std::vector<uint8_t>(8, static_cast<uint8_t>(value)));
    fleet.map(all_lanes(fleet), kUnmapped, kPageBytes, kRead);
    again(fleet);
    drive(fleet, how());
    expect_all_stopped(fleet, halt());
    EXPECT_EQ(fleet.get(x(3), last()), value + 1);
    EXPECT_EQ(number_of(fleet.read(last(), kData, 8)), 0xEEu);
    fleet.unmap(all_lanes(fleet), kUnmapped, kPageBytes);
    fleet.set(x(2), 0, 1);
    fleet.rollback();
    expect_all_stopped(fleet, Stop{});
    EXPECT_EQ(fleet.get(x(3), last()), value);
    EXPECT_EQ(fleet.get(x(2), 0), 0xEEu);
    EXPECT_EQ(fleet.get(Field::pc, last()), kCode);
    EXPECT_EQ(fleet.get(Field::instructions, last()), 0u);
    EXPECT_EQ(number_of(fleet.read(last(), kData, 8)), number_of(initial_bytes(kData, 8)));
    EXPECT_EQ(fleet.read(last(), kData + 8, 8), std::vector<uint8_t>(8, static_cast<uint8_t>(value)));
    EXPECT_EQ(fleet.read(last(), kUnmapped, 4), std::vector<uint8_t>(4)) << "mapped before the run";
    // A second rollback has nothing to undo, and keeps what the host has changed since the first.
    fleet.fill(x(5), 3);
    fleet.rollback();
    EXPECT_EQ(fleet.get(x(5), 0), 3u);
  }
}

TEST_P(Transactions, RollBackFromAFaultAndFromACancel) {
  Fleet fleet =
      fleet_of({guest::add(0, 0, 1), guest::str_post(0, 1, 8), guest::b(-2)}, lanes(), MemoryPolicy::transactional);
  fleet.fill(x(1), kData + 2 * kPageBytes);
  const std::vector<LaneState> input = states_of(fleet);
  RunResult result = drive(fleet, how(), budget_of(kEndless, 500));
  EXPECT_EQ(result.signal, Signal::fault);
  expect_all_stopped(fleet, fault(FaultKind::unmapped, kData + 4 * kPageBytes));
  EXPECT_EQ(number_of(fleet.read(last(), kData + 4 * kPageBytes - 8, 8)), 1024u);
  fleet.rollback();
  expect_same(states_of(fleet), input, "after a fault");
  fleet.cancel();
  drive(fleet, how());
  fleet.rollback();
  expect_same(states_of(fleet), input, "after a cancel");
  EXPECT_EQ(drive(fleet, how(), budget_of(12, 5)).instructions, 12 * lanes());
  fleet.rollback();
  expect_same(states_of(fleet), input, "after a budget");
}

TEST(TransactionsOfMany, RollBackWhenThePoolIsSpent) {
  // A word to each of x4 pages from x1 on.
  const Words words = {guest::str(3, 4, 1), guest::add_register(1, 1, 5), guest::subs(4, 4, 1),
                       guest::b_cond(guest::kNe, -3), guest::hlt(0)};
  constexpr uint64_t kPages = 2048, kHeap = kEnd;
  for (uint64_t lanes : {uint64_t{1}, uint64_t{3}}) {
    SCOPED_TRACE(lanes);
    Program program = program_of(words);
    program.segments.push_back({kHeap, kPages * kPageBytes, kRead | kWrite, {}});
    FleetOptions options = options_of(lanes, MemoryPolicy::transactional, kHeap + kPages * kPageBytes - kCode);
    options.pool = lanes * kPages * kPageBytes / 4 * 3;
    Fleet fleet(program, options);
    fleet.fill(x(1), kHeap);
    fleet.fill(x(4), kPages);
    fleet.fill(x(5), kPageBytes);
    for (int repeat = 0; repeat < 3; repeat++) {
      RunResult result = fleet.run();
      EXPECT_EQ(result.signal, Signal::fault);
      EXPECT_GT(stops_of(result, StopReason::out_of_memory), 0u);
      EXPECT_EQ(number_of(fleet.read(0, kHeap, 8)), kPages) << "it had begun";
      fleet.rollback();
      expect_all_stopped(fleet, Stop{});
      for (uint32_t lane = 0; lane < lanes; lane++) {
        EXPECT_EQ(fleet.get(x(1), lane), kHeap);
        EXPECT_EQ(fleet.get(x(4), lane), kPages);
        EXPECT_EQ(fleet.get(Field::instructions, lane), 0u);
        EXPECT_EQ(number_of(fleet.read(lane, kHeap, 8)), 0u);
        EXPECT_EQ(number_of(fleet.read(lane, kHeap + 300 * kPageBytes, 8)), 0u);
      }
    }
    // What fits is done.
    fleet.fill(x(4), 16);
    fleet.run();
    expect_all_stopped(fleet, halt());
    fleet.commit();
    EXPECT_EQ(number_of(fleet.read(0, kHeap + 15 * kPageBytes, 8)), 1u);
  }
}

// ---------------------------------------------------------------- shared

/// The memory of lanes through the view, if the host can access it.
struct Window {
  explicit Window(Fleet& fleet) : view(fleet.memory_view()), begin(fleet.memory_begin()) {}
  uint8_t* at(uint64_t lane, uint64_t address) const {
    return static_cast<uint8_t*>(view.data) + static_cast<int64_t>(lane) * view.lane_stride + (address - begin);
  }
  uint64_t word(uint64_t lane, uint64_t address) const { return number_of(std::span(at(lane, address), 8)); }
  void set_word(uint64_t lane, uint64_t address, uint64_t value) const { std::memcpy(at(lane, address), &value, 8); }
  bool usable() const { return view.device == myriarm::DeviceKind::cpu; }
  myriarm::ArrayView view;
  uint64_t begin;
};

constexpr MemoryPolicy kFlat[] = {MemoryPolicy::shared, MemoryPolicy::device_shared};

TEST_P(Policies, SharedMemoryIsSeenFromBothSides) {
  const Words words = {guest::ldr(3, 2, 1), guest::add_register(2, 2, 3), guest::str(3, 2, 4), guest::hlt(0)};
  for (MemoryPolicy policy : kFlat) {
    SCOPED_TRACE(policy_name(policy));
    Fleet fleet = fleet_of(words, lanes(), policy);
    Window window(fleet);
    ASSERT_NE(window.view.data, nullptr);
    if (policy == MemoryPolicy::shared) {
      ASSERT_TRUE(window.usable()) << "host memory that the device reaches";
    }
    if (!window.usable()) continue;
    EXPECT_GE(window.view.lane_stride, static_cast<int64_t>(kEnd - kCode));
    for (uint64_t lane = 0; lane < lanes(); lane++) {
      EXPECT_TRUE(std::equal(words.begin(), words.end(), reinterpret_cast<uint32_t*>(window.at(lane, kCode))));
      std::vector<uint8_t> data = initial_bytes(kData, 2 * kPageBytes);
      EXPECT_TRUE(std::equal(data.begin(), data.end(), window.at(lane, kData)));
    }
    fleet.fill(x(1), kData + 3 * kPageBytes);
    fleet.fill(x(3), 5);
    fleet.fill(x(4), kData + 3 * kPageBytes + 64);
    for (uint64_t round = 1; round <= 3; round++) {
      for (uint64_t lane = 0; lane < lanes(); lane++) {
        window.set_word(lane, kData + 3 * kPageBytes, lane * 1000 + round);
      }
      again(fleet);
      fleet.run();
      expect_all_stopped(fleet, halt());
      for (uint64_t lane = 0; lane < lanes(); lane++) {
        const uint64_t wanted = lane * 1000 + round + 5;
        EXPECT_EQ(window.word(lane, kData + 3 * kPageBytes + 64), wanted);
        // And read() and write() see the same bytes.
        EXPECT_EQ(number_of(fleet.read(static_cast<uint32_t>(lane), kData + 3 * kPageBytes + 64, 8)), wanted);
      }
      fleet.write(last(), kData + 17, std::vector<uint8_t>{1, 2, 3});
      EXPECT_EQ(window.at(last(), kData)[18], 2);
    }
    // The view is where it was, and no lane sees another's.
    EXPECT_EQ(fleet.memory_view().data, window.view.data);
    if (lanes() > 1) {
      EXPECT_EQ(window.at(0, kData)[18], initial_byte(kData + 18));
    }
  }
}

TEST_P(Policies, CodeWrittenThroughTheViewIsExecuted) {
  const Words words = {guest::add(0, 0, 1), guest::svc(0), guest::b(-2)};
  for (MemoryPolicy policy : kFlat) {
    Fleet fleet = fleet_of(words, lanes(), policy);
    Window window(fleet);
    if (!window.usable()) continue;
    fleet.run();
    uint64_t wanted = 1;
    // In every lane the same, and in each another.
    for (uint32_t round = 0; round < 4; round++) {
      for (uint64_t lane = 0; lane < lanes(); lane++) {
        uint32_t word = guest::add(0, 0, 10 + round + (round % 2 == 1 ? static_cast<uint32_t>(lane) : 0));
        std::memcpy(window.at(lane, kCode), &word, 4);
      }
      fleet.resume_all();
      fleet.run();
      wanted += 10 + round;
      for (uint32_t lane = 0; lane < lanes(); lane++) {
        EXPECT_EQ(fleet.get(x(0), lane), wanted + (round + 1) / 2 * lane) << "round " << round << ", lane " << lane;
      }
    }
    // Through write() in one lane alone.
    fleet.write(last(), kCode, bytes_of({guest::add(0, 0, 0x800)}));
    const uint64_t before = fleet.get(x(0), last());
    fleet.resume_all();
    fleet.run();
    EXPECT_EQ(fleet.get(x(0), last()), before + 0x800);
  }
}

TEST_P(Policies, SharedCodeChangesItself) {
  // Overwrites the ADD at the start of the loop with that of x2, the second time with that of x3.
  const Words words = {guest::add(0, 0, 1),  guest::str(2, 2, 1),           guest::add(2, 3, 0),
                       guest::subs(4, 4, 1), guest::b_cond(guest::kNe, -4), guest::hlt(0)};
  for (MemoryPolicy policy : kFlat) {
    Fleet fleet = fleet_of(words, lanes(), policy, kAll);
    set_each(fleet, x(1), [](uint64_t lane) { return lane % 3 == 2 ? kData : kCode; });
    fleet.fill(x(2), guest::add(0, 0, 0x10));
    fleet.fill(x(3), guest::add(0, 0, 0x100));
    fleet.fill(x(4), 4);
    fleet.run();
    expect_all_stopped(fleet, halt());
    for (uint32_t lane = 0; lane < lanes(); lane++) {
      EXPECT_EQ(fleet.get(x(0), lane), lane % 3 == 2 ? 4u : 1 + 0x10 + 2 * 0x100u);
    }
    Window window(fleet);
    if (!window.usable()) continue;
    uint32_t word = 0;
    std::memcpy(&word, window.at(0, kCode), 4);
    EXPECT_EQ(word, guest::add(0, 0, 0x100));
  }
}

TEST_P(Policies, HolesOfSharedMemoryAreHoles) {
  for (MemoryPolicy policy : kFlat) {
    Fleet fleet = fleet_of({guest::ldr(3, 2, 1), guest::hlt(0)}, lanes(), policy);
    Window window(fleet);
    // A write of the host into a hole does not map the page, and map() gives zeros.
    if (window.usable()) {
      for (uint64_t lane = 0; lane < lanes(); lane++) window.set_word(lane, kUnmapped + 64, 77);
    }
    fleet.fill(x(1), kUnmapped + 64);
    fleet.run();
    expect_all_stopped(fleet, fault(FaultKind::unmapped, kUnmapped + 64));
    fleet.map(all_lanes(fleet), kUnmapped, kPageBytes, kRead);
    fleet.fill(x(2), 5);
    again(fleet);
    fleet.run();
    expect_all_stopped(fleet, halt());
    EXPECT_EQ(fleet.get(x(2), last()), 0u);
    if (!window.usable()) continue;
    EXPECT_EQ(window.word(last(), kUnmapped + 64), 0u);
    window.set_word(last(), kUnmapped + 64, 78);
    again(fleet);
    fleet.run();
    EXPECT_EQ(fleet.get(x(2), last()), 78u);
  }
}

// ---------------------------------------------------------------- registers where they lie

TEST_P(Policies, ViewsOfFieldsAreTheFields) {
  Fleet fleet = fleet_of({guest::add(0, 0, 1), guest::hlt(0)}, lanes());
  set_each(fleet, x(0), [](uint64_t lane) { return lane * 11; });
  myriarm::ArrayView view = fleet.view(x(0)), pc = fleet.view(Field::pc);
  ASSERT_NE(view.data, nullptr);
  ASSERT_NE(pc.data, nullptr);
  EXPECT_NE(view.lane_stride, 0);
  EXPECT_EQ(view.device, fleet.device().kind);
  EXPECT_EQ(view.ordinal, fleet.device().ordinal);
  EXPECT_THROW(fleet.view(Field::count), myriarm::ArgumentError);
  if (view.device != myriarm::DeviceKind::cpu) return;
  auto at = [&](uint64_t lane) {
    return reinterpret_cast<uint64_t*>(static_cast<uint8_t*>(view.data) +
                                       static_cast<int64_t>(lane) * view.lane_stride);
  };
  for (uint64_t lane = 0; lane < lanes(); lane++) {
    EXPECT_EQ(*at(lane), lane * 11);
    *at(lane) += 1000;
  }
  fleet.run();
  for (uint64_t lane = 0; lane < lanes(); lane++) {
    EXPECT_EQ(*at(lane), lane * 11 + 1001);
    EXPECT_EQ(fleet.get(x(0), static_cast<uint32_t>(lane)), lane * 11 + 1001);
  }
}

}  // namespace
}  // namespace fleet_test
