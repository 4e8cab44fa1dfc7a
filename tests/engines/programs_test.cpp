// SPDX-License-Identifier: Apache-2.0
// Several programs in one fleet: each runs in its own lanes; they share addresses but no memory, and one of them may
// change its code.
#include "mode_fixture.h"

namespace fleet_test {
namespace {

using myriarm::ArgumentError;
using myriarm::Placement;

constexpr uint32_t kAll = kRead | kWrite | kExecute;

Segment segment_of(uint64_t address, const Words& words, uint32_t permissions = kRead | kExecute) {
  return {address, kPageBytes, permissions, bytes_of(words)};
}
Program program_at(uint64_t entry, uint64_t stack, std::vector<Segment> segments) {
  Program program;
  program.name = "part";
  program.entry = entry;
  program.stack_pointer = stack;
  program.segments = std::move(segments);
  return program;
}

/// Adds `constant` to x0, loads from kData, and halts with a number of its own.
Program adder(uint32_t constant, uint8_t byte) {
  return program_at(kCode, kData + kPageBytes,
                    {segment_of(kCode, {guest::movz(1, 2, 16), guest::add(0, 0, constant), guest::ldr(3, 2, 1),
                                        guest::str(3, 0, 1), guest::hlt(constant)}),
                     {kData, kPageBytes, kRead | kWrite, std::vector<uint8_t>(kPageBytes, byte)}});
}

class Programs : public testing::TestWithParam<std::tuple<How, MemoryPolicy>> {
 protected:
  How how() const { return std::get<0>(GetParam()); }
  MemoryPolicy policy() const { return std::get<1>(GetParam()); }
  Fleet fleet_with(const std::vector<Placement>& placements) const {
    return Fleet(placements, options_of(0, policy()));
  }
};
INSTANTIATE_TEST_SUITE_P(All, Programs,
                         testing::Combine(testing::Values(kHows[0], kHows[1], kHows[3], kHows[4]),
                                          testing::ValuesIn(kWritablePolicies)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  policy_name(std::get<1>(info.param));
                         });

TEST_P(Programs, EachLaneRunsItsOwn) {
  // The last placement may have any number of lanes.
  const std::vector<std::vector<uint64_t>> layouts = {{5}, {32, 1}, {32, 32, 32}, {64, 32, 7}, {32, 96, 40}};
  for (const std::vector<uint64_t>& layout : layouts) {
    std::vector<Placement> placements;
    std::vector<uint32_t> program_of_lane;
    for (uint32_t i = 0; i < layout.size(); i++) {
      placements.push_back({adder(10 * (i + 1), static_cast<uint8_t>(i + 1)), layout[i]});
      program_of_lane.insert(program_of_lane.end(), layout[i], i + 1);
    }
    Fleet fleet = fleet_with(placements);
    ASSERT_EQ(fleet.lanes(), program_of_lane.size());
    EXPECT_EQ(fleet.memory_begin(), kCode);
    set_each(fleet, x(0), [](uint64_t lane) { return lane * 1000; });
    RunResult result = drive(fleet, how(), budget_of(kEndless, 3));
    EXPECT_EQ(result.instructions, 4 * fleet.lanes());
    std::vector<LaneState> states = states_of(fleet, kData, kData + kPageBytes);
    for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
      const uint32_t number = program_of_lane[lane];
      expect_stop(fleet, lane, halt(10 * number));
      EXPECT_EQ(states[lane].fields[0], lane * 1000 + 10 * number);
      EXPECT_EQ(states[lane].fields[2], number * 0x0101010101010101);
      std::vector<uint8_t> wanted(kPageBytes, static_cast<uint8_t>(number));
      std::memcpy(wanted.data(), states[lane].fields.data(), 8);
      EXPECT_EQ(states[lane].memory, wanted) << "lane " << lane;
    }
  }
}

TEST_P(Programs, BeginWhereEachSays) {
  // Entry, stack and what is mapped differ; the window spans all of them.
  Program low = program_at(kCode + 8, 0x1111000, {segment_of(kCode, {guest::hlt(9), guest::hlt(9), guest::hlt(1)})});
  Program high = program_at(kUnmapped + 4, 0x2222000,
                            {segment_of(kUnmapped, {guest::hlt(9), guest::hlt(2)}), {kData, kPageBytes, kRead, {}}});
  FleetOptions options = options_of(1, policy());
  Fleet fleet(std::vector<Placement>{{high, 32}, {low, 3}}, options);
  EXPECT_EQ(fleet.memory_begin(), kCode) << "the lowest page of all programs";
  EXPECT_EQ(fleet.memory_end(), kCode + options.memory);
  for (uint32_t lane = 0; lane < 35; lane++) {
    EXPECT_EQ(fleet.get(Field::pc, lane), lane < 32 ? kUnmapped + 4 : kCode + 8);
    EXPECT_EQ(fleet.get(Field::sp, lane), lane < 32 ? 0x2222000u : 0x1111000u);
  }
  drive(fleet, how());
  for (uint32_t lane = 0; lane < 35; lane++) expect_stop(fleet, lane, halt(lane < 32 ? 2 : 1));
  // What only the other has is not mapped.
  EXPECT_EQ(fleet.read(0, kData, 8), std::vector<uint8_t>(8));
  EXPECT_THROW((void)fleet.read(32, kData, 8), ArgumentError);
  EXPECT_THROW((void)fleet.read(0, kCode, 4), ArgumentError);
  EXPECT_THROW((void)fleet.read(34, kUnmapped, 4), ArgumentError);
  fleet.fill(Field::pc, kCode);
  fleet.resume_all();
  drive(fleet, how());
  for (uint32_t lane = 0; lane < 35; lane++) {
    expect_stop(fleet, lane, lane < 32 ? fault(FaultKind::unmapped, kCode) : halt(9));
  }
}

TEST_P(Programs, CodeOfOneIsDataOfAnother) {
  // At kOtherCode: a function; bytes that are written and read; nothing.
  const Words function = {guest::add(0, 0, 7), guest::ret()};
  const Words caller = {guest::movz(1, 1, 16), guest::movk(1, 0xA000), guest::blr(1), guest::hlt(0)};
  const Words writer = {guest::movz(1, 1, 16), guest::movk(1, 0xA000), guest::str(3, 1, 1), guest::ldr(2, 0, 1),
                        guest::hlt(0)};
  Program executes = program_at(kCode, 0, {segment_of(kCode, caller), segment_of(kOtherCode, function)});
  Program writes = program_at(kCode, 0, {segment_of(kCode, writer), segment_of(kOtherCode, function, kRead | kWrite)});
  Program lacks = program_at(kCode, 0, {segment_of(kCode, caller)});
  Program cannot = program_at(kCode, 0, {segment_of(kCode, caller), segment_of(kOtherCode, function, kRead)});
  Fleet fleet = fleet_with({{executes, 32}, {writes, 32}, {lacks, 32}, {cannot, 5}});
  for (int repeat = 0; repeat < 3; repeat++) {
    fleet.fill(x(0), 0);
    fleet.fill(Field::pc, kCode);
    fleet.resume_all();
    drive(fleet, how(), budget_of(kEndless, 2));
    for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
      expect_stop(fleet, lane,
                  lane < 64   ? halt()
                  : lane < 96 ? fault(FaultKind::unmapped, kOtherCode)
                              : fault(FaultKind::execute, kOtherCode));
      EXPECT_EQ(fleet.get(x(0), lane), lane < 32 ? 7 : lane < 64 ? kOtherCode : 0) << "lane " << lane;
    }
    EXPECT_EQ(fleet.read(31, kOtherCode, 8), bytes_of(function));
  }
}

TEST_P(Programs, OneChangesItself) {
  Program plain = program_of(wandering_program(false), kAll), changes = program_of(wandering_program(true), kAll);
  // As fleets of their own.
  auto alone = [&](const Program& program, uint64_t lanes, uint64_t first) {
    Fleet fleet(program, options_of(lanes, MemoryPolicy::private_copy));
    prepare_wandering(fleet, 200);
    set_each(fleet, x(19), [&](uint64_t lane) { return (lane + first + 1) * 0x9E3779B97F4A7C15; });
    set_each(fleet, x(24), [&](uint64_t lane) { return 200 + (lane + first) % 7; });
    fleet.run();
    return states_of(fleet, kCode);
  };
  std::vector<LaneState> wanted = alone(plain, 32, 0);
  for (const LaneState& state : alone(changes, 64, 32)) wanted.push_back(state);
  for (const LaneState& state : alone(plain, 9, 96)) wanted.push_back(state);
  Fleet fleet = fleet_with({{plain, 32}, {changes, 64}, {plain, 9}});
  prepare_wandering(fleet, 200);
  drive(fleet, how(), budget_of(kEndless, 500));
  expect_all_stopped(fleet, halt(7));
  expect_same(states_of(fleet, kCode), wanted, "together against alone");
}

TEST_P(Programs, TheHostChangesTheCodeOfOneLane) {
  const Words words = {guest::add(0, 0, 1), guest::svc(0), guest::b(-2)};
  const Words other = {guest::add(0, 0, 2), guest::svc(0), guest::b(-2)};
  Fleet fleet = fleet_with({{program_of(words), 32}, {program_of(other), 8}});
  drive(fleet, how());
  fleet.write(3, kCode, bytes_of({guest::add(0, 0, 0x30)}));
  fleet.write(35, kCode, bytes_of({guest::add(0, 0, 0x50)}));
  fleet.resume_all();
  drive(fleet, how());
  for (uint32_t lane = 0; lane < 40; lane++) {
    const uint64_t wanted = lane == 3 ? 0x31 : lane == 35 ? 0x52 : lane < 32 ? 2 : 4;
    EXPECT_EQ(fleet.get(x(0), lane), wanted) << "lane " << lane;
  }
}

TEST(ProgramsOfMany, ManyProgramsAndManyLanes) {
  // 40 programs of a team each, and one of a thousand teams.
  constexpr uint64_t kEach = 32;
  std::vector<Placement> placements;
  for (uint32_t i = 0; i < 40; i++) placements.push_back({adder(i + 1, static_cast<uint8_t>(i)), kEach});
  placements.push_back({adder(1000, 200), 32'000});
  FleetOptions options = options_of(0);
  Fleet fleet(placements, options);
  ASSERT_EQ(fleet.lanes(), 33'280u);
  fleet.run();
  std::vector<uint64_t> sums(fleet.lanes()), loaded(fleet.lanes());
  fleet.get_all(x(0), sums);
  fleet.get_all(x(2), loaded);
  uint64_t wrong = 0;
  for (uint64_t lane = 0; lane < fleet.lanes(); lane++) {
    const uint64_t program = std::min<uint64_t>(lane / kEach, 40);
    wrong += sums[lane] != (program < 40 ? program + 1 : 1000) ||
             loaded[lane] != (program < 40 ? program : 200) * 0x0101010101010101;
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(ProgramsArguments, PlacementsAreChecked) {
  const Program good = adder(1, 1);
  auto refused = [](const std::vector<Placement>& placements, uint64_t memory = kEnd - kCode) {
    try {
      Fleet fleet(placements, options_of(0, memory));
      ADD_FAILURE() << "a fleet was made";
    } catch (const ArgumentError& error) {
      EXPECT_NE(std::string(error.what()), "");
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  };
  refused({});
  refused({{good, 0}});
  refused({{good, 32}, {good, 0}});
  refused({{good, 0}, {good, 32}});
  const uint64_t team = Fleet(adder(1, 1), options_of(1)).team_lanes();
  if (team > 1) {
    refused({{good, team - 1}, {good, 1}});
    refused({{good, team + 1}, {good, 1}});
    refused({{good, team}, {good, team + team / 4}, {good, 1}});
  }
  refused({{good, uint64_t{1} << 40}});
  refused({{good, uint64_t{1} << 62}, {good, uint64_t{1} << 62}, {good, uint64_t{1} << 63}});
  // Each fits alone, but not both in one window.
  Program far = program_at(kCode + (uint64_t{1} << 30), 0, {segment_of(kCode + (uint64_t{1} << 30), {guest::hlt(0)})});
  refused({{good, 32}, {far, 1}});
  Program empty = good;
  empty.segments.clear();
  refused({{good, 32}, {empty, 1}});
  Program overlapping = good;
  overlapping.segments.push_back(overlapping.segments[0]);
  refused({{overlapping, 32}, {good, 1}});
  refused({{good, 32}, {good, 1}}, 100);
  EXPECT_EQ(Fleet(std::vector<Placement>{{good, 3 * team}, {good, 1}}, options_of(0)).lanes(), 3 * team + 1);
  // The number of lanes in the options is ignored.
  FleetOptions options = options_of(77);
  EXPECT_EQ(Fleet(std::vector<Placement>{{good, 32}, {good, 2}}, options).lanes(), 34u);
}

}  // namespace
}  // namespace fleet_test
