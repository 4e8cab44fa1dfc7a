// SPDX-License-Identifier: Apache-2.0
// A queue of inputs gives each input the result that it has alone, in order, whatever the number of lanes; and processes
// can be restarted.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "linux/long_lanes.h"
#include "linux_caller.h"
#include "myriarm/queue.h"

namespace myriarm {
namespace {

using namespace test;

/// Reads up to 64 bytes of standard input to the stack, gets 8 random bytes behind them, loops first_byte * 16 times, and
/// writes both. Exits with the first byte.
/// An 'f' first faults instead, an 'e' never ends.
const std::vector<uint32_t> kGuest = {
    0xd10203ff,  //        sub  sp, sp, #128
    0xd2800000,  //        mov  x0, #0
    0x910003e1,  //        mov  x1, sp
    0xd2800802,  //        mov  x2, #64
    0xd28007e8,  //        mov  x8, #63         read
    0xd4000001,  //        svc  #0
    0xaa0003f3,  //        mov  x19, x0
    0x394003f4,  //        ldrb w20, [sp]
    0x8b3363e0,  //        add  x0, sp, x19
    0xd2800101,  //        mov  x1, #8
    0xd2800002,  //        mov  x2, #0
    0xd28022c8,  //        mov  x8, #278        getrandom
    0xd4000001,  //        svc  #0
    0xd37cee89,  //        lsl  x9, x20, #4
    0x7101969f,  // again: cmp  w20, #'e'
    0x54000000,  //        b.eq .               (an endless loop)
    0x71019a9f,  //        cmp  w20, #'f'
    0x54000041,  //        b.ne .+8
    0xf9400120,  //        ldr  x0, [x9]
    0xf1000529,  //        subs x9, x9, #1
    0x54ffff4c,  //        b.gt again
    0xd2800020,  //        mov  x0, #1
    0x910003e1,  //        mov  x1, sp
    0x91002262,  //        add  x2, x19, #8
    0xd2800808,  //        mov  x8, #64         write
    0xd4000001,  //        svc  #0
    0xaa1403e0,  //        mov  x0, x20
    0xd2800ba8,  //        mov  x8, #93         exit
    0xd4000001,  //        svc  #0
};

std::vector<std::string> random_inputs(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> inputs(count);
  for (std::string& input : inputs) {
    input.resize(random() % 60);
    for (char& c : input) c = static_cast<char>(random());
    if (input.starts_with('e')) input[0] = 'x';
  }
  return inputs;
}

QueueSource source_of(const std::vector<std::string>& inputs, size_t& at) {
  return [&inputs, &at](ProcessInput& input, uint64_t&, bool) {
    if (at == inputs.size()) return Supply::ended;
    input.standard_input = bytes_of(inputs[at++]);
    return Supply::input;
  };
}

std::vector<QueueResult> work_off(Queue& queue, const std::vector<std::string>& inputs,
                                  const QueueOptions& options = {}) {
  std::vector<QueueResult> results;
  size_t at = 0;
  queue.run(
      source_of(inputs, at),
      [&](QueueResult& result) {
        results.push_back(std::move(result));
        return true;
      },
      options);
  return results;
}

void expect_same(const QueueResult& expected, const QueueResult& found) {
  EXPECT_EQ(expected.number, found.number);
  EXPECT_EQ(expected.outcome.stop.reason, found.outcome.stop.reason);
  EXPECT_EQ(expected.outcome.stop.address, found.outcome.stop.address);
  EXPECT_EQ(expected.outcome.exit_status, found.outcome.exit_status);
  EXPECT_EQ(expected.outcome.signal, found.outcome.signal);
  EXPECT_EQ(expected.instructions, found.instructions);
  EXPECT_EQ(expected.pc, found.pc);
  EXPECT_EQ(expected.standard_output, found.standard_output);
}

LinuxOptions seeded(uint64_t seed) {
  LinuxOptions options;
  options.seed = seed;
  return options;
}

TEST(Queue, AResultIsThatOfALaneOfItsOwn) {
  const std::vector<std::string> inputs = random_inputs(300, 1);
  LinuxOptions options = seeded(5);
  for (const std::string& input : inputs) options.standard_inputs.add(bytes_of(input));
  LinuxFleet each(image_of(kGuest), fleet_of(inputs.size()), options);
  each.run();
  for (uint64_t lanes : {1, 3, 64, 400}) {
    Queue queue(image_of(kGuest), fleet_of(lanes), seeded(5));
    const std::vector<QueueResult> results = work_off(queue, inputs);
    ASSERT_EQ(results.size(), inputs.size()) << lanes;
    for (uint32_t i = 0; i < inputs.size(); i++) {
      EXPECT_EQ(results[i].number, i);
      EXPECT_EQ(results[i].outcome.stop.reason, each.outcome(i).stop.reason);
      EXPECT_EQ(results[i].outcome.exit_status, each.outcome(i).exit_status);
      EXPECT_EQ(results[i].instructions, each.fleet().get(Field::instructions, i));
      EXPECT_EQ(text(results[i].standard_output), text(each.standard_output(i))) << i;
    }
  }
}

TEST(Queue, WithoutOrderTheSameResultsCome) {
  const std::vector<std::string> inputs = random_inputs(200, 2);
  Queue queue(image_of(kGuest), fleet_of(7), seeded(0));
  const std::vector<QueueResult> ordered = work_off(queue, inputs);
  QueueOptions options;
  options.ordered = false;
  std::vector<QueueResult> unordered = work_off(queue, inputs, options);
  ASSERT_EQ(unordered.size(), ordered.size());
  std::sort(unordered.begin(), unordered.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  for (size_t i = 0; i < inputs.size(); i++) expect_same(ordered[i], unordered[i]);
}

TEST(Queue, AnInputThatNeverEndsEndsAtItsLimitAndHoldsNoOther) {
  std::vector<std::string> inputs(50, "a");
  inputs[3] = inputs[20] = "endless";
  Queue queue(image_of(kGuest), fleet_of(4), {});
  QueueOptions options;
  options.instructions = 100'000;
  const std::vector<QueueResult> results = work_off(queue, inputs, options);
  ASSERT_EQ(results.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    const bool endless = i == 3 || i == 20;
    EXPECT_EQ(results[i].outcome.stop.reason, endless ? StopReason::budget : StopReason::exited) << i;
    if (endless) {
      EXPECT_EQ(results[i].instructions, 100'000u);
    }
  }
}

TEST(Queue, OthersGoOnWhileOneComputes) {
  std::vector<std::string> inputs(300, "a");
  inputs[0] = "endless";
  Queue queue(image_of(kGuest), fleet_of(8), {});
  QueueOptions options;
  options.instructions = 50'000'000;
  options.ordered = false;
  const std::vector<QueueResult> results = work_off(queue, inputs, options);
  ASSERT_EQ(results.size(), inputs.size());
  EXPECT_EQ(results.back().number, 0u) << "all others have ended before";
}

TEST(Queue, TheFirstOfManyLongInputsIsDoneSoonOnTheCpu) {
  FleetOptions fleet = fleet_of(1);
  fleet.device = "cpu";
  fleet.lanes = 256 * Queue(image_of(kGuest), fleet, {}).fleet().device().units;
  Queue queue(image_of(kGuest), fleet, {});
  const std::vector<std::string> inputs(fleet.lanes, "endless");
  QueueOptions options;
  options.instructions = 1'000'000;
  uint64_t number = 0, retired_before_first = 0;
  size_t at = 0;
  queue.run(
      source_of(inputs, at),
      [&](QueueResult& result) {
        if (number == 0) {
          std::vector<uint64_t> counts(fleet.lanes);
          queue.fleet().get_all(Field::instructions, counts);
          retired_before_first = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
        }
        EXPECT_EQ(result.number, number++);
        EXPECT_EQ(result.instructions, options.instructions);
        return true;
      },
      options);
  EXPECT_EQ(number, inputs.size());
  EXPECT_LT(retired_before_first, inputs.size() * options.instructions / 2);
}

TEST(LongLanes, TheOldestGoOnAndTheOthersTakeTurns) {
  constexpr uint32_t kLanes = 100, kMost = 16;
  linux_process::LongLanes lanes(kLanes, 1);
  std::vector<uint32_t> all(kLanes);
  for (uint32_t i = 0; i < kLanes; i++) all[i] = kLanes - 1 - i;  // lane 99 is the oldest
  lanes.begun(all);
  std::vector<uint32_t> round = all;
  EXPECT_TRUE(lanes.leave_out(round).empty()) << "the first slice";
  EXPECT_EQ(round.size(), kLanes);
  for (uint32_t lane : all) lanes.spent_slice(lane);
  std::vector<int> turns(kLanes);
  std::vector<uint32_t> active = all;
  const int rounds = (kLanes - kMost + kMost - 1) / kMost;
  for (int i = 0; i < rounds; i++) {
    round = active;
    const std::vector<uint32_t> left_out = lanes.leave_out(round);
    EXPECT_EQ(round.size(), 2 * kMost);
    EXPECT_EQ(round.size() + left_out.size(), kLanes);
    for (uint32_t lane : round) turns[lane]++;
    active = round;
    active.insert(active.end(), left_out.begin(), left_out.end());
  }
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    EXPECT_GE(turns[lane], lane >= kLanes - kMost ? rounds : 1) << lane;
  }
  lanes.begun(std::vector<uint32_t>{50});
  round = active;
  lanes.leave_out(round);
  EXPECT_EQ(round.size(), 2 * kMost + 1);
  EXPECT_EQ(round.front(), 50u) << "a new process in the lane";
}

TEST(Queue, CountsAndNumbers) {
  const std::vector<std::string> inputs = {"a", "f", "b", std::string(1, '\0')};
  Queue queue(image_of(kGuest), fleet_of(2), {});
  std::vector<uint64_t> numbers;
  size_t at = 0;
  QueueOptions options;
  uint64_t most_done = 0;
  options.progress = [&](const QueueProgress& progress) { most_done = std::max(most_done, progress.done); };
  const QueueProgress end = queue.run(
      [&](ProcessInput& input, uint64_t& number, bool) {
        if (at == inputs.size()) return Supply::ended;
        number += 9'999'999'900 * (at == 2);
        input.standard_input = bytes_of(inputs[at++]);
        return Supply::input;
      },
      [&](QueueResult& result) {
        numbers.push_back(result.number);
        return true;
      },
      options);
  EXPECT_EQ(numbers, (std::vector<uint64_t>{0, 1, 9'999'999'902, 9'999'999'903}));
  EXPECT_EQ(end.done, 4u);
  EXPECT_EQ(end.failed, 3u) << "exit status 'a' and 'b', and a fault";
  EXPECT_EQ(end.running, 0u);
  EXPECT_FALSE(end.stopped_early);
  EXPECT_EQ(most_done, 4u);
  EXPECT_THROW(queue.run(
                   [](ProcessInput&, uint64_t& number, bool) {
                     number = 10'000'000'000;
                     return Supply::input;
                   },
                   [](QueueResult&) { return true; }),
               ArgumentError);
}

TEST(Queue, WhatTheSinkHasNotTakenIsBounded) {
  // The first input takes long; results of the others wait for it.
  std::vector<std::string> inputs(2000, std::string(60, '\1'));
  inputs[0] = "endless";
  Queue queue(image_of(kGuest), fleet_of(8), {});
  QueueOptions options;
  options.instructions = 20'000'000;
  options.held_bytes = 1000;
  size_t at = 0, taken_before = 0, count = 0;
  queue.run(
      source_of(inputs, at),
      [&](QueueResult& result) {
        if (result.number == 0) taken_before = at;
        count++;
        return true;
      },
      options);
  EXPECT_EQ(count, inputs.size());
  EXPECT_LE(taken_before, 15u) << "a result takes some 250 bytes";
}

TEST(Queue, TheSinkAndTheSourceCanEndIt) {
  const std::vector<std::string> inputs = random_inputs(500, 3);
  Queue queue(image_of(kGuest), fleet_of(16), {});
  size_t at = 0, count = 0;
  QueueProgress end = queue.run(source_of(inputs, at), [&](QueueResult&) { return ++count < 100; });
  EXPECT_EQ(count, 100u);
  EXPECT_TRUE(end.stopped_early);
  EXPECT_LT(at, 200u);
  struct Mine {};
  EXPECT_THROW(queue.run(source_of(inputs, at = 0), [](QueueResult&) -> bool { throw Mine(); }), Mine);
  EXPECT_THROW(
      queue.run([](ProcessInput&, uint64_t&, bool) -> Supply { throw Mine(); }, [](QueueResult&) { return true; }),
      Mine);
  ProcessInput large;
  large.arguments = {std::string(1 << 20, 'a')};
  EXPECT_THROW(queue.run(
                   [&](ProcessInput& input, uint64_t&, bool) {
                     input = large;
                     return Supply::input;
                   },
                   [](QueueResult&) { return true; }),
               ArgumentError);
  queue.cancel();
  EXPECT_TRUE(queue.run(source_of(inputs, at = 0), [](QueueResult&) { return true; }).stopped_early);
  // It can still be used.
  EXPECT_EQ(work_off(queue, inputs).size(), inputs.size());
}

TEST(Queue, AnInputThatDoesNotFitComesAfterTheResultsOfThoseBeforeIt) {
  Queue queue(image_of(kGuest), fleet_of(8), {});
  uint64_t given = 0, results = 0;
  EXPECT_THROW(queue.run(
                   [&](ProcessInput& input, uint64_t&, bool) {
                     if (given == 21) input.arguments = {std::string(1 << 20, 'a')};
                     else input.standard_input = bytes_of("a");
                     given++;
                     return Supply::input;
                   },
                   [&](QueueResult& result) {
                     EXPECT_EQ(result.number, results++);
                     return true;
                   }),
               ArgumentError);
  EXPECT_EQ(results, 21u);
}

TEST(Queue, WhatASourceGaveBeforeItHasThrownHasItsResult) {
  struct Mine {};
  const std::vector<std::string> inputs = random_inputs(100, 9);
  for (uint64_t lanes : {2, 64, 128}) {
    for (const bool bad_number : {false, true}) {
      Queue queue(image_of(kGuest), fleet_of(lanes), {});
      uint64_t given = 0, results = 0;
      const QueueSource source = [&](ProcessInput& input, uint64_t& number, bool) {
        if (given == 100 && !bad_number) throw Mine();
        if (given == 100) number = 0;
        else input.standard_input = bytes_of(inputs[given++]);
        return Supply::input;
      };
      const QueueSink sink = [&](QueueResult& result) {
        EXPECT_EQ(result.number, results++);
        return true;
      };
      if (bad_number) EXPECT_THROW(queue.run(source, sink), ArgumentError);
      else EXPECT_THROW(queue.run(source, sink), Mine);
      EXPECT_EQ(results, 100u) << lanes;
    }
  }
}

TEST(Queue, ResultsCanBecomeInputs) {
  // Each input is the output of the one before, so that none is there while the other runs.
  Queue queue(image_of(kGuest), fleet_of(4), {});
  std::string next = "a";
  std::vector<std::string> outputs;
  bool there = true;
  uint64_t asked_later = 0;
  queue.run(
      [&](ProcessInput& input, uint64_t&, bool idle) {
        if (outputs.size() == 5) return Supply::ended;
        if (!there) {
          EXPECT_FALSE(idle) << "the one that runs will give the next";
          asked_later++;
          return Supply::later;
        }
        there = false;
        input.standard_input = bytes_of(next);
        return Supply::input;
      },
      [&](QueueResult& result) {
        outputs.push_back(text(result.standard_output));
        next = outputs.back();
        there = true;
        return true;
      });
  ASSERT_EQ(outputs.size(), 5u);
  EXPECT_GT(asked_later, 0u);
  for (size_t i = 1; i < 5; i++) EXPECT_EQ(outputs[i].substr(0, outputs[i - 1].size()), outputs[i - 1]);
  EXPECT_EQ(outputs[4].size(), 1u + 5 * 8);
}

TEST(Queue, MemoryIsThatOfTheLanes) {
  FleetOptions fleet = fleet_of(8);
  Queue queue(image_of(kGuest), fleet, {});
  const std::vector<std::string> inputs = random_inputs(100, 4);
  work_off(queue, inputs);
  const uint64_t used = queue.fleet().pool_used();
  for (int i = 0; i < 5; i++) work_off(queue, inputs);
  EXPECT_LE(queue.fleet().pool_used(), used + 8 * 8 * kPageBytes);
}

TEST(LinuxRestart, ALaneIsThatOfANewFleet) {
  LinuxOptions options = seeded(3);
  options.restartable = true;
  options.arguments = {"common"};
  options.environment = {"E=1"};
  LinuxFleet machine(image_of(kGuest), fleet_of(3), options);
  machine.run();
  std::vector<ProcessInput> inputs(2);
  inputs[0].arguments = {"own", "@@"};
  inputs[0].file = bytes_of("file");
  inputs[1].environment = {"F=2"};
  const std::vector<uint32_t> lanes = {2, 0};
  const std::vector<uint64_t> numbers = {77, 1};
  const StopReason before = machine.outcome(1).stop.reason;
  machine.restart(lanes, numbers, inputs);
  EXPECT_EQ(machine.outcome(1).stop.reason, before);
  const Start first(machine.fleet(), 2), second(machine.fleet(), 0);
  EXPECT_EQ(first.arguments, (std::vector<std::string>{"own", "/input"}));
  EXPECT_EQ(first.environment, (std::vector<std::string>{"E=1", "MYRIARM_LANE=77"}));
  EXPECT_EQ(second.arguments, std::vector<std::string>{"common"});
  EXPECT_EQ(second.environment, (std::vector<std::string>{"F=2", "MYRIARM_LANE=1"}));
  EXPECT_EQ(machine.fleet().get(Field::instructions, 0), 0u);
  LinuxFleet fresh(image_of(kGuest), fleet_of(2), options);
  fresh.run();
  machine.run();
  // The environment is another one, and the guest looks at neither.
  EXPECT_EQ(text(machine.standard_output(0)), text(fresh.standard_output(1)));
}

TEST(LinuxRestart, CommonArgumentsNameTheFile) {
  LinuxOptions options;
  options.restartable = true;
  options.arguments = {"common", "-f=@@"};
  LinuxFleet machine(image_of(kGuest), fleet_of(2), options);
  std::vector<ProcessInput> inputs(2);
  inputs[0].file = bytes_of("file");
  const std::vector<uint32_t> lanes = {0, 1};
  const std::vector<uint64_t> numbers = {0, 1};
  machine.restart(lanes, numbers, inputs);
  EXPECT_EQ(Start(machine.fleet(), 0).arguments[1], "-f=/input");
  EXPECT_EQ(Start(machine.fleet(), 1).arguments[1], "-f=@@");
}

TEST(LinuxRestart, Mistakes) {
  LinuxFleet machine(image_of(kGuest), fleet_of(2), {});
  std::vector<ProcessInput> inputs(1);
  const std::vector<uint32_t> lanes = {0};
  const std::vector<uint64_t> numbers = {0};
  EXPECT_THROW(machine.restart(lanes, numbers, inputs), StateError);
  LinuxOptions options;
  options.restartable = true;
  LinuxFleet good(image_of(kGuest), fleet_of(2), options);
  EXPECT_THROW(good.restart(lanes, {}, inputs), ArgumentError);
  const std::vector<uint32_t> absent = {2};
  EXPECT_THROW(good.restart(absent, numbers, inputs), ArgumentError);
}

}  // namespace
}  // namespace myriarm
