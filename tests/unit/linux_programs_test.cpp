// SPDX-License-Identifier: Apache-2.0
// Lanes of one LinuxFleet run different programs. A lane is as the same lane of a fleet that runs its program alone.
#include <gtest/gtest.h>

#include "echo_guest.h"
#include "linux_caller.h"

namespace myriarm {
namespace {

using namespace test;

// A multiple of the lanes of a team, on every device.
constexpr uint64_t kFirstLanes = 64, kOthers = 7, kLanes = kFirstLanes + kOthers;

/// Opens the file that its second argument names, reads it, writes it to standard error, and exits with argc.
const std::vector<uint32_t> kCat = {
    0xf94003f3,  // ldr  x19, [sp]
    0x92800c60,  // mov  x0, #-100
    0xf9400be1,  // ldr  x1, [sp, #16]
    0xd2800002,  // mov  x2, #0
    0xd2800708,  // mov  x8, #56         openat
    0xd4000001,  // svc  #0
    0xd10203ff,  // sub  sp, sp, #128
    0x910003e1,  // mov  x1, sp
    0xd2800802,  // mov  x2, #64
    0xd28007e8,  // mov  x8, #63         read
    0xd4000001,  // svc  #0
    0xaa0003e2,  // mov  x2, x0
    0xd2800040,  // mov  x0, #2
    0x910003e1,  // mov  x1, sp
    0xd2800808,  // mov  x8, #64         write
    0xd4000001,  // svc  #0
    0xaa1303e0,  // mov  x0, x19
    0xd2800ba8,  // mov  x8, #93         exit
    0xd4000001,  // svc  #0
};

/// As image_of(), at addresses that are higher by this.
ElfImage image_at(const std::vector<uint32_t>& words, uint64_t higher) {
  ElfFile file = program_of(words);
  file.header.e_entry += higher;
  for (Elf64_Phdr& segment : file.segments) segment.p_vaddr += higher;
  return parse_elf(file.bytes(), "higher");
}

std::vector<uint8_t> input_of(uint64_t lane) { return bytes_of(std::string(1 + lane % 5, static_cast<char>(lane))); }

LinuxOptions options_of(uint64_t lanes) {
  LinuxOptions options;
  options.seed = 3;
  for (uint64_t lane = 0; lane < lanes; lane++) {
    options.standard_inputs.add(input_of(lane));
    options.files.add(bytes_of("file " + std::to_string(lane)));
  }
  return options;
}

void expect_same(const LinuxFleet& found, const LinuxFleet& expected, uint32_t lane) {
  EXPECT_EQ(found.outcome(lane).exit_status, expected.outcome(lane).exit_status) << lane;
  EXPECT_EQ(text(found.standard_output(lane)), text(expected.standard_output(lane))) << lane;
  EXPECT_EQ(text(found.standard_error(lane)), text(expected.standard_error(lane))) << lane;
}

TEST(LinuxPrograms, ALaneIsThatOfAFleetOfItsProgramAlone) {
  for (uint64_t higher : {0x0, 0x20000}) {
    const ElfImage echo = image_of(kEcho), cat = image_at(kCat, higher);
    LinuxOptions options = options_of(kLanes);
    options.environment = {"A=1"};
    const std::vector<LinuxPlacement> programs = {{echo, kFirstLanes, {"echo"}}, {cat, kOthers, {"cat", "@@", "more"}}};
    LinuxFleet both(programs, fleet_of(1), options);
    ASSERT_EQ(both.fleet().lanes(), kLanes);
    const Start first(both.fleet(), 3), other(both.fleet(), kFirstLanes + 2);
    EXPECT_EQ(first.arguments, std::vector<std::string>{"echo"});
    EXPECT_EQ(first.environment, (std::vector<std::string>{"A=1", "MYRIARM_LANE=3"}));
    EXPECT_EQ(other.arguments, (std::vector<std::string>{"cat", "/input", "more"}));
    EXPECT_EQ(other.environment, (std::vector<std::string>{"A=1", "MYRIARM_LANE=66"}));
    EXPECT_EQ(both.run().lanes_run, kLanes);

    options.arguments = {"echo"};
    LinuxFleet echoes(echo, fleet_of(kLanes), options);
    echoes.run();
    options.arguments = {"cat", "@@", "more"};
    LinuxFleet cats(cat, fleet_of(kLanes), options);
    cats.run();
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      const bool is_echo = lane < kFirstLanes;
      expect_same(both, is_echo ? echoes : cats, lane);
      const Fleet& alone = (is_echo ? echoes : cats).fleet();
      EXPECT_EQ(both.fleet().get(Field::instructions, lane), alone.get(Field::instructions, lane));
      EXPECT_EQ(both.fleet().get(Field::pc, lane), alone.get(Field::pc, lane));
    }
    EXPECT_EQ(text(both.standard_error(kFirstLanes + 1)), "file 65");
    EXPECT_EQ(both.outcome(kFirstLanes).exit_status, 3) << "argc";
    EXPECT_EQ(both.outcome(9).exit_status, 9) << "the first byte of its input";
  }
}

TEST(LinuxPrograms, EachLaneCanHaveItsArguments) {
  LinuxOptions options;
  for (uint64_t lane = 0; lane < kLanes; lane++) {
    options.lane_arguments.push_back({"lane", std::to_string(lane)});
    options.lane_environments.push_back({"L=" + std::to_string(lane)});
  }
  const std::vector<LinuxPlacement> programs = {{image_of(kEcho), kFirstLanes}, {image_at(kCat, 0x5000), kOthers}};
  LinuxFleet machine(programs, fleet_of(1), options);
  for (uint32_t lane : {0u, 63u, 64u, 70u}) {
    const std::string number = std::to_string(lane);
    const Start start(machine.fleet(), lane);
    EXPECT_EQ(start.arguments, (std::vector<std::string>{"lane", number}));
    EXPECT_EQ(start.environment, (std::vector<std::string>{"L=" + number, "MYRIARM_LANE=" + number}));
    EXPECT_EQ(start.auxiliary.at(AT_ENTRY), lane < kFirstLanes ? 0x401000u : 0x406000u);
  }
}

TEST(LinuxPrograms, ProcessesCanBeginAgain) {
  LinuxOptions options;
  options.restartable = true;
  const std::vector<LinuxPlacement> programs = {{image_of(kEcho), kFirstLanes, {"echo"}},
                                                {image_of(kCat), kOthers, {"cat", "@@"}}};
  LinuxFleet machine(programs, fleet_of(1), options);
  machine.run();
  std::vector<ProcessInput> inputs(3);
  inputs[0].standard_input = bytes_of("A");
  inputs[1].file = bytes_of("one");
  inputs[2].file = bytes_of("two");
  inputs[2].arguments = {"cat", "@@", "x", "y"};
  const std::vector<uint32_t> lanes = {5, 64, 70};
  const std::vector<uint64_t> numbers = {100, 101, 102};
  machine.restart(lanes, numbers, inputs);
  machine.run();
  EXPECT_EQ(machine.outcome(5).exit_status, 'A');
  EXPECT_EQ(machine.outcome(64).exit_status, 2);
  EXPECT_EQ(text(machine.standard_error(64)), "one");
  EXPECT_EQ(machine.outcome(70).exit_status, 4);
  EXPECT_EQ(text(machine.standard_error(70)), "two");
}

TEST(LinuxPrograms, ARestartThatIsRefusedChangesNothing) {
  LinuxOptions options;
  options.restartable = true;
  const std::vector<LinuxPlacement> programs = {{image_of(kEcho), 1}};
  LinuxFleet machine(programs, fleet_of(1), options);
  machine.run();
  std::vector<ProcessInput> inputs(1);
  inputs[0].standard_input = bytes_of("A");
  inputs[0].arguments = {std::string(1 << 20, 'a')};
  const std::vector<uint32_t> lanes = {0};
  const std::vector<uint64_t> numbers = {1};
  EXPECT_THROW(machine.restart(lanes, numbers, inputs), ArgumentError);
  EXPECT_EQ(machine.outcome(0).stop.reason, StopReason::exited);
  EXPECT_EQ(text(*inputs[0].standard_input), "A") << "it can be given again";
}

TEST(LinuxPrograms, Mistakes) {
  const ElfImage echo = image_of(kEcho);
  const std::vector<LinuxPlacement> two = {{echo, kFirstLanes, {"a"}}, {echo, 1}};
  EXPECT_THROW(LinuxFleet(std::vector<LinuxPlacement>(), fleet_of(1), {}), ArgumentError);
  LinuxOptions forks;
  forks.fork_after.kind = ForkPoint::Kind::read;
  EXPECT_THROW(LinuxFleet(two, fleet_of(1), forks), ArgumentError);
  LinuxOptions twice;
  twice.arguments = {"b"};
  EXPECT_THROW(LinuxFleet(two, fleet_of(1), twice), ArgumentError);
  LinuxOptions few;
  few.lane_environments.resize(kFirstLanes);
  EXPECT_THROW(LinuxFleet(two, fleet_of(1), few), ArgumentError) << "one lane has none";
  const std::vector<LinuxPlacement> none = {{echo, 0}, {echo, 1}};
  EXPECT_THROW(LinuxFleet(none, fleet_of(1), {}), ArgumentError);
  const std::vector<LinuxPlacement> apart = {{echo, kFirstLanes}, {image_at(kCat, 1 << 20), 1}};
  EXPECT_THROW(LinuxFleet(apart, fleet_of(1), {}), ArgumentError) << "the window is 1 MiB";
  EXPECT_EQ(LinuxFleet(apart, fleet_of(1, 4 << 20), {}).fleet().lanes(), kFirstLanes + 1);
}

}  // namespace
}  // namespace myriarm
