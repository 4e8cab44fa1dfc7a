// SPDX-License-Identifier: Apache-2.0
// Queue::digest() says of each input what run() gives for it on the CPU, whoever gives the lanes their inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "linux_caller.h"
#include "myriarm/queue.h"
#include "myriarm/shared_queue.h"

namespace myriarm {
namespace {

using namespace test;

/// Reads up to 64 bytes of standard input to the stack, gets 8 random bytes behind them, adds to a word of a page that the
/// first byte chooses, loops first_byte * 16 times, writes both, and then bytes of MYRIARM_LANE, in two parts, to standard
/// error. Exits with the first byte and the word, which is 1. An 'f' first faults instead, an 'e' never ends, and a
/// 'u' makes a call that is not implemented.
const std::vector<uint32_t> kGuest = {
    0xf9400ff6,  //        ldr  x22, [sp, #24]the first variable of the environment
    0xd10203ff,  //        sub  sp, sp, #128
    0xd2800000,  //        mov  x0, #0
    0x910003e1,  //        mov  x1, sp
    0xd2800802,  //        mov  x2, #64
    0xd28007e8,  //        mov  x8, #63       read
    0xd4000001,  //        svc  #0
    0xaa0003f3,  //        mov  x19, x0
    0x394003f4,  //        ldrb w20, [sp]
    0x8b3363e0,  //        add  x0, sp, x19
    0xd2800101,  //        mov  x1, #8
    0xd2800002,  //        mov  x2, #0
    0xd28022c8,  //        mov  x8, #278      getrandom
    0xd4000001,  //        svc  #0
    0xd2a00835,  //        mov  x21, #0x410000kData
    0x92400289,  //        and  x9, x20, #1
    0x8b0932b5,  //        add  x21, x21, x9, lsl #12
    0xf94002aa,  //        ldr  x10, [x21]
    0x9100054a,  //        add  x10, x10, #1
    0xf90002aa,  //        str  x10, [x21]
    0xd37cee89,  //        lsl  x9, x20, #4
    0x7101d69f,  //        cmp  w20, #'u'
    0x54000061,  //        b.ne again
    0xd2802468,  //        mov  x8, #291      statx: not implemented
    0xd4000001,  //        svc  #0
    0x7101969f,  // again: cmp  w20, #'e'
    0x54000000,  //        b.eq .             (an endless loop)
    0x71019a9f,  //        cmp  w20, #'f'
    0x54000041,  //        b.ne .+8
    0xf9400120,  //        ldr  x0, [x9]
    0xf1000529,  //        subs x9, x9, #1
    0x54ffff4c,  //        b.gt again
    0xd2800020,  //        mov  x0, #1
    0x910003e1,  //        mov  x1, sp
    0x91002262,  //        add  x2, x19, #8
    0xd2800808,  //        mov  x8, #64       write
    0xd4000001,  //        svc  #0
    0xd2800040,  //        mov  x0, #2
    0x910036c1,  //        add  x1, x22, #13
    0xd2800062,  //        mov  x2, #3
    0xd4000001,  //        svc  #0
    0xd2800040,  //        mov  x0, #2
    0xd2800022,  //        mov  x2, #1
    0xd4000001,  //        svc  #0
    0x8b0a0280,  //        add  x0, x20, x10
    0xd2800ba8,  //        mov  x8, #93       exit
    0xd4000001,  //        svc  #0
};

struct Inputs {
  explicit Inputs(const std::vector<std::string>& inputs, uint64_t first = 0) : first_number(first) {
    offsets.push_back(0);
    for (const std::string& input : inputs) {
      bytes.insert(bytes.end(), input.begin(), input.end());
      offsets.push_back(bytes.size());
    }
  }
  uint64_t first_number;
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> offsets;
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

LinuxOptions some_options() {
  LinuxOptions options;
  options.seed = 7;
  options.arguments = {"guest"};
  return options;
}

/// Gives these inputs in batches of `part`.
BatchSource source_of(const Inputs& inputs, uint64_t part, size_t& at, bool as_file = false) {
  return [&inputs, part, &at, as_file](InputBatch& batch, bool) {
    const uint64_t count = std::min<uint64_t>(part, inputs.offsets.size() - 1 - at);
    if (count == 0) return Supply::ended;
    batch = {inputs.first_number + at, inputs.bytes, std::span(inputs.offsets).subspan(at, count + 1), as_file};
    at += count;
    return Supply::input;
  };
}

struct Digests {
  std::vector<InputDigest> all;
  QueueProgress progress;
};
Digests digests_of(InputQueue& queue, const Inputs& inputs, uint64_t part, const QueueOptions& options = {},
                   bool as_file = false) {
  Digests digests;
  size_t at = 0;
  const DigestSink sink = [&](std::span<const InputDigest> some) {
    EXPECT_FALSE(some.empty());
    digests.all.insert(digests.all.end(), some.begin(), some.end());
    return true;
  };
  digests.progress = queue.digest(source_of(inputs, part, at, as_file), sink, options);
  return digests;
}

/// What run() gives on the CPU.
std::vector<InputDigest> expected_of(const Inputs& inputs, LinuxOptions process, const QueueOptions& options = {},
                                     bool as_file = false) {
  FleetOptions fleet = fleet_of(3);
  fleet.device = "cpu";
  Queue queue(image_of(kGuest), fleet, std::move(process));
  std::vector<InputDigest> expected;
  size_t at = 0;
  queue.run(
      [&](ProcessInput& input, uint64_t& number, bool) {
        if (at + 1 == inputs.offsets.size()) return Supply::ended;
        const auto begin = inputs.bytes.begin();
        (as_file ? input.file : input.standard_input)
            .emplace(begin + static_cast<ptrdiff_t>(inputs.offsets[at]),
                     begin + static_cast<ptrdiff_t>(inputs.offsets[at + 1]));
        number = inputs.first_number + at++;
        return Supply::input;
      },
      [&](QueueResult& result) {
        InputDigest digest;
        digest.number = result.number;
        digest.instructions = result.instructions;
        digest.pc = result.pc;
        digest.output_bytes[0] = result.standard_output.size();
        digest.output_bytes[1] = result.standard_error.size();
        digest.output_hash[0] = output_hash(result.standard_output);
        digest.output_hash[1] = output_hash(result.standard_error);
        digest.stop_address = result.outcome.stop.address;
        digest.stop_detail = result.outcome.stop.detail;
        digest.reason = result.outcome.stop.reason;
        digest.fault = result.outcome.stop.fault;
        expected.push_back(digest);
        return true;
      },
      options);
  return expected;
}

void expect_same(std::span<const InputDigest> found, std::span<const InputDigest> expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); i++) {
    const InputDigest &a = found[i], &b = expected[i];
    ASSERT_EQ(a.number, b.number);
    EXPECT_EQ(a.reason, b.reason) << a.number;
    EXPECT_EQ(a.stop_detail, b.stop_detail) << a.number;
    EXPECT_EQ(a.instructions, b.instructions) << a.number;
    EXPECT_EQ(a.pc, b.pc) << a.number;
    for (int stream : {0, 1}) {
      EXPECT_EQ(a.output_bytes[stream], b.output_bytes[stream]) << a.number;
      EXPECT_EQ(a.output_hash[stream], b.output_hash[stream]) << a.number;
    }
    ASSERT_TRUE(a == b) << a.number;
  }
}

TEST(LinuxDigest, IsThatOfTheResult) {
  std::vector<std::string> texts = random_inputs(400, 1);
  texts[5] = "fault";
  texts[6] = texts[399] = "unimplemented";
  texts[7] = "";
  const Inputs inputs(texts);
  const std::vector<InputDigest> expected = expected_of(inputs, some_options());
  EXPECT_EQ(expected[5].reason, StopReason::fault);
  EXPECT_EQ(expected[0].output_bytes[1], 4u);
  for (const uint64_t lanes : {1, 3, 32, 64, 100, 500}) {
    for (const uint64_t part : {1, 37, 1000}) {
      SCOPED_TRACE(std::to_string(lanes) + " lanes, batches of " + std::to_string(part));
      Queue queue(image_of(kGuest), fleet_of(lanes), some_options());
      const Digests digests = digests_of(queue, inputs, part);
      expect_same(digests.all, expected);
      EXPECT_EQ(digests.progress.done, 400u);
      EXPECT_FALSE(digests.progress.stopped_early);
      uint64_t instructions = 0;
      for (const InputDigest& digest : digests.all) instructions += digest.instructions;
      EXPECT_EQ(digests.progress.instructions, instructions);
      const auto calls = queue.unimplemented();
      ASSERT_EQ(calls.count("statx"), 1u);
      EXPECT_EQ(calls.at("statx").lane, 6u);
      EXPECT_EQ(calls.at("statx").count, static_cast<uint64_t>(std::ranges::count_if(
                                             texts, [](const std::string& text) { return text.starts_with('u'); })));
    }
  }
}

TEST(LinuxDigest, NumbersNeedNotBeginAtZero) {
  const Inputs inputs(random_inputs(70, 3), 9'999'999'000);
  Queue queue(image_of(kGuest), fleet_of(40), some_options());
  expect_same(digests_of(queue, inputs, 50).all, expected_of(inputs, some_options()));
}

TEST(LinuxDigest, AnInputThatNeverEndsEndsAtItsLimit) {
  std::vector<std::string> texts(300, "a");
  for (const size_t i : {3, 40, 41, 290}) texts[i] = "endless";
  const Inputs inputs(texts);
  QueueOptions options;
  options.instructions = 100'000;
  Queue queue(image_of(kGuest), fleet_of(64), some_options());
  const Digests digests = digests_of(queue, inputs, 100, options);
  expect_same(digests.all, expected_of(inputs, some_options(), options));
  EXPECT_EQ(digests.all[40].reason, StopReason::budget);
  EXPECT_EQ(digests.all[40].instructions, 100'000u);
}

TEST(LinuxDigest, WithoutOrderTheSameDigestsCome) {
  const Inputs inputs(random_inputs(500, 4));
  QueueOptions options;
  options.ordered = false;
  Queue queue(image_of(kGuest), fleet_of(96), some_options());
  std::vector<InputDigest> found = digests_of(queue, inputs, 64, options).all;
  std::ranges::sort(found, {}, &InputDigest::number);
  expect_same(found, expected_of(inputs, some_options()));
}

TEST(LinuxDigest, AQueueCanDigestAndRunInTurns) {
  const Inputs inputs(random_inputs(100, 5));
  const std::vector<InputDigest> expected = expected_of(inputs, some_options());
  Queue queue(image_of(kGuest), fleet_of(40), some_options());
  for (int round = 0; round < 3; round++) {
    expect_same(digests_of(queue, inputs, 30).all, expected);
    size_t at = 0, results = 0;
    queue.run(
        [&](ProcessInput& input, uint64_t&, bool) {
          if (at == 50) return Supply::ended;
          input.standard_input.emplace(inputs.bytes.begin() + static_cast<ptrdiff_t>(inputs.offsets[at]),
                                       inputs.bytes.begin() + static_cast<ptrdiff_t>(inputs.offsets[at + 1]));
          at++;
          return Supply::input;
        },
        [&](QueueResult& result) {
          EXPECT_EQ(result.instructions, expected[result.number].instructions);
          EXPECT_EQ(output_hash(result.standard_output), expected[result.number].output_hash[0]);
          EXPECT_EQ(output_hash(result.standard_error), expected[result.number].output_hash[1]);
          results++;
          return true;
        });
    EXPECT_EQ(results, 50u);
  }
}

TEST(LinuxDigest, TheSinkMayEndTheRun) {
  const Inputs inputs(random_inputs(2000, 6));
  const std::vector<InputDigest> expected = expected_of(inputs, some_options());
  Queue queue(image_of(kGuest), fleet_of(32), some_options());
  size_t at = 0;
  std::vector<InputDigest> found;
  const QueueProgress progress = queue.digest(source_of(inputs, 32, at), [&](std::span<const InputDigest> digests) {
    found.insert(found.end(), digests.begin(), digests.end());
    return false;
  });
  EXPECT_TRUE(progress.stopped_early);
  ASSERT_LT(found.size(), 2000u);
  expect_same(found, std::span(expected).first(found.size()));
  expect_same(digests_of(queue, inputs, 500).all, expected);  // the queue can go on
}

TEST(LinuxDigest, ASourceMayHaveNoneForNow) {
  const Inputs inputs(random_inputs(200, 8));
  Queue queue(image_of(kGuest), fleet_of(64), some_options());
  size_t at = 0;
  unsigned calls = 0;
  const BatchSource from = source_of(inputs, 20, at);
  std::vector<InputDigest> found;
  queue.digest(
      [&](InputBatch& batch, bool idle) { return calls++ % 3 == 0 && !idle ? Supply::later : from(batch, idle); },
      [&](std::span<const InputDigest> digests) {
        found.insert(found.end(), digests.begin(), digests.end());
        return true;
      });
  expect_same(found, expected_of(inputs, some_options()));
}

TEST(LinuxDigest, ABoundOnHeldDigestsLosesNone) {
  std::vector<std::string> texts(3000, "a");
  texts[0] = std::string(1, '\xff');  // some 4,000 instructions more than the others
  const Inputs inputs(texts);
  QueueOptions options;
  options.held_bytes = sizeof(InputDigest);
  Queue queue(image_of(kGuest), fleet_of(32), some_options());
  expect_same(digests_of(queue, inputs, 16, options).all, expected_of(inputs, some_options()));
}

TEST(LinuxDigest, WhatIsHeldBackIsBounded) {
  std::vector<std::string> texts(5000, "a");
  texts[0] = "endless";
  const Inputs inputs(texts);
  constexpr uint64_t kLanes = 64, kPart = 16, kHeld = 100;
  for (const bool bounded : {true, false}) {
    QueueOptions options;
    options.instructions = 5'000'000;
    if (bounded) options.held_bytes = kHeld * sizeof(InputDigest);
    Queue queue(image_of(kGuest), fleet_of(kLanes), some_options());
    size_t at = 0, at_first = 0;
    queue.digest(
        source_of(inputs, kPart, at),
        [&](std::span<const InputDigest>) {
          if (at_first == 0) at_first = at;
          return true;
        },
        options);
    EXPECT_EQ(at, texts.size());
    // Those held when the last ones were taken, those in lanes, and those that a device has beside them.
    const uint64_t most = kHeld + kLanes + (2 * kLanes + 2 * kPart) + kPart;
    if (bounded) EXPECT_LE(at_first, most);
    else EXPECT_GT(at_first, most) << "without a bound more are taken: the test sees the difference";
  }
}

TEST(LinuxDigest, ManySegmentsWithProcessesThatRunLong) {
  std::vector<std::string> texts = random_inputs(120, 14);
  for (size_t i = 0; i < 120; i += 3) texts[i] = "endless" + texts[i];
  const Inputs inputs(texts);
  QueueOptions options;
  options.instructions = 1'000'000;
  Queue queue(image_of(kGuest), fleet_of(32 * 40), some_options());
  expect_same(digests_of(queue, inputs, 1, options).all, expected_of(inputs, some_options(), options));
}

TEST(LinuxDigest, InputsOfVerySmallAndLargeSizes) {
  std::mt19937_64 random(15);
  std::vector<std::string> texts(300);
  for (std::string& text : texts) {
    text.assign(random() % 4 == 0 ? random() % 100'000 : random() % 5, static_cast<char>('g' + random() % 10));
  }
  const Inputs inputs(texts, 1000);
  Queue queue(image_of(kGuest), fleet_of(64), some_options());
  expect_same(digests_of(queue, inputs, 130).all, expected_of(inputs, some_options()));
}

TEST(LinuxDigest, DigestsThatAreReadyAreHandedOverBeforeAnException) {
  std::vector<std::string> texts(100, "a");
  texts[63] = "endless";
  const Inputs inputs(texts);
  QueueOptions options;
  options.instructions = 1'000'000;
  const std::vector<InputDigest> expected = expected_of(inputs, some_options(), options);
  Queue queue(image_of(kGuest), fleet_of(64), some_options());
  size_t at = 0;
  const BatchSource from = source_of(inputs, 100, at);
  std::vector<InputDigest> found;
  EXPECT_THROW(queue.digest(
                   [&](InputBatch& batch, bool idle) {
                     if (at != 0) throw std::runtime_error("enough");
                     return from(batch, idle);
                   },
                   [&](std::span<const InputDigest> digests) {
                     found.insert(found.end(), digests.begin(), digests.end());
                     return true;
                   },
                   options),
               std::runtime_error);
  expect_same(found, expected);
}

TEST(LinuxDigest, CancelEndsTheRun) {
  const std::vector<std::string> texts(100, "endless");
  const Inputs inputs(texts);
  Queue queue(image_of(kGuest), fleet_of(50), some_options());
  queue.cancel();
  const Digests none = digests_of(queue, inputs, 10);
  EXPECT_TRUE(none.progress.stopped_early);
  EXPECT_TRUE(none.all.empty());
  const Inputs more(random_inputs(100, 9));
  expect_same(digests_of(queue, more, 30).all, expected_of(more, some_options()));
}

TEST(LinuxDigest, AFewPagesAreEnough) {
  FleetOptions fleet = fleet_of(96);
  fleet.pool = fleet.device == "cpu" ? 96 * 4 * kPageBytes : 3 * 4 * 33 * kPageBytes;
  const Inputs inputs(random_inputs(600, 10));
  Queue queue(image_of(kGuest), fleet, some_options());
  expect_same(digests_of(queue, inputs, 200).all, expected_of(inputs, some_options()));
}

TEST(LinuxDigest, ProcessesMayBeginAfterACommonPart) {
  LinuxOptions process = some_options();
  process.fork_after.kind = ForkPoint::Kind::read;
  const Inputs inputs(random_inputs(200, 11));
  Queue queue(image_of(kGuest), fleet_of(64), process);
  const std::vector<InputDigest> expected = expected_of(inputs, some_options());
  const Digests digests = digests_of(queue, inputs, 70);
  expect_same(digests.all, expected);
}

TEST(LinuxDigest, MistakesOfASourceEndTheRun) {
  const Inputs inputs({"abc", "def"});
  const auto refuses = [&](InputBatch given, const std::string& words) {
    Queue queue(image_of(kGuest), fleet_of(32), some_options());
    try {
      queue.digest(
          [&](InputBatch& batch, bool) {
            batch = given;
            return Supply::input;
          },
          [](std::span<const InputDigest>) { return true; });
      ADD_FAILURE() << words;
    } catch (const ArgumentError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  const std::vector<uint64_t> falling = {3, 0}, beyond = {0, 7}, one = {0};
  refuses({0, inputs.bytes, falling}, "must rise");
  refuses({0, inputs.bytes, beyond}, "lie within the bytes");
  refuses({0, inputs.bytes, one}, "has no input");
  refuses({0, inputs.bytes, inputs.offsets, false, one}, "2 inputs has 1 numbers");
  refuses({9'999'999'999, inputs.bytes, inputs.offsets}, "ten digits");
  refuses({0, inputs.bytes, inputs.offsets}, "must rise");  // the second time
}

TEST(LinuxDigest, AnExceptionEndsTheRunAndTheQueueGoesOn) {
  const Inputs inputs(random_inputs(400, 13));
  const std::vector<InputDigest> expected = expected_of(inputs, some_options());
  Queue queue(image_of(kGuest), fleet_of(64), some_options());
  for (const bool in_sink : {true, false}) {
    size_t at = 0, calls = 0;
    const BatchSource from = source_of(inputs, 100, at);
    const BatchSource source = [&](InputBatch& batch, bool idle) {
      if (!in_sink && ++calls == 3) throw std::runtime_error("enough");
      return from(batch, idle);
    };
    const DigestSink sink = [&](std::span<const InputDigest>) {
      if (in_sink) throw std::runtime_error("enough");
      return true;
    };
    EXPECT_THROW(queue.digest(source, sink), std::runtime_error);
    expect_same(digests_of(queue, inputs, 100).all, expected);
  }
}

TEST(LinuxDigest, WhatASourceGaveBeforeItHasThrownHasItsDigest) {
  const Inputs inputs(random_inputs(100, 14));
  const std::vector<InputDigest> expected = expected_of(inputs, some_options());
  for (uint64_t lanes : {2, 64, 128}) {
    const std::vector<FleetOptions> fleets(2, fleet_of(lanes));
    Queue one(image_of(kGuest), fleets[0], some_options());
    SharedQueue two(image_of(kGuest), fleets, some_options());
    for (InputQueue* queue : std::initializer_list<InputQueue*>{&one, &two}) {
      std::vector<InputDigest> found;
      size_t at = 0;
      const BatchSource from = source_of(inputs, 40, at);
      const BatchSource source = [&](InputBatch& batch, bool idle) {
        if (at == 100) throw std::runtime_error("no more");
        return from(batch, idle);
      };
      const DigestSink sink = [&](std::span<const InputDigest> digests) {
        found.insert(found.end(), digests.begin(), digests.end());
        return true;
      };
      EXPECT_THROW(queue->digest(source, sink, {}), std::runtime_error);
      expect_same(found, expected);
    }
  }
}

TEST(LinuxDigest, ASharedQueueGivesTheSame) {
  const Inputs inputs(random_inputs(300, 12));
  const FleetOptions fleets[] = {fleet_of(32), fleet_of(5)};
  SharedQueue queue(image_of(kGuest), fleets, some_options());
  expect_same(digests_of(queue, inputs, 100).all, expected_of(inputs, some_options()));
}

}  // namespace
}  // namespace myriarm
