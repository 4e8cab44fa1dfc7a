// SPDX-License-Identifier: Apache-2.0
// LinuxOptions::fork_after: the lanes have what the common part has left, and else all is as without it.
#include <gtest/gtest.h>

#include <array>

#include "linux/input_calls.h"
#include "linux_caller.h"
#include "myriarm/queue.h"

namespace myriarm {
namespace {

using namespace test;

/// Gets two pages of heap, writes "ab\n", duplicates standard output, gets 8 random bytes, and makes a call that is not
/// implemented. From `point` on: writes to the duplicate the digit of MYRIARM_LANE, these bytes, 8 further ones, and up to
/// 64 bytes of standard input. Exits with 70, which lies in the heap, and the size of the input.
const std::vector<uint32_t> kGuest = {
    0xf9400bf6,  //        ldr  x22, [sp, #16]
    0xd10203ff,  //        sub  sp, sp, #128
    0xd2800000,  //        mov  x0, #0
    0xd2801ac8,  //        mov  x8, #214       brk
    0xd4000001,  //        svc  #0
    0xaa0003f3,  //        mov  x19, x0
    0x91400800,  //        add  x0, x0, #2, lsl #12
    0xd4000001,  //        svc  #0
    0xd28008c9,  //        mov  x9, #70
    0xf9080269,  //        str  x9, [x19, #4096]
    0xd2800020,  //        mov  x0, #1
    0x10000501,  //        adr  x1, text
    0xd2800062,  //        mov  x2, #3
    0xd2800808,  //        mov  x8, #64        write
    0xd4000001,  //        svc  #0
    0xd2800020,  //        mov  x0, #1
    0xd28002e8,  //        mov  x8, #23        dup
    0xd4000001,  //        svc  #0
    0xaa0003f5,  //        mov  x21, x0
    0x910007e0,  //        add  x0, sp, #1
    0xd2800101,  //        mov  x1, #8
    0xd2800002,  //        mov  x2, #0
    0xd28022c8,  //        mov  x8, #278       getrandom
    0xd4000001,  //        svc  #0
    0xd2800000,  //        mov  x0, #0
    0xd2802468,  //        mov  x8, #291       statx: not implemented
    0xd4000001,  //        svc  #0
    0x9e670268,  //        fmov d8, x19
    0x394036c0,  // point: ldrb w0, [x22, #13]
    0x390003e0,  //        strb w0, [sp]
    0x910027e0,  //        add  x0, sp, #9
    0xd2800101,  //        mov  x1, #8
    0xd2800002,  //        mov  x2, #0
    0xd28022c8,  //        mov  x8, #278       getrandom
    0xd4000001,  //        svc  #0
    0xd2800000,  //        mov  x0, #0
    0x910047e1,  //        add  x1, sp, #17
    0xd2800802,  //        mov  x2, #64
    0xd28007e8,  //        mov  x8, #63        read
    0xd4000001,  //        svc  #0
    0xaa0003f4,  //        mov  x20, x0
    0xaa1503e0,  //        mov  x0, x21
    0x910003e1,  //        mov  x1, sp
    0x91004682,  //        add  x2, x20, #17
    0xd2800808,  //        mov  x8, #64        write
    0xd4000001,  //        svc  #0
    0x9e660109,  //        fmov x9, d8
    0xf9480129,  //        ldr  x9, [x9, #4096]
    0x8b140120,  //        add  x0, x9, x20
    0xd2800ba8,  //        mov  x8, #93        exit
    0xd4000001,  //        svc  #0
    0x000a6261,  // text:  "ab\n"
};
constexpr uint64_t kPoint = kCode + 28 * 4;
constexpr size_t kDigit = 3, kCommonRandom = 4, kRandomEnd = 20, kRandomBytes = 8;

const std::vector<std::string> kInputs = {"first", "", "the third", "4", "fifth"};

ForkPoint at(uint64_t address) { return {ForkPoint::Kind::address, address, ""}; }
const ForkPoint kRead = {ForkPoint::Kind::read, 0, ""};

LinuxOptions options_of(const ForkPoint& point, bool inputs = true) {
  LinuxOptions options;
  options.seed = 9;
  options.fork_after = point;
  for (const std::string& input : kInputs) {
    if (inputs) options.standard_inputs.add(bytes_of(input));
  }
  return options;
}

struct Forked {
  explicit Forked(const LinuxOptions& options) : machine(image_of(kGuest), fleet_of(kInputs.size()), options) {}
  std::string output(uint32_t lane) const { return text(machine.standard_output(lane)); }
  uint64_t count(uint32_t lane) { return machine.fleet().get(Field::instructions, lane); }

  LinuxFleet machine;
};

TEST(LinuxFork, WhatFollowsIsAsWithoutIt) {
  Forked plain(options_of({}));
  plain.machine.run();
  for (const ForkPoint& point : {at(kCode), at(kPoint), kRead}) {
    Forked forked(options_of(point));
    const uint64_t common = forked.count(0);
    const RunResult result = forked.machine.run();
    const bool before_calls = point.address == kCode, at_read = point.kind == ForkPoint::Kind::read;
    uint64_t own = 0;
    for (uint32_t lane = 0; lane < kInputs.size(); lane++) {
      EXPECT_EQ(forked.machine.outcome(lane).exit_status, 70 + static_cast<int>(kInputs[lane].size()));
      EXPECT_EQ(forked.count(lane), plain.count(lane));
      EXPECT_EQ(forked.machine.fleet().get(Field::pc, lane), plain.machine.fleet().get(Field::pc, lane));
      own += forked.count(lane) - common;
      std::string expected = plain.output(lane);
      const auto of_lane_0 = [&](size_t at, size_t size) { expected.replace(at, size, plain.output(0), at, size); };
      if (!before_calls) of_lane_0(kCommonRandom, kRandomBytes);
      if (at_read) of_lane_0(kDigit, kRandomEnd - kDigit);
      EXPECT_EQ(forked.output(lane), expected) << lane;
      EXPECT_EQ(expected.substr(kRandomEnd), kInputs[lane]);
    }
    EXPECT_EQ(result.instructions, own);
    EXPECT_EQ(common, before_calls ? 0u : at_read ? 39u : 28u);
    EXPECT_EQ(counts_of(forked.machine), (std::map<std::string, uint64_t>{{"statx", before_calls ? 5 : 1}}));
  }
}

TEST(LinuxFork, StacksDifferInTheNumberAlone) {
  Forked forked(options_of(at(kCode)));
  Forked plain(options_of({}));
  const auto random = [](Forked& machine, const Start& start, uint32_t lane) {
    return machine.machine.fleet().read(lane, start.auxiliary.at(AT_RANDOM), 16);
  };
  const std::vector<uint8_t> of_lane_0 = random(plain, Start(plain.machine.fleet(), 0), 0);
  for (uint32_t lane = 0; lane < kInputs.size(); lane++) {
    const Start start(forked.machine.fleet(), lane);
    EXPECT_EQ(start.environment, (std::vector<std::string>{"MYRIARM_LANE=" + std::to_string(lane)}));
    EXPECT_EQ(random(forked, start, lane), of_lane_0);
  }
}

TEST(LinuxFork, AChangedEnvironmentStaysAsItIs) {
  const std::vector<uint32_t> guest = {
      0xf9400bf6,  //        ldr  x22, [sp, #16]
      0x52800f41,  //        mov  w1, #'z'
      0x390036c1,  //        strb w1, [x22, #13]
      0x394036c0,  // point: ldrb w0, [x22, #13]
      0xd2800ba8,  //        mov  x8, #93        exit
      kSvc,
  };
  LinuxFleet machine(image_of(guest), fleet_of(3), options_of(at(kCode + 12), false));
  machine.run();
  for (uint32_t lane = 0; lane < 3; lane++) EXPECT_EQ(machine.outcome(lane).exit_status, 'z');
}

TEST(LinuxFork, AQueueGivesTheSameResults) {
  Forked plain(options_of({}));
  plain.machine.run();
  for (uint64_t lanes : {1, 3}) {
    Queue queue(image_of(kGuest), fleet_of(lanes), options_of(at(kPoint), false));
    for (int round = 0; round < 2; round++) {
      size_t next = 0;
      uint32_t found = 0;
      queue.run(
          [&](ProcessInput& input, uint64_t&, bool) {
            if (next == kInputs.size()) return Supply::ended;
            input.standard_input = bytes_of(kInputs[next++]);
            return Supply::input;
          },
          [&](QueueResult& result) {
            std::string expected = plain.output(found);
            expected.replace(kCommonRandom, kRandomBytes, plain.output(0), kCommonRandom, kRandomBytes);
            EXPECT_EQ(text(result.standard_output), expected);
            EXPECT_EQ(result.instructions, plain.count(found++));
            return true;
          });
      EXPECT_EQ(found, kInputs.size());
    }
    size_t given = 0;
    EXPECT_THROW(queue.run(
                     [&](ProcessInput& input, uint64_t&, bool) {
                       input.arguments = {"other"};
                       return given++ == 0 ? Supply::input : Supply::ended;
                     },
                     [](QueueResult&) { return true; }),
                 ArgumentError);
  }
}

TEST(LinuxFork, SnapshotsKeepWhatWasWrittenBefore) {
  Forked forked(options_of(at(kPoint)));
  EXPECT_EQ(forked.output(4), "ab\n");
  const Snapshot beginning = forked.machine.fleet().snapshot();
  forked.machine.run();
  const std::string whole = forked.output(4);
  EXPECT_EQ(whole.size(), kRandomEnd + kInputs[4].size());
  const Snapshot end = forked.machine.fleet().snapshot();
  forked.machine.fleet().restore(beginning);
  EXPECT_EQ(forked.output(4), "ab\n");
  forked.machine.run();
  EXPECT_EQ(forked.output(4), whole);
  forked.machine.fleet().restore(beginning);
  forked.machine.fleet().restore(end);
  EXPECT_EQ(forked.output(4), whole);
}

TEST(LinuxFork, TheCommonPartIsTracedOnce) {
  std::vector<std::string> calls;
  LinuxOptions options = options_of(at(kPoint));
  options.on_call = [&](uint32_t lane, std::string_view call) {
    calls.push_back(std::to_string(lane) + " " + std::string(call.substr(0, call.find('('))));
  };
  options.traced_lanes = {3};
  Forked forked(options);
  forked.machine.run();
  EXPECT_EQ(calls, (std::vector<std::string>{"0 brk", "0 brk", "0 write", "0 dup", "0 getrandom", "0 statx",
                                             "3 getrandom", "3 read", "3 write", "3 exit"}));
}

/// The message of the ArgumentError that a fleet with these options throws; empty if it throws none.
std::string refusal(const LinuxOptions& options, const std::vector<uint32_t>& words = kGuest) {
  try {
    LinuxFleet machine(image_of(words), fleet_of(1), options);
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "";
}

TEST(LinuxFork, APointThatTheProcessDoesNotComeToIsRefused) {
  const std::vector<uint32_t> exits = {0xd2800ba8, kSvc, kHlt, 0};  // mov x8, #93; svc
  const std::vector<uint32_t> loops = {kLoopForEver, kHlt};
  const auto refused = [](const ForkPoint& point, const std::vector<uint32_t>& words) {
    LinuxOptions options = options_of(point, false);
    options.fork_limit = 100'000;
    return refusal(options, words);
  };
  EXPECT_EQ(refused(at(kCode + 8), exits),
            "guest: the process exits with 0 before it comes to 0x401008; give a point that it comes to");
  EXPECT_EQ(
      refused(kRead, exits),
      "guest: the process exits with 0 before it comes to a call that reads its input; give a point that it comes "
      "to");
  EXPECT_EQ(refused({ForkPoint::Kind::address, kCode + 4, "main"}, loops),
            "guest: the process does not come to main in 100000 instructions; give a point that it comes to");
  EXPECT_EQ(refused(at(kCode + 4), {kUndefined, kHlt}),
            "guest: the process is ended by signal 4 before it comes to 0x401004; give a point that it comes to");
  EXPECT_EQ(refused(at(kCode + 4), {kBrk, kHlt}),
            "guest: the process is ended by signal 5 before it comes to 0x401004; give a point that it comes to");
  EXPECT_EQ(
      refused(at(kCode + 49 * 4), kGuest),
      "guest: the process asks for its input before it comes to 0x4010c4; fork it at the first such call, which is "
      "the point 'read'");
  for (uint64_t address : {kCode + 2, kData, uint64_t{0}, ~uint64_t{3}}) {
    EXPECT_NE(refused(at(address), kGuest).find("is no address of an instruction"), std::string::npos) << address;
  }
  LinuxOptions own = options_of(kRead, false);
  own.lane_arguments = {{"a"}};
  EXPECT_NE(refusal(own).find("the arguments and the environment of their common part"), std::string::npos);
  own.lane_arguments.clear();
  own.lane_environments = {{"A=1"}};
  EXPECT_NE(refusal(own).find("the arguments and the environment of their common part"), std::string::npos);
}

TEST(LinuxFork, PointsByName) {
  ElfFile file = program_of(kGuest);
  const std::vector<uint8_t> bytes = file.bytes();
  const ElfImage image = parse_elf(bytes, "guest");
  const auto point = [&](const std::string& text) { return fork_point(text, bytes, image); };
  EXPECT_EQ(point("start").kind, ForkPoint::Kind::start);
  EXPECT_EQ(point("read").kind, ForkPoint::Kind::read);
  EXPECT_EQ(point("0x401070").address, kPoint);
  EXPECT_EQ(point("4198512").address, kPoint);
  for (const char* wrong : {"main", "", "0x", "12z", "0x10000000000000000"}) {
    EXPECT_THROW(point(wrong), ArgumentError) << wrong;
  }
}

TEST(LinuxFork, CallsThatDependOnTheInput) {
  Fleet fleet(raw_program("memory", {0, 0, 0, 0}, 0, 1 << 16), fleet_of(1, 1 << 16));
  constexpr uint64_t kPath = 0x1000, kPolled = 0x2000, kSet = 0x3000;
  const auto asks = [&](uint32_t number, std::array<uint64_t, 6> arguments) {
    return linux_process::asks_for_input(fleet, number, arguments);
  };
  for (uint32_t number : {kRead63, kReadv, kDup, kDup3}) {
    EXPECT_TRUE(asks(number, {0, 0x1000, 1})) << number;
    EXPECT_TRUE(asks(number, {uint64_t{1} << 32, 0x1000, 1})) << "Linux reads 32 bits";
    EXPECT_FALSE(asks(number, {1, 0x1000, 1})) << number;
  }
  EXPECT_TRUE(asks(kFcntl, {0, 0}));
  EXPECT_TRUE(asks(kFcntl, {0, 1030}));
  EXPECT_FALSE(asks(kFcntl, {0, 3}));
  EXPECT_FALSE(asks(kFcntl, {1, 0}));
  for (const auto& [path, depends] :
       {std::pair("/input", true), std::pair("input", true), std::pair("./..//input", true),
        std::pair("/input/", false), std::pair("/inputs", false), std::pair("", false)}) {
    fleet.write(0, kPath, bytes_of(std::string(path) + '\0'));
    for (uint32_t number : {kOpenat, kFaccessat, kNewfstatat, kReadlinkat}) {
      EXPECT_EQ(asks(number, {0, kPath}), depends) << path << number;
    }
  }
  EXPECT_FALSE(asks(kOpenat, {0, 0x7000'0000})) << "not mapped";
  const auto poll = [&](std::vector<int32_t> descriptors) {
    std::vector<uint8_t> records(descriptors.size() * 8);
    for (size_t i = 0; i < descriptors.size(); i++) std::memcpy(&records[i * 8], &descriptors[i], 4);
    fleet.write(0, kPolled, records);
    return asks(kPpoll, {kPolled, descriptors.size()});
  };
  EXPECT_TRUE(poll({1, 0}));
  EXPECT_FALSE(poll({1, 2, -1}));
  EXPECT_FALSE(asks(kPpoll, {kPolled, 0}));
  for (uint32_t set = 1; set <= 3; set++) {
    std::array<uint64_t, 6> sets = {3, 0, 0, 0, 0, 0};
    sets[set] = kSet;
    for (uint8_t bits : {6, 7}) {
      fleet.write(0, kSet, std::array<uint8_t, 1>{bits});
      EXPECT_EQ(asks(kPselect6, sets), bits == 7) << set;
    }
  }
  EXPECT_FALSE(asks(kFstat, {0, 0x1000})) << "standard input is a pipe in every lane";
}

}  // namespace
}  // namespace myriarm
