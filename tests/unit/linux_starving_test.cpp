// SPDX-License-Identifier: Apache-2.0
// Processes that do not fit in the pool together: each has the result that it has alone, whatever the number of lanes and
// of devices, and nobody sees anything of it twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "linux_caller.h"
#include "myriarm/queue.h"
#include "myriarm/shared_queue.h"
#include "support/lanes_at_once.h"

namespace myriarm {
namespace {

using namespace test;

/// Reads three bytes: the pages that it needs, how it ends, and how long it takes, in units of 2,048 instructions. Writes
/// the first byte, makes a call that is not implemented, and grows its heap. It takes half of the pages, computes, takes
/// the rest, and computes again. Then an 'e' goes on for ever, and an 'f' faults; others write 14 bytes from their
/// second argument on, or of MYRIARM_LANE if they have none, and exit with the number of pages.
const std::vector<uint32_t> kGuest = {
    0xf9400bf9,  //        ldr  x25, [sp, #16]
    0xd10103ff,  //        sub  sp, sp, #64
    0xd2800000,  //        mov  x0, #0
    0x910003e1,  //        mov  x1, sp
    0xd2800202,  //        mov  x2, #16
    0xd28007e8,  //        mov  x8, #63       read
    0xd4000001,  //        svc  #0
    0xd2800020,  //        mov  x0, #1
    0xd2800022,  //        mov  x2, #1
    0xd2800808,  //        mov  x8, #64       write
    0xd4000001,  //        svc  #0
    0xd2802468,  //        mov  x8, #291      statx: not implemented
    0xd4000001,  //        svc  #0
    0x394003f3,  //        ldrb w19, [sp]
    0x394007f4,  //        ldrb w20, [sp, #1]
    0x39400bf7,  //        ldrb w23, [sp, #2]
    0xd2800000,  //        mov  x0, #0
    0xd2801ac8,  //        mov  x8, #214      brk
    0xd4000001,  //        svc  #0
    0xaa0003f5,  //        mov  x21, x0
    0x8b1332a0,  //        add  x0, x21, x19, lsl #12
    0xd4000001,  //        svc  #0
    0xd341fe78,  //        lsr  x24, x19, #1
    0xd2800016,  //        mov  x22, #0
    0xeb1802df,  // touch: cmp  x22, x24
    0x540000a2,  //        b.hs done
    0x8b1632a9,  //        add  x9, x21, x22, lsl #12
    0xf9000136,  //        str  x22, [x9]
    0x910006d6,  //        add  x22, x22, #1
    0x17fffffb,  //        b    touch
    0xd376d6e9,  // done:  lsl  x9, x23, #10
    0xf1000529,  // count: subs x9, x9, #1
    0x54ffffec,  //        b.gt count
    0xeb13031f,  //        cmp  x24, x19
    0xaa1303f8,  //        mov  x24, x19
    0x54fffea1,  //        b.ne touch
    0x7101969f,  //        cmp  w20, #'e'
    0x54000000,  //        b.eq .
    0x71019a9f,  //        cmp  w20, #'f'
    0x54000041,  //        b.ne write
    0xf9000520,  //        str  x0, [x9, #8]
    0xd2800020,  // write: mov  x0, #1
    0xaa1903e1,  //        mov  x1, x25
    0xd28001c2,  //        mov  x2, #14
    0xd2800808,  //        mov  x8, #64       write
    0xd4000001,  //        svc  #0
    0xaa1303e0,  //        mov  x0, x19
    0xd2800ba8,  //        mov  x8, #93       exit
    0xd4000001,  //        svc  #0
};

constexpr uint64_t kPoolPages = 64;
constexpr uint64_t kLimit = 2'000'000;  // instructions

/// An input of kGuest.
std::string needs(unsigned pages, char end = 'x', unsigned time = 60) {
  return {static_cast<char>(pages), end, static_cast<char>(time)};
}

/// Processes that fit four times, twice, once and not at all, and end in every way.
std::vector<std::string> mixed_inputs(unsigned count = 48) {
  std::vector<std::string> inputs;
  for (unsigned i = 0; i < count; i++) {
    const unsigned pages[] = {10, 25, 10, 50, 10, 45, 10, 90};
    inputs.push_back(needs(pages[i % 8], "xxfxxexx"[i * 5 % 8], 20 + i * 7 % 50));
  }
  return inputs;
}

bool is_cpu(const FleetOptions& options) { return options.device == "cpu"; }
bool pool_is_of_lanes() { return test_device() == "cpu"; }
/// Lanes that share frames, and need as many together as one of them.
uint64_t team() { return pool_is_of_lanes() ? 1 : 32; }

/// Room for so many pages of a lane, or on a GPU of a team, whose frames have a page of each lane and one for permissions.
FleetOptions small_pool(uint64_t lanes, const std::string& device = test_device()) {
  FleetOptions options = fleet_of(lanes, uint64_t{2} << 20);
  options.device = device;
  options.pool = kPoolPages * kPageBytes;
  if (!is_cpu(options)) options.pool *= std::min<uint64_t>(lanes, 32) + 1;
  options.threads = 1;
  return options;
}

using Line = std::tuple<uint64_t, StopReason, int, uint64_t, uint64_t, std::string>;

/// Of a process that is out of memory devices agree only on that: how far it came depends on what else lies in their pools.
void forget_where_memory_ended(std::vector<Line>& lines) {
  for (Line& line : lines) {
    if (std::get<StopReason>(line) == StopReason::out_of_memory && !pool_is_of_lanes())
      line = {std::get<0>(line), StopReason::out_of_memory, -1, 0, 0, ""};
  }
}

std::vector<Line> work_off(InputQueue& queue, const std::vector<std::string>& inputs) {
  std::vector<Line> lines;
  QueueOptions options;
  options.instructions = kLimit;
  size_t at = 0;
  queue.run(
      [&](ProcessInput& input, uint64_t&, bool) {
        if (at == inputs.size()) return Supply::ended;
        input.standard_input = bytes_of(inputs[at++]);
        return Supply::input;
      },
      [&](QueueResult& result) {
        lines.emplace_back(result.number, result.outcome.stop.reason, result.outcome.exit_status, result.instructions,
                           result.pc, text(result.standard_output));
        return true;
      },
      options);
  forget_where_memory_ended(lines);
  return lines;
}

TEST(LinuxStarving, AQueueGivesEachInputWhatItHasAloneForAnyNumberOfLanes) {
  const std::vector<std::string> inputs = mixed_inputs();
  Queue one(image_of(kGuest), small_pool(1), {});
  const std::vector<Line> expected = work_off(one, inputs);
  ASSERT_EQ(expected.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    const StopReason reason = inputs[i][0] > 64     ? StopReason::out_of_memory
                              : inputs[i][1] == 'f' ? StopReason::fault
                              : inputs[i][1] == 'e' ? StopReason::budget
                                                    : StopReason::exited;
    EXPECT_EQ(std::get<StopReason>(expected[i]), reason) << i;
  }
  for (uint64_t lanes : {2, 4, 8, 48}) {
    Queue queue(image_of(kGuest), small_pool(lanes), {});
    EXPECT_EQ(work_off(queue, inputs), expected) << lanes;
    const uint64_t missing = queue.unimplemented().at("statx").count;
    // A GPU counts them by itself, in each attempt.
    if (pool_is_of_lanes()) EXPECT_EQ(missing, inputs.size()) << "each call is counted once";
    else EXPECT_GE(missing, inputs.size());
    EXPECT_EQ(work_off(queue, inputs), expected) << "the second run of " << lanes;
    EXPECT_EQ(queue.fleet().pool_used(), 0u);
  }
}

TEST(LinuxStarving, SeveralDevicesGiveTheSameResults) {
  const std::vector<std::string> inputs = mixed_inputs();
  Queue one(image_of(kGuest), small_pool(1), {});
  const std::vector<Line> expected = work_off(one, inputs);
  for (uint64_t lanes : {1, 2, 8}) {
    const std::vector<FleetOptions> fleets(2, small_pool(lanes));
    SharedQueue queue(image_of(kGuest), fleets, {});
    EXPECT_EQ(work_off(queue, inputs), expected) << lanes;
  }
}

TEST(LinuxStarving, ProcessesOfWhichOnlyOneFitsTakeTurns) {
  const std::vector<std::string> inputs(40, needs(50));
  Queue queue(image_of(kGuest), small_pool(8), {});
  size_t at = 0, exited = 0;
  const QueueProgress end = queue.run(
      [&](ProcessInput& input, uint64_t&, bool) {
        if (at == inputs.size()) return Supply::ended;
        input.standard_input = bytes_of(inputs[at++]);
        return Supply::input;
      },
      [&](QueueResult& result) {
        exited += result.outcome.stop.reason == StopReason::exited;
        return true;
      });
  EXPECT_EQ(exited, inputs.size());
  EXPECT_LT(end.instructions, 3 * inputs.size() * end.longest_instructions / 2) << "few of them ran twice";
}

TEST(LinuxStarving, AnInputThatEndsGivesItsMemoryToOneThatWaits) {
  // What the first one holds when it ends is what the second one needs.
  for (char end : {'x', 'f', 'e'}) {
    Queue queue(image_of(kGuest), small_pool(2), {});
    const std::vector<Line> lines = work_off(queue, {needs(36, end, 20), needs(44, 'x', 60)});
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(std::get<StopReason>(lines[1]), StopReason::exited) << end;
  }
}

TEST(LinuxStarving, CallsAreToldOnce) {
  std::vector<std::string> inputs = mixed_inputs();
  // On a GPU pages that a lane maps and others of its team do not take frames at once: one that is too large ends at another call.
  if (!pool_is_of_lanes()) std::erase_if(inputs, [](const std::string& input) { return input[0] > 64; });
  std::vector<std::vector<std::string>> told;
  for (uint64_t lanes : {1, 8}) {
    std::vector<std::string> calls;
    LinuxOptions options;
    options.on_call = [&](uint32_t, std::string_view call) { calls.emplace_back(call); };
    Queue queue(image_of(kGuest), small_pool(lanes), options);
    work_off(queue, inputs);
    std::sort(calls.begin(), calls.end());
    told.push_back(calls);
  }
  EXPECT_EQ(told[0], told[1]);
  EXPECT_GE(told[0].size(), 5 * inputs.size());
}

/// Runs a process with each of these inputs in a lane of its own.
struct Lanes {
  Lanes(const std::vector<std::string>& inputs, LinuxOptions options)
      : machine(image_of(kGuest), small_pool(inputs.size()), with(inputs, std::move(options))) {
    machine.fleet().fill(Field::limit, kLimit);
  }
  static LinuxOptions with(const std::vector<std::string>& inputs, LinuxOptions options) {
    options.restartable = true;
    for (const std::string& input : inputs) options.standard_inputs.add(bytes_of(input));
    return options;
  }
  /// `in_slices`: also where there are as many threads as lanes.
  RunResult run(bool in_slices = false) {
    LinuxRunOptions options;
    options.as_if_alone = true;
    if (in_slices) options.on_ended = [](auto) { return std::vector<uint32_t>(); };
    return machine.run(options);
  }
  Line line(uint32_t lane) {
    std::vector<Line> line = {{lane, machine.outcome(lane).stop.reason, machine.outcome(lane).exit_status,
                               machine.fleet().get(Field::instructions, lane), machine.fleet().get(Field::pc, lane),
                               text(machine.standard_output(lane))}};
    forget_where_memory_ended(line);
    return line[0];
  }
  LinuxFleet machine;
};

std::vector<InputDigest> digests_of(InputQueue& queue, const std::vector<std::string>& inputs, QueueOptions options,
                                    QueueProgress* end = nullptr) {
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> offsets = {0};
  for (const std::string& input : inputs) {
    bytes.insert(bytes.end(), input.begin(), input.end());
    offsets.push_back(bytes.size());
  }
  options.instructions = kLimit;
  uint64_t at = 0;
  std::vector<InputDigest> digests;
  const QueueProgress progress = queue.digest(
      [&](InputBatch& batch, bool) {
        const uint64_t count = std::min<uint64_t>(inputs.size() - at, 100);
        if (count == 0) return Supply::ended;
        batch = {at, bytes, std::span(offsets).subspan(at, count + 1)};
        at += count;
        return Supply::input;
      },
      [&](std::span<const InputDigest> some) {
        digests.insert(digests.end(), some.begin(), some.end());
        return true;
      },
      options);
  if (end) *end = progress;
  return digests;
}

/// Of a process that is out of memory a GPU and a CPU agree only on that: their pools are of other pages.
void expect_same(const std::vector<InputDigest>& found, const std::vector<Line>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); i++) {
    const auto& [number, reason, status, instructions, pc, output] = expected[i];
    ASSERT_EQ(found[i].number, number);
    ASSERT_EQ(found[i].reason, reason) << number;
    if (reason == StopReason::out_of_memory && !pool_is_of_lanes()) continue;
    if (reason == StopReason::exited) {
      EXPECT_EQ(found[i].stop_detail, static_cast<uint32_t>(status)) << number;
    }
    EXPECT_EQ(found[i].instructions, instructions) << number;
    EXPECT_EQ(found[i].pc, pc) << number;
    EXPECT_EQ(found[i].output_hash[0], output_hash(bytes_of(output))) << number;
  }
}

TEST(LinuxStarving, DigestsAreThoseThatInputsHaveAlone) {
  const std::vector<std::string> inputs = mixed_inputs(400);
  Queue one(image_of(kGuest), small_pool(1, "cpu"), {});
  const std::vector<Line> expected = work_off(one, inputs);
  ASSERT_EQ(std::ranges::count(expected, StopReason::out_of_memory, [](const Line& line) { return std::get<1>(line); }),
            50);
  for (uint64_t lanes : {32, 96, 320}) {
    Queue queue(image_of(kGuest), small_pool(lanes), {});
    for (uint64_t held : {1, 100, 1'000'000}) {
      SCOPED_TRACE(std::to_string(lanes) + " lanes, " + std::to_string(held) + " held");
      QueueOptions options;
      options.held_bytes = held * sizeof(InputDigest);
      QueueProgress end;
      expect_same(digests_of(queue, inputs, options, &end), expected);
      EXPECT_FALSE(end.stopped_early);
      EXPECT_EQ(end.done, inputs.size());
    }
    QueueOptions unordered;
    unordered.ordered = false;
    std::vector<InputDigest> found = digests_of(queue, inputs, unordered);
    std::ranges::sort(found, {}, &InputDigest::number);
    expect_same(found, expected);
    EXPECT_EQ(work_off(queue, inputs).size(), expected.size());
    EXPECT_EQ(queue.fleet().pool_used(), 0u);
  }
}

TEST(LinuxStarving, DigestsOfInputsOfWhichFewFitTogether) {
  const std::vector<std::string> inputs(2000, needs(25));
  Queue queue(image_of(kGuest), small_pool(640), {});
  QueueProgress end;
  const std::vector<InputDigest> digests = digests_of(queue, inputs, {}, &end);
  ASSERT_EQ(digests.size(), inputs.size());
  uint64_t once = 0;
  for (const InputDigest& digest : digests) {
    ASSERT_EQ(digest.reason, StopReason::exited) << digest.number;
    ASSERT_EQ(digest.stop_detail, 25u);
    once += digest.instructions;
  }
  EXPECT_LT(end.instructions, 2 * once) << "few of them ran twice";
}

TEST(LinuxStarving, SeveralDevicesGiveTheSameDigests) {
  const std::vector<std::string> inputs = mixed_inputs(200);
  Queue one(image_of(kGuest), small_pool(1, "cpu"), {});
  const std::vector<FleetOptions> fleets(2, small_pool(64));
  SharedQueue queue(image_of(kGuest), fleets, {});
  expect_same(digests_of(queue, inputs, {}), work_off(one, inputs));
}

TEST(LinuxStarving, ARunOfAFleetGivesEachLaneWhatItHasAlone) {
  const std::vector<std::string> inputs = mixed_inputs();
  Queue one(image_of(kGuest), small_pool(1), {});
  const std::vector<Line> expected = work_off(one, inputs);
  Lanes lanes(inputs, {});
  const RunResult result = lanes.run();
  EXPECT_EQ(result.lanes_run, inputs.size());
  EXPECT_EQ(result.stops[static_cast<unsigned>(StopReason::out_of_memory)], 6u);
  for (uint32_t lane = 0; lane < inputs.size(); lane++) EXPECT_EQ(lanes.line(lane), expected[lane]);
  EXPECT_EQ(lanes.machine.fleet().pool_used(), 0u);
}

TEST(LinuxStarving, ALaneBeginsAgainWithItsOwnWords) {
  const uint64_t lanes = 4 * team();
  LinuxOptions options;
  for (uint64_t i = 0; i < lanes; i++) options.lane_arguments.push_back({"guest", "word " + std::to_string(i)});
  Lanes made(std::vector<std::string>(lanes, needs(50)), options);
  uint64_t once = 0;
  const RunResult result = made.run(true);
  for (uint32_t lane = 0; lane < lanes; lane++) {
    const std::string word = "2word " + std::to_string(lane);
    EXPECT_EQ(text(made.machine.standard_output(lane)).substr(0, word.size()), word);
    once += made.machine.fleet().get(Field::instructions, lane);
  }
  EXPECT_GT(result.instructions, once) << "some have begun again";
}

TEST(LinuxStarving, PassedOutputIsPassedOnce) {
  // Lane 0 has retired less than the lane that starves with it, so it is the one that begins again.
  LinuxOptions options;
  options.pass_output = true;
  std::vector<std::string> inputs(team(), needs(42, 'x', 60));
  inputs.resize(2 * team(), needs(42, 'x', 80));
  Lanes lanes(inputs, options);
  testing::internal::CaptureStdout();
  const RunResult result = lanes.run(true);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "*MYRIARM_LANE=0");
  uint64_t once = 0;
  for (uint32_t lane = 0; lane < inputs.size(); lane++) {
    EXPECT_EQ(lanes.machine.outcome(lane).exit_status, 42);
    once += lanes.machine.fleet().get(Field::instructions, lane);
  }
  // On a GPU one of the teams may have ended before the other one needs its memory.
  if (pool_is_of_lanes()) EXPECT_GT(result.instructions, once) << "one has begun again";
  else EXPECT_GE(result.instructions, once);
}

TEST(LinuxStarving, WithoutTurnsAllStopAndGoOnInALargerPool) {
  const uint64_t all = 3 * team();
  Lanes lanes(std::vector<std::string>(all, needs(50)), {});
  const auto stopped = [&](StopReason reason) { return lanes.machine.run().stops[static_cast<unsigned>(reason)]; };
  const uint64_t starved = stopped(StopReason::out_of_memory);
  // As above.
  if (pool_is_of_lanes()) EXPECT_EQ(starved, all);
  else EXPECT_LE(starved, all);
  // Two have room then, and the third waits for them; on a GPU all go on at once.
  lanes.machine.fleet().grow_pool((pool_is_of_lanes() ? 2 : 3) * small_pool(all).pool);
  EXPECT_EQ(stopped(StopReason::exited), starved);
}

TEST(LinuxStarving, ACancelledRunCanGoOn) {
  const std::vector<std::string> inputs(10 * team(), needs(50, 'x', 100));
  Lanes lanes(inputs, {});
  LinuxRunOptions options;
  options.as_if_alone = true;
  options.progress = [&](const LinuxProgress& progress) {
    if (progress.lanes_done >= 3 * team()) lanes.machine.cancel();
  };
  const RunResult cancelled = lanes.machine.run(options);
  EXPECT_EQ(cancelled.stops[static_cast<unsigned>(StopReason::out_of_memory)], 0u);
  EXPECT_GT(cancelled.stops[static_cast<unsigned>(StopReason::cancelled)], 0u);
  lanes.run();
  for (uint32_t lane = 0; lane < inputs.size(); lane++) {
    const std::string expected = "2MYRIARM_LANE=" + std::to_string(lane);
    EXPECT_EQ(text(lanes.machine.standard_output(lane)), expected.substr(0, 15));
  }
}

/// Lanes of one team that need very different memory: when some are given up, others of the team keep its frames, of which each
/// lane that begins beside them needs copies.
TEST(LinuxStarving, LanesThatBeginAgainWaitForRoom) {
  std::vector<std::string> inputs;
  for (unsigned i = 0; i < 64; i++) inputs.push_back(needs(i % 4 == 0 ? 60 : 20, i % 5 == 0 ? 'f' : 'x', 10 + i));
  Queue one(image_of(kGuest), small_pool(1), {});
  const std::vector<Line> expected = work_off(one, inputs);
  Lanes lanes(inputs, {});
  const RunResult result = lanes.run(true);
  EXPECT_EQ(result.stops[static_cast<unsigned>(StopReason::out_of_memory)], 0u);
  for (uint32_t lane = 0; lane < inputs.size(); lane++) EXPECT_EQ(lanes.line(lane), expected[lane]);
  Queue queue(image_of(kGuest), small_pool(40), {});
  EXPECT_EQ(work_off(queue, inputs), expected);
}

/// Writes 50 pages, and exits with the status of a child, which computes for 40,000 instructions and exits with 7.
const std::vector<uint32_t> kParent = {
    0xd2800000,  //         mov  x0, #0
    0xd2801ac8,  //         mov  x8, #214      brk
    0xd4000001,  //         svc  #0
    0xaa0003f5,  //         mov  x21, x0
    0xd2800649,  //         mov  x9, #50
    0x8b0932a0,  //         add  x0, x21, x9, lsl #12
    0xd4000001,  //         svc  #0
    0xd2800649,  //         mov  x9, #50
    0xd1000529,  // touch:  sub  x9, x9, #1
    0x8b0932aa,  //         add  x10, x21, x9, lsl #12
    0xf9000149,  //         str  x9, [x10]
    0xb5ffffa9,  //         cbnz x9, touch
    0xd2800220,  //         mov  x0, #17       SIGCHLD
    0xd2800001,  //         mov  x1, #0
    0xd2801b88,  //         mov  x8, #220      clone
    0xd4000001,  //         svc  #0
    0xb50000e0,  //         cbnz x0, parent
    0xd28a0009,  //         mov  x9, #20480
    0xf1000529,  // child:  subs x9, x9, #1
    0x54ffffe1,  //         b.ne child
    0xd28000e0,  //         mov  x0, #7
    0xd2800ba8,  //         mov  x8, #93       exit
    0xd4000001,  //         svc  #0
    0xd10043ff,  // parent: sub  sp, sp, #16
    0x92800000,  //         mov  x0, #-1
    0x910003e1,  //         mov  x1, sp
    0xd2800002,  //         mov  x2, #0
    0xd2800003,  //         mov  x3, #0
    0xd2802088,  //         mov  x8, #260      wait4
    0xd4000001,  //         svc  #0
    0x394007e1,  //         ldrb w1, [sp, #1]
    0xf100001f,  //         cmp  x0, #0
    0x9a80c020,  //         csel x0, x1, x0, gt
    0xd2800ba8,  //         mov  x8, #93       exit
    0xd4000001,  //         svc  #0
};

TEST(LinuxStarving, ARestoreWithoutRoomLeavesALaneItsChild) {
  FleetOptions options = small_pool(2);
  if (pool_is_of_lanes()) options.pool *= 8;
  LinuxFleet machine(image_of(kParent), options, {});
  Fleet& fleet = machine.fleet();
  const Snapshot beginning = fleet.snapshot();
  fleet.fill(Field::limit, 10'000);
  EXPECT_EQ(machine.run().stops[static_cast<unsigned>(StopReason::budget)], 2u);
  // On a GPU the other lane needs copies of the frames that both have.
  bool refused = false;
  try {
    fleet.restore(beginning, std::vector<uint32_t>{0});
  } catch (const DeviceError&) {
    refused = true;
  }
  EXPECT_EQ(refused, !pool_is_of_lanes());
  fleet.fill(Field::limit, kLimit);
  machine.run();
  for (uint32_t lane : {0u, 1u}) EXPECT_EQ(machine.outcome(lane).exit_status, 7) << lane;
}

/// A snapshot holds the pages of a child that computes, so that the child needs copies to exit. Wherever in its end the pool is spent, the
/// lane goes on once there is room, and each SVC counts once.
TEST(LinuxStarving, AnExitThatASpentPoolInterruptsCountsItsCall) {
  constexpr uint64_t kBehindExit = 0x401000 + 23 * 4;  // of kParent's child
  const uint64_t in_child = 10'000, step = small_pool(2).pool / kPoolPages;
  uint64_t expected = 0;
  unsigned spent_at_exit = 0;
  for (uint64_t pool = 3 * small_pool(2).pool;; pool -= step) {
    FleetOptions options = small_pool(2);
    options.pool = pool;
    LinuxFleet machine(image_of(kParent), options, {});
    Fleet& fleet = machine.fleet();
    const auto starves = [&](uint64_t limit) {
      fleet.fill(Field::limit, limit);
      return machine.run().stops[static_cast<unsigned>(StopReason::out_of_memory)] != 0;
    };
    if (starves(in_child)) break;
    {
      const Snapshot held = fleet.snapshot();
      if (starves(kLimit)) spent_at_exit += fleet.get(Field::pc, 0) == kBehindExit;
    }
    EXPECT_FALSE(starves(kLimit));
    if (expected == 0) expected = fleet.get(Field::instructions, 0);
    for (uint32_t lane : {0u, 1u}) {
      EXPECT_EQ(machine.outcome(lane).exit_status, 7) << lane;
      EXPECT_EQ(fleet.get(Field::instructions, lane), expected) << lane << ", " << pool / step << " pages";
    }
  }
  EXPECT_GE(spent_at_exit, 1u);
}

TEST(LinuxStarving, OnlyProcessesThatCanBeginAgainTakeTurns) {
  LinuxFleet machine(image_of(kGuest), small_pool(1), {});
  LinuxRunOptions options;
  options.as_if_alone = true;
  EXPECT_THROW(machine.run(options), StateError);
}

TEST(LanesAtOnce, AreHalvedAndDoubleWhenSomeHaveEnded) {
  LanesAtOnce lanes;
  EXPECT_GT(lanes.most(), uint64_t{1} << 60);
  lanes.round_ended(1000, true);
  EXPECT_GT(lanes.most(), uint64_t{1} << 60);
  lanes.starved(9);
  EXPECT_EQ(lanes.most(), 4u);
  lanes.starved(4);
  lanes.starved(2);
  EXPECT_EQ(lanes.most(), 1u);
  for (uint64_t most = 1; most < 1024; most *= 2) {
    lanes.round_ended(4 * most - 1, false);
    EXPECT_EQ(lanes.most(), most);
    lanes.round_ended(1, false);
    EXPECT_EQ(lanes.most(), 2 * most);
  }
}

TEST(LanesAtOnce, WaitLongerEachTimeForProcessesThatDoNotEnd) {
  LanesAtOnce lanes;
  for (uint64_t patience = 64; patience < 10'000; patience *= 2) {
    lanes.starved(2);
    for (uint64_t round = 1; round < patience; round++) lanes.round_ended(0, true);
    lanes.round_ended(0, false);
    EXPECT_EQ(lanes.most(), 1u) << patience;
    lanes.round_ended(0, true);
    EXPECT_EQ(lanes.most(), 2u) << patience;
  }
  // Once processes have ended, the patience is what it was.
  lanes.starved(2);
  lanes.round_ended(4, true);
  lanes.starved(2);
  for (uint64_t round = 1; round < 64; round++) lanes.round_ended(0, true);
  EXPECT_EQ(lanes.most(), 1u);
  lanes.round_ended(0, true);
  EXPECT_EQ(lanes.most(), 2u);
}

}  // namespace
}  // namespace myriarm
