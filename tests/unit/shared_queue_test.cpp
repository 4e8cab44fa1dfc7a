// SPDX-License-Identifier: Apache-2.0
// Several devices share a queue: the results are those of one, each input has its result once and in order, whichever
// devices fail, and memory is bounded. Most devices here are made up, so that they can fail at any point.
#include "myriarm/shared_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "echo_guest.h"
#include "linux_caller.h"
#include "myriarm/likeness.h"
#include "until.h"

namespace myriarm {
namespace {

using namespace test;

constexpr uint64_t kOutput = 1000;

QueueResult result_of(uint64_t number, const ProcessInput& input) {
  QueueResult result;
  result.number = number;
  result.outcome.exit_status = number % 10 == 3 ? 1 : 0;
  result.instructions = 7;
  result.standard_output = *input.standard_input;
  result.standard_output.resize(kOutput, '.');
  return result;
}

/// Works inputs off in random order without a fleet, and throws after some results.
class MadeUpQueue final : public InputQueue {
 public:
  struct Plan {
    uint64_t lanes = 1;
    uint64_t results = ~uint64_t{0};  ///< after so many it fails
    uint64_t seed = 0;
    std::function<void(uint64_t number)> before_result = {};
  };
  explicit MadeUpQueue(Plan plan) : plan_(std::move(plan)), random_(plan_.seed) {}

  QueueProgress run(const QueueSource& source, const QueueSink& sink, const QueueOptions& options) override {
    EXPECT_FALSE(options.ordered);
    std::vector<std::pair<uint64_t, ProcessInput>> lanes;
    QueueProgress progress;
    bool more = true;
    while (!cancelled_) {
      while (more && lanes.size() < plan_.lanes) {
        ProcessInput input;
        uint64_t number = 0;
        const Supply supply = source(input, number, lanes.empty());
        more = supply != Supply::ended;
        if (supply != Supply::input) break;
        if (text(*input.standard_input) == "mistake") mistake_ = number;
        else lanes.emplace_back(number, std::move(input));
        more = more && !mistake_;
      }
      if (lanes.empty() && mistake_) throw ArgumentError("this input does not fit; make it smaller");
      if (lanes.empty() && !more) return progress;
      if (lanes.empty()) continue;
      if (plan_.results-- == 0) throw DeviceError("it was taken away");
      const size_t chosen = random_() % lanes.size();
      if (plan_.before_result) plan_.before_result(lanes[chosen].first);
      QueueResult result = result_of(lanes[chosen].first, lanes[chosen].second);
      lanes.erase(lanes.begin() + static_cast<ptrdiff_t>(chosen));
      progress.instructions += 7;
      if (!sink(result)) return progress;
    }
    return progress;
  }
  void cancel() override { cancelled_ = true; }
  std::map<std::string, UnimplementedCall> unimplemented() const override { return {{"made_up", {1, 0, 0, "()"}}}; }

 private:
  Plan plan_;
  std::mt19937_64 random_;
  std::atomic<bool> cancelled_ = false;
  std::optional<uint64_t> mistake_;
};

QueueDevice made_up(const std::string& name, MadeUpQueue::Plan plan) {
  return {name, plan.lanes, [plan] { return std::make_unique<MadeUpQueue>(plan); }};
}

ProcessInput input_of(const std::string& text) {
  ProcessInput input;
  input.standard_input = bytes_of(text);
  return input;
}

QueueSource numbers_up_to(uint64_t count, uint64_t& taken) {
  return [count, &taken](ProcessInput& input, uint64_t& number, bool) {
    if (taken == count) return Supply::ended;
    EXPECT_EQ(number, taken);
    input = input_of("input " + std::to_string(taken++));
    return Supply::input;
  };
}

void expect_made_up(const QueueResult& found) {
  const QueueResult expected = result_of(found.number, input_of("input " + std::to_string(found.number)));
  EXPECT_EQ(found.standard_output, expected.standard_output) << found.number;
  EXPECT_EQ(found.outcome.exit_status, expected.outcome.exit_status);
}

/// The numbers of the results, as the sink gets them.
std::vector<uint64_t> run_numbers(SharedQueue& queue, uint64_t count, const QueueOptions& options = {},
                                  QueueProgress* end = nullptr) {
  std::vector<uint64_t> numbers;
  uint64_t taken = 0;
  const QueueProgress progress = queue.run(
      numbers_up_to(count, taken),
      [&](QueueResult& result) {
        expect_made_up(result);
        numbers.push_back(result.number);
        return true;
      },
      options);
  if (end) *end = progress;
  return numbers;
}

std::vector<uint64_t> first_numbers(uint64_t count) {
  std::vector<uint64_t> numbers(count);
  for (uint64_t i = 0; i < count; i++) numbers[i] = i;
  return numbers;
}

using Line = std::tuple<uint64_t, int, uint64_t, uint64_t, std::string>;

std::vector<Line> work_off(InputQueue& queue, const std::vector<std::string>& inputs,
                           const QueueOptions& options = {}) {
  std::vector<Line> lines;
  size_t at = 0;
  queue.run(
      [&](ProcessInput& input, uint64_t&, bool) {
        if (at == inputs.size()) return Supply::ended;
        input = input_of(inputs[at++]);
        return Supply::input;
      },
      [&](QueueResult& result) {
        lines.emplace_back(result.number, result.outcome.exit_status, result.instructions, result.pc,
                           text(result.standard_output));
        return true;
      },
      options);
  return lines;
}

std::vector<std::string> random_inputs(size_t count) {
  std::mt19937_64 random(9);
  std::vector<std::string> inputs(count);
  for (std::string& input : inputs) {
    input.resize(random() % 60);
    for (char& c : input) c = static_cast<char>(random());
  }
  return inputs;
}

TEST(SharedQueue, TheResultsAreThoseOfOneDevice) {
  const std::vector<std::string> inputs = random_inputs(500);
  LinuxOptions process;
  process.seed = 5;
  Queue one(image_of(kEcho), fleet_of(16), process);
  const std::vector<Line> expected = work_off(one, inputs);
  ASSERT_EQ(expected.size(), inputs.size());
  const std::vector<FleetOptions> fleets = {fleet_of(7), fleet_of(1), fleet_of(64)};
  SharedQueue queue(image_of(kEcho), fleets, process);
  EXPECT_EQ(work_off(queue, inputs), expected);
  EXPECT_EQ(work_off(queue, inputs), expected) << "it can run again";
  QueueOptions unordered;
  unordered.ordered = false;
  std::vector<Line> lines = work_off(queue, inputs, unordered);
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, expected);
  EXPECT_TRUE(queue.failures().empty());
}

TEST(SharedQueue, WithoutOrderInputsCanBeGrouped) {
  uint64_t failures = 0;
  for (uint64_t seed = 0; seed < 30; seed++) {
    std::atomic<uint64_t> results = 0;
    SharedQueue queue(
        {made_up("a", {3, 20 + seed, seed, [&](uint64_t) { results++; }}),
         made_up("b", {5, ~uint64_t{0}, seed + 1, [&](uint64_t) { until([&] { return results == 20 + seed; }); }})});
    uint64_t taken = 0;
    const QueueSource in_no_order = [&](ProcessInput& input, uint64_t& number, bool) {
      if (taken == 100) return Supply::ended;
      number = taken++ * 37 % 100;
      input = input_of("input " + std::to_string(number));
      return Supply::input;
    };
    const QueueSource source = grouped(in_no_order, {.inputs = 40});
    std::vector<uint64_t> numbers, given;
    const auto note = [&](ProcessInput& input, uint64_t& number, bool idle) {
      const Supply supply = source(input, number, idle);
      if (supply == Supply::input) given.push_back(number);
      return supply;
    };
    const auto take = [&](QueueResult& result) {
      expect_made_up(result);
      numbers.push_back(result.number);
      return true;
    };
    QueueOptions options;
    options.ordered = false;
    queue.run(note, take, options);
    for (size_t i = 1; i < 40; i++) EXPECT_LT(given[i - 1], given[i]) << "they are alike in a window";
    EXPECT_FALSE(std::ranges::is_sorted(given));
    std::ranges::sort(numbers);
    EXPECT_EQ(numbers, first_numbers(100));
    failures += queue.failures().size();
  }
  EXPECT_GT(failures, 10u);
  SharedQueue queue({made_up("a", {3})});
  uint64_t taken = 100;
  const QueueSource falling = [&](ProcessInput& input, uint64_t& number, bool) {
    if (taken == 0) return Supply::ended;
    number = --taken;
    input = input_of("input");
    return Supply::input;
  };
  EXPECT_THROW(queue.run(falling, [](QueueResult&) { return true; }), ArgumentError) << "in order";
}

TEST(SharedQueue, NoTwoInputsHaveANumber) {
  std::atomic<uint64_t> taken = 0;
  // A number is free again when the input that had it has its result: the first has none before the second is given.
  const auto wait_for_second = [&](uint64_t) { until([&] { return taken >= 2; }); };
  SharedQueue queue({made_up("a", {.lanes = 50, .before_result = wait_for_second})});
  QueueOptions options;
  options.ordered = false;
  const auto source = [&](ProcessInput& input, uint64_t& number, bool) {
    input = input_of("input 4");
    number = 4;
    return taken++ == 2 ? Supply::ended : Supply::input;
  };
  uint64_t results = 0;
  const auto take = [&](QueueResult&) { return ++results != 0; };
  EXPECT_THROW(queue.run(source, take, options), ArgumentError);
  EXPECT_EQ(results, 1u) << "that of the first";
}

TEST(SharedQueue, EveryProcessMayWriteAsMuch) {
  // Writes 64 KiB, then a byte, and exits with the low byte of what the second write returned.
  const std::vector<uint32_t> writes = {
      0xd14043e1,  // sub  x1, sp, #64, lsl #10
      0xd2800020,  // mov  x0, #1
      0xd2a00022,  // mov  x2, #65536
      0xd2800808,  // mov  x8, #64          write
      0xd4000001,  // svc  #0
      0xd2800020,  // mov  x0, #1
      0xd2800022,  // mov  x2, #1
      0xd4000001,  // svc  #0
      0xd2800ba8,  // mov  x8, #93          exit
      0xd4000001,  // svc  #0
  };
  constexpr int kNoSpace = -28 & 0xff;
  LinuxOptions process;
  process.output_limit = 4 << 16;  // of which the one lane of a fleet would have all
  const std::vector<FleetOptions> fleets = {fleet_of(1), fleet_of(4)};
  SharedQueue queue(image_of(writes), fleets, process);
  for (const Line& line : work_off(queue, std::vector<std::string>(200))) EXPECT_EQ(std::get<1>(line), kNoSpace);
}

TEST(SharedQueue, EachInputHasItsResultOnceWhicheverDevicesFail) {
  for (uint64_t seed = 0; seed < 200; seed++) {
    std::mt19937_64 random(seed);
    SharedQueue queue({made_up("a", {1 + random() % 5, random() % 80, random()}),
                       made_up("b", {1 + random() % 5, random() % 80, random()}),
                       made_up("c", {1 + random() % 5, ~uint64_t{0}, random()})});
    QueueOptions options;
    options.ordered = seed % 3 != 0;
    options.held_bytes = random() % 3 == 0 ? 0 : random() % (20 * kOutput);
    QueueProgress end;
    std::vector<uint64_t> numbers = run_numbers(queue, 150, options, &end);
    if (!options.ordered) std::sort(numbers.begin(), numbers.end());
    ASSERT_EQ(numbers, first_numbers(150)) << seed;
    EXPECT_EQ(end.done, 150u);
    EXPECT_EQ(end.failed, 15u);
    EXPECT_EQ(end.running, 0u);
    EXPECT_EQ(end.instructions, 150u * 7);
    EXPECT_FALSE(end.stopped_early);
    for (const DeviceFailure& failure : queue.failures()) {
      EXPECT_NE(failure.name, "c");
      EXPECT_EQ(failure.reason, "it was taken away");
    }
  }
}

TEST(SharedQueue, AllDevicesFail) {
  for (uint64_t seed = 0; seed < 50; seed++) {
    std::mt19937_64 random(seed);
    SharedQueue queue({made_up("first", {1 + random() % 5, random() % 40, random()}),
                       made_up("second", {1 + random() % 5, random() % 40, random()})});
    std::vector<std::string> told;
    queue.on_failure([&](const DeviceFailure& failure) { told.push_back(failure.name); });
    std::vector<uint64_t> numbers;
    uint64_t taken = 0;
    try {
      queue.run(numbers_up_to(1000, taken), [&](QueueResult& result) {
        expect_made_up(result);
        numbers.push_back(result.number);
        return true;
      });
      FAIL() << "no device has done all";
    } catch (const DeviceError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("first failed (it was taken away)"), message.npos) << message;
      EXPECT_NE(message.find("second failed (it was taken away)"), message.npos) << message;
    }
    EXPECT_EQ(numbers, first_numbers(numbers.size())) << "what is done is kept, in order";
    EXPECT_EQ(queue.failures().size(), 2u);
    std::sort(told.begin(), told.end());
    EXPECT_EQ(told, (std::vector<std::string>{"first", "second"}));
    EXPECT_EQ(queue.unimplemented().at("made_up").count, 2u) << "of queues that are no more, too";
  }
}

TEST(SharedQueue, ADeviceThatCannotBeMadeIsTriedAgainInTheNextRun) {
  std::atomic<int> tries = 0;
  QueueDevice missing = {"missing", 4, [&tries]() -> std::unique_ptr<InputQueue> {
                           if (tries++ == 0) throw DeviceError("there is no such device");
                           return std::make_unique<MadeUpQueue>(MadeUpQueue::Plan{4});
                         }};
  // The other one does not do everything before the failure is known.
  std::atomic<bool> told = false;
  MadeUpQueue::Plan good{3};
  good.before_result = [&told](uint64_t) { until([&] { return told.load(); }); };
  SharedQueue queue({missing, made_up("good", good)});
  queue.on_failure([&told](const DeviceFailure&) { told = true; });
  EXPECT_EQ(run_numbers(queue, 100), first_numbers(100));
  ASSERT_EQ(queue.failures().size(), 1u);
  EXPECT_EQ(queue.failures()[0].name, "missing");
  EXPECT_EQ(queue.failures()[0].reason, "there is no such device");
  EXPECT_EQ(run_numbers(queue, 100), first_numbers(100));
  EXPECT_TRUE(queue.failures().empty());
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(run_numbers(queue, 100), first_numbers(100));
  EXPECT_EQ(tries, 2) << "a device is kept for the next run";
}

TEST(SharedQueue, AMistakeOfTheCallerEndsTheRun) {
  QueueDevice wrong = {"wrong", 1,
                       []() -> std::unique_ptr<InputQueue> { throw ArgumentError("the program does not fit"); }};
  SharedQueue queue({wrong, made_up("good", {1})});
  const auto endless = [](ProcessInput& input, uint64_t&, bool) {
    input = input_of("endless");
    return Supply::input;
  };
  EXPECT_THROW(queue.run(endless, [](QueueResult&) { return true; }), ArgumentError);
  EXPECT_THROW(SharedQueue(std::vector<QueueDevice>{}), ArgumentError);
  EXPECT_THROW(SharedQueue(image_of(kEcho), {}, {}), ArgumentError);
  LinuxOptions traced;
  traced.on_call = [](uint32_t, std::string_view) {};
  const std::vector<FleetOptions> fleets(2, fleet_of(1));
  EXPECT_THROW(SharedQueue(image_of(kEcho), fleets, traced), ArgumentError);
  std::vector<FleetOptions> unknown(1, fleet_of(1));
  unknown[0].device = "abacus";
  EXPECT_THROW(SharedQueue(image_of(kEcho), unknown, {}), ArgumentError);
}

TEST(SharedQueue, AnInputThatCannotRunEndsTheRunAfterThoseBeforeIt) {
  for (uint64_t seed = 0; seed < 50; seed++) {
    SharedQueue queue({made_up("a", {3, ~uint64_t{0}, seed}), made_up("b", {5, ~uint64_t{0}, seed + 1})});
    uint64_t taken = 0;
    std::vector<uint64_t> numbers;
    EXPECT_THROW(queue.run(
                     [&](ProcessInput& input, uint64_t&, bool) {
                       input = input_of(taken % 70 == 60 ? "mistake" : "input " + std::to_string(taken));
                       taken++;
                       return Supply::input;
                     },
                     [&](QueueResult& result) {
                       expect_made_up(result);
                       numbers.push_back(result.number);
                       return true;
                     }),
                 ArgumentError);
    EXPECT_EQ(numbers, first_numbers(60));
    EXPECT_LE(taken, 60u + 200);
    EXPECT_TRUE(queue.failures().empty());
  }
}

TEST(SharedQueue, ADeviceThatStopsWithoutResultsHasFailed) {
  class Idler final : public InputQueue {
   public:
    QueueProgress run(const QueueSource& source, const QueueSink&, const QueueOptions&) override {
      ProcessInput input;
      uint64_t number;
      (void)source(input, number, true);
      return {};
    }
    void cancel() override {}
    std::map<std::string, UnimplementedCall> unimplemented() const override { return {}; }
  };
  SharedQueue queue({{"idler", 1, [] { return std::make_unique<Idler>(); }}, made_up("good", {2})});
  EXPECT_EQ(run_numbers(queue, 30), first_numbers(30));
  SharedQueue idlers({{"idler", 1, [] { return std::make_unique<Idler>(); }}});
  EXPECT_THROW(run_numbers(idlers, 30), DeviceError);
}

TEST(SharedQueue, WhatASlowDeviceKeepsWaitingIsBounded) {
  constexpr uint64_t kHeld = 10 * kOutput;
  std::atomic<uint64_t> others = 0;
  const uint64_t most = kHeld / (sizeof(QueueResult) + kOutput) + 1;
  // The slow device gives no result before the other one has been stopped by the bound.
  std::atomic<bool> slow_has_begun = false;
  MadeUpQueue::Plan slow{1}, fast{1};
  slow.before_result = [&](uint64_t number) {
    slow_has_begun = true;
    if (number == 0) until([&] { return others == most; });
  };
  fast.before_result = [&](uint64_t) {
    until([&] { return slow_has_begun.load(); });
    others++;
  };
  // The slow one takes the first input: the fast one cannot be made before.
  QueueDevice late = {"fast", 1, [&, fast]() -> std::unique_ptr<InputQueue> {
                        until([&] { return slow_has_begun.load(); });
                        return std::make_unique<MadeUpQueue>(fast);
                      }};
  SharedQueue queue({made_up("slow", slow), late});
  QueueOptions options;
  options.held_bytes = kHeld;
  uint64_t taken = 0, count = 0;
  queue.run(
      numbers_up_to(10'000, taken),
      [&](QueueResult& result) {
        if (result.number == 0) {
          EXPECT_EQ(others, most);
          EXPECT_LE(taken, 1 + most + 2) << "what is with devices, held, and ahead";
        }
        EXPECT_EQ(result.number, count++);
        return true;
      },
      options);
  EXPECT_EQ(count, 10'000u);
}

TEST(SharedQueue, TheSinkTheSourceAndCancelCanEndIt) {
  SharedQueue queue({made_up("a", {3}), made_up("b", {2})});
  uint64_t taken = 0, count = 0;
  const QueueProgress end = queue.run(numbers_up_to(1'000'000, taken), [&](QueueResult&) { return ++count < 100; });
  EXPECT_EQ(count, 100u);
  EXPECT_TRUE(end.stopped_early);
  struct Mine {};
  EXPECT_THROW(queue.run(numbers_up_to(100, taken = 0), [](QueueResult&) -> bool { throw Mine(); }), Mine);
  EXPECT_THROW(
      queue.run([](ProcessInput&, uint64_t&, bool) -> Supply { throw Mine(); }, [](QueueResult&) { return true; }),
      Mine);
  EXPECT_THROW(queue.run(
                   [](ProcessInput&, uint64_t& number, bool) {
                     number = 10'000'000'000;
                     return Supply::input;
                   },
                   [](QueueResult&) { return true; }),
               ArgumentError);
  EXPECT_EQ(run_numbers(queue, 50), first_numbers(50)) << "it can still be used";
  queue.cancel();
  EXPECT_TRUE(queue.run(numbers_up_to(100, taken = 0), [](QueueResult&) { return true; }).stopped_early);
  std::thread other;
  uint64_t next = 0;
  taken = 0;
  EXPECT_TRUE(queue
                  .run(numbers_up_to(~uint64_t{0}, taken),
                       [&](QueueResult& result) {
                         EXPECT_EQ(result.number, next++);
                         if (next == 10) other = std::thread([&] { queue.cancel(); });
                         return true;
                       })
                  .stopped_early);
  other.join();
  EXPECT_EQ(run_numbers(queue, 50), first_numbers(50));
}

TEST(SharedQueue, WhatASourceGaveBeforeItHasThrownHasItsResult) {
  struct Mine {};
  for (uint64_t lanes : {1, 32, 64}) {
    SharedQueue queue({made_up("a", {lanes}), made_up("b", {lanes})});
    uint64_t taken = 0, results = 0;
    const QueueSource numbers = numbers_up_to(1000, taken);
    EXPECT_THROW(queue.run(
                     [&](ProcessInput& input, uint64_t& number, bool idle) {
                       if (taken == 100) throw Mine();
                       return numbers(input, number, idle);
                     },
                     [&](QueueResult& result) {
                       EXPECT_EQ(result.number, results++);
                       return true;
                     }),
                 Mine);
    EXPECT_EQ(results, 100u) << lanes;
  }
}

TEST(SharedQueue, CancelEndsProcessesThatNeverEnd) {
  const std::vector<FleetOptions> fleets(2, fleet_of(2));
  SharedQueue queue(image_of({kLoopForEver}), fleets, {});
  QueueOptions options;
  options.progress = [&](const QueueProgress& progress) {
    if (progress.running == 4) queue.cancel();
  };
  const QueueProgress end = queue.run([](ProcessInput&, uint64_t&, bool) { return Supply::input; },
                                      [](QueueResult&) { return true; }, options);
  EXPECT_TRUE(end.stopped_early);
  EXPECT_EQ(end.done, 0u);
}

TEST(SharedQueue, ResultsCanBecomeInputs) {
  SharedQueue queue({made_up("a", {2}), made_up("b", {2})});
  uint64_t given = 0, results = 0;
  queue.run(
      [&](ProcessInput& input, uint64_t&, bool) {
        if (given == 40) return Supply::ended;
        if (given > results) return Supply::later;
        input = input_of("input " + std::to_string(given++));
        return Supply::input;
      },
      [&](QueueResult& result) {
        EXPECT_EQ(result.number, results++);
        return true;
      });
  EXPECT_EQ(results, 40u);
}

TEST(SharedQueue, ADeviceOfTheLibraryTakesOverFromOneThatFails) {
  const std::vector<std::string> inputs = random_inputs(200);
  Queue one(image_of(kEcho), fleet_of(16), {});
  const std::vector<Line> expected = work_off(one, inputs);
  class Breaks final : public InputQueue {
   public:
    QueueProgress run(const QueueSource& source, const QueueSink&, const QueueOptions&) override {
      ProcessInput input;
      uint64_t number;
      for (int i = 0; i < 20 && source(input, number, i == 0) == Supply::input;) i++;
      throw DeviceError("the device has fallen off the bus");
    }
    void cancel() override {}
    std::map<std::string, UnimplementedCall> unimplemented() const override { throw DeviceError("it is gone"); }
  };
  SharedQueue queue({{"breaks", 64, [] { return std::make_unique<Breaks>(); }},
                     {"cpu", 8, [] { return std::make_unique<Queue>(image_of(kEcho), fleet_of(8), LinuxOptions()); }}});
  EXPECT_EQ(work_off(queue, inputs), expected);
}

TEST(SharedQueue, DevicesByName) {
  const std::vector<Device> twice = queue_devices("cpu,cpu");
  ASSERT_EQ(twice.size(), 2u);
  EXPECT_EQ(twice[1].id, "cpu");
  const std::vector<Device> all = queue_devices("all");
  ASSERT_EQ(all.size(), devices().size());
  EXPECT_EQ(all[0].id, "cpu");
  for (const char* wrong : {"", "cpu,", ",cpu", "cpu,abacus", "all,cpu"}) {
    EXPECT_THROW(queue_devices(wrong), ArgumentError) << wrong;
  }
}

}  // namespace
}  // namespace myriarm
