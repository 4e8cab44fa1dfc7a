// SPDX-License-Identifier: Apache-2.0
// The order of inputs that resemble each other, and the windows in which sources give them. tests/grouped has what happens
// without memory.
#include "myriarm/likeness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "linux/likeness.h"

namespace myriarm {
namespace {

using Texts = std::vector<std::string>;

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// The places of inputs with these numbers; by default 0, 1, 2, ...
std::vector<uint64_t> order_of(const Texts& texts, std::vector<uint64_t> numbers = {}) {
  std::vector<std::span<const uint8_t>> inputs;
  for (const std::string& text : texts) inputs.push_back(bytes_of(text));
  for (uint64_t i = numbers.size(); i < texts.size(); i++) numbers.push_back(i);
  return linux_process::order_by_likeness(inputs, numbers);
}
using Order = std::vector<uint64_t>;

TEST(Likeness, NumbersInAnInputDoNotMatter) {
  const Texts texts = {"print(17)", "fetch(1)", "print(2)", "fetch(990)", "print(12345)", "fetch(x)"};
  EXPECT_EQ(order_of(texts), (Order{1, 3, 5, 2, 0, 4}));
}

TEST(Likeness, KeysComeAsMemcmpComparesThem) {
  EXPECT_EQ(order_of({"aaaa\xff", "aaaa", "aaaaz", "aaaa7", std::string("aaaa\0", 5)}), (Order{1, 4, 3, 2, 0}));
  EXPECT_EQ(order_of({"aaaa/", "aaaa9", "aaaa:"}), (Order{0, 1, 2})) << "a digit stands at 0";
  EXPECT_EQ(order_of({"aaaa5b", "aaaa5", "aaaa5a"}), (Order{1, 2, 0})) << "a number may end the input";
}

TEST(Likeness, EqualKeysComeByLengthThenByNumber) {
  EXPECT_EQ(order_of({"f(100)", "f(20)", "f(3)", "f(40)"}, {9, 8, 7, 6}), (Order{2, 3, 1, 0}));
}

TEST(Likeness, AKeyHas4KiB) {
  const std::string begin(4095, 'a');
  EXPECT_EQ(order_of({begin + "c", begin + "b"}), (Order{1, 0})) << "the last byte counts";
  EXPECT_EQ(order_of({begin + "xc", begin + "xb"}), (Order{0, 1})) << "the next does not";
  // A key has 4 KiB, not what it is made of.
  const std::string number(10'000, '7');
  EXPECT_EQ(order_of({begin + number + "c", begin + number + "b"}), (Order{0, 1}));
  EXPECT_EQ(order_of({number + "abc", number + "abb"}), (Order{1, 0}));
}

TEST(Likeness, InputsWithLittleInCommonComeByLength) {
  EXPECT_EQ(order_of({"abcdef", "xyz", "klmn", "z"}), (Order{3, 1, 2, 0}));
  EXPECT_EQ(order_of({"bb", "aa", "c"}, {4, 2, 9}), (Order{2, 1, 0})) << "then by number";
  // Half of the shorter key is enough, on average.
  EXPECT_EQ(order_of({"abcdef", "abx"}), (Order{0, 1}));
  EXPECT_EQ(order_of({"abcdef", "ayx"}), (Order{1, 0}));
  EXPECT_EQ(order_of({"aaaaaa", "aaaaab", "q"}), (Order{2, 0, 1})) << "5/6 and 0 are less than a half";
  EXPECT_EQ(order_of({"aaaaaa", "aaaaaa", "q"}), (Order{0, 1, 2})) << "1 and 0 are a half";
  const auto with_in_common = [](size_t bytes) {  // of the 200 that the second has
    const std::string common(bytes, 'a');
    return order_of({common + std::string(300, 'x'), common + std::string(200 - bytes, 'y')});
  };
  EXPECT_EQ(with_in_common(100), (Order{0, 1}));
  EXPECT_EQ(with_in_common(99), (Order{1, 0}));
  EXPECT_EQ(order_of({"", "", "", "b", "aa"}), (Order{0, 1, 2, 4, 3})) << "inputs without bytes are alike";
  EXPECT_EQ(order_of({"", "", "b", "aa"}), (Order{0, 1, 2, 3})) << "and have nothing in common with others";
  EXPECT_EQ(order_of({}), Order{});
  EXPECT_EQ(order_of({"x"}), Order{0});
}

TEST(Likeness, TheOrderDoesNotDependOnThatInWhichInputsCame) {
  std::mt19937_64 random(1);
  Texts texts;
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < 300; i++) {
    texts.push_back(std::string(random() % 3, 'a') + "(" + std::to_string(random() % 50) + ")");
    numbers.push_back(i);
  }
  const auto sorted = [&] {
    std::vector<uint64_t> result;
    for (const uint64_t place : order_of(texts, numbers)) result.push_back(numbers[place]);
    return result;
  };
  const std::vector<uint64_t> expected = sorted();
  for (size_t i = texts.size() - 1; i > 0; i--) {
    const size_t j = random() % (i + 1);
    std::swap(texts[i], texts[j]);
    std::swap(numbers[i], numbers[j]);
  }
  EXPECT_EQ(sorted(), expected);
}

struct Mine {};

/// What a source does at a call: gives inputs, or something else.
struct Event {
  Texts inputs = {};
  Supply otherwise = Supply::later;
  bool throws = false;
  bool as_file = false;
};
Event gives(Texts inputs) { return {std::move(inputs)}; }
const Event kLater = {}, kEnded = {{}, Supply::ended}, kThrows = {{}, Supply::ended, true};

/// Does these things, one at each call, and counts the calls. Numbers begin at 100 and have gaps.
class Script {
 public:
  explicit Script(std::vector<Event> events) : events_(std::move(events)) {}

  BatchSource batches() {
    return [this](InputBatch& batch, bool idle) {
      was_idle.push_back(idle);
      // What it gave before need not stay.
      std::fill(bytes_.begin(), bytes_.end(), '#');
      const Event& event = events_.at(calls++);
      if (event.throws) throw Mine();
      if (event.inputs.empty()) return event.otherwise;
      bytes_.assign(3, '#');
      offsets_.assign(1, bytes_.size());
      numbers_.clear();
      for (const std::string& text : event.inputs) {
        bytes_.insert(bytes_.end(), text.begin(), text.end());
        offsets_.push_back(bytes_.size());
        numbers_.push_back(next_ += 2);
      }
      batch = {0, bytes_, offsets_, event.as_file, numbers_};
      return Supply::input;
    };
  }
  /// Of each event the first input alone.
  QueueSource inputs() {
    return [this](ProcessInput& input, uint64_t& number, bool idle) {
      was_idle.push_back(idle);
      const Event& event = events_.at(calls++);
      if (event.throws) throw Mine();
      if (event.inputs.empty()) return event.otherwise;
      const auto bytes = bytes_of(event.inputs[0]);
      (event.as_file ? input.file : input.standard_input).emplace(bytes.begin(), bytes.end());
      asked_numbers.push_back(number);
      number = next_ += 2;
      return Supply::input;
    };
  }

  size_t calls = 0;
  std::vector<bool> was_idle;
  std::vector<uint64_t> asked_numbers;

 private:
  std::vector<Event> events_;
  uint64_t next_ = 98;
  std::vector<uint8_t> bytes_;
  std::vector<uint64_t> offsets_, numbers_;
};

/// What a call gave: "number:input" of each input; "later", "ended" or "threw".
std::string asked(const BatchSource& source, bool idle = true) {
  InputBatch batch;
  try {
    const Supply supply = source(batch, idle);
    if (supply != Supply::input) return supply == Supply::later ? "later" : "ended";
  } catch (const Mine&) {
    return "threw";
  }
  std::string text;
  for (uint64_t i = 0; i < batch.size(); i++) {
    const auto input = batch.bytes.subspan(batch.offsets[i], batch.offsets[i + 1] - batch.offsets[i]);
    const uint64_t number = batch.numbers.empty() ? batch.first_number + i : batch.numbers[i];
    text += (i == 0 ? "" : " ") + std::to_string(number) + ":" + std::string(input.begin(), input.end());
  }
  return text + (batch.as_file ? " as files" : "");
}
std::string asked(const QueueSource& source, bool idle = true) {
  ProcessInput input;
  uint64_t number = 7;
  try {
    const Supply supply = source(input, number, idle);
    if (supply != Supply::input) return supply == Supply::later ? "later" : "ended";
  } catch (const Mine&) {
    return "threw";
  }
  const auto& bytes = input.file ? *input.file : *input.standard_input;
  return std::to_string(number) + ":" + std::string(bytes.begin(), bytes.end()) + (input.file ? " as file" : "");
}

TEST(Grouped, BatchesOfAWindowAreOneInTheNewOrder) {
  Script script({gives({"print(1)", "fetch(1)"}), gives({"print(22)"}), gives({"fetch(333)", "print(4)"}), kEnded});
  const BatchSource source = grouped(script.batches());
  EXPECT_EQ(asked(source), "102:fetch(1) 106:fetch(333) 100:print(1) 108:print(4) 104:print(22)");
  EXPECT_EQ(script.calls, 4u);
  EXPECT_EQ(asked(source), "ended");
  EXPECT_EQ(script.calls, 4u) << "it had ended";
}

TEST(Grouped, WhatIsHeldIsGivenWhenThereIsNoMoreNow) {
  Script script({kLater, gives({"go_b", "go_a"}), gives({"go_a"}), kLater, kLater, gives({"go_c"}), kEnded});
  const BatchSource source = grouped(script.batches());
  EXPECT_EQ(asked(source), "later");
  EXPECT_EQ(asked(source), "102:go_a 104:go_a 100:go_b");
  EXPECT_EQ(script.calls, 4u);
  EXPECT_EQ(asked(source, false), "later");
  EXPECT_EQ(asked(source), "106:go_c");
  EXPECT_EQ(asked(source), "ended");
  // The source may wait only while nothing is held.
  EXPECT_EQ(script.was_idle, (std::vector<bool>{true, true, false, false, false, true, false}));
}

TEST(Grouped, WhatIsHeldComesBeforeAnException) {
  Script script({gives({"go_b", "go_a"}), kThrows, kThrows, gives({"go_c"}), kEnded});
  const BatchSource source = grouped(script.batches());
  EXPECT_EQ(asked(source), "102:go_a 100:go_b");
  EXPECT_EQ(script.calls, 2u);
  EXPECT_EQ(asked(source), "threw");
  EXPECT_EQ(script.calls, 2u) << "it had thrown";
  EXPECT_EQ(asked(source), "threw") << "nothing was held";
  EXPECT_EQ(asked(source), "104:go_c");
  EXPECT_EQ(asked(source), "ended");
}

TEST(Grouped, AWindowHasSoManyInputs) {
  Script script({gives({"e", "d", "c"}), gives({"b", "a", "f", "g", "h"}), kEnded});
  const BatchSource source = grouped(script.batches(), {.inputs = 4});
  EXPECT_EQ(asked(source), "100:e 102:d 104:c 106:b") << "they have nothing in common, and one length";
  EXPECT_EQ(script.calls, 2u);
  EXPECT_EQ(asked(source), "108:a 110:f 112:g 114:h");
  EXPECT_EQ(script.calls, 2u);
  EXPECT_EQ(asked(source), "ended");
}

TEST(Grouped, AWindowHasSoManyBytes) {
  const std::string kilobyte(1000, 'x');
  const auto sizes = [](const BatchSource& source) {
    std::vector<uint64_t> result;
    InputBatch batch;
    while (source(batch, true) == Supply::input) result.push_back(batch.size());
    return result;
  };
  const std::vector<Event> events = {gives(Texts(30, kilobyte)), gives(Texts(30, kilobyte)), kEnded};
  // Each counts with 2,000 bytes, and with some 100 more.
  Script ten(events), alone(events), all(events);
  EXPECT_EQ(sizes(grouped(ten.batches(), {.bytes = 22'000})), std::vector<uint64_t>(6, 10));
  EXPECT_EQ(sizes(grouped(alone.batches(), {.bytes = 1'500})), std::vector<uint64_t>(60, 1)) << "larger than a window";
  EXPECT_EQ(sizes(grouped(all.batches(), {.bytes = 132'000})), std::vector<uint64_t>{60});
}

TEST(Grouped, AnInputThatIsLargerThanAWindowComesByItself) {
  const std::string large(9000, 'm');
  Script script({gives({"go_b", "go_a", large, "go_z", "go_y"}), kEnded});
  const BatchSource source = grouped(script.batches(), {.bytes = 2000});
  EXPECT_EQ(asked(source), "102:go_a 100:go_b");
  EXPECT_EQ(asked(source), "104:" + large);
  EXPECT_EQ(asked(source), "108:go_y 106:go_z");
  EXPECT_EQ(asked(source), "ended");
}

TEST(Grouped, FilesAndStandardInputsShareNoWindow) {
  Script script(
      {gives({"go_b"}), gives({"go_a"}), {{"go_d", "go_c"}, Supply::later, false, true}, gives({"go_e"}), kEnded});
  const BatchSource source = grouped(script.batches());
  EXPECT_EQ(asked(source), "102:go_a 100:go_b");
  EXPECT_EQ(asked(source), "106:go_c 104:go_d as files");
  EXPECT_EQ(asked(source), "108:go_e");
  EXPECT_EQ(asked(source), "ended");
}

TEST(Grouped, ConsecutiveNumbersAreKept) {
  const std::vector<uint8_t> bytes = {'x', 'x', 'b', 'x', 'x', 'a'};
  const std::vector<uint64_t> offsets = {0, 3, 6};
  bool given = false;
  const BatchSource source = grouped(BatchSource([&](InputBatch& batch, bool) {
    if (std::exchange(given, true)) return Supply::ended;
    batch = {41, bytes, offsets};
    return Supply::input;
  }));
  EXPECT_EQ(asked(source), "42:xxa 41:xxb");
  EXPECT_EQ(asked(source), "ended");
}

TEST(Grouped, ABatchMustBeAsItSays) {
  const std::vector<uint8_t> bytes = {'a', 'b'};
  const std::vector<uint64_t> offsets = {0, 1, 2}, falling = {0, 2, 1}, beyond = {0, 1, 3}, none = {0}, one = {5};
  for (const InputBatch& wrong : {InputBatch{0, bytes, falling}, InputBatch{0, bytes, beyond},
                                  InputBatch{0, bytes, none}, InputBatch{0, bytes, offsets, false, one}}) {
    int calls = 0;
    const BatchSource source = grouped(BatchSource([&](InputBatch& batch, bool) {
      batch = ++calls == 1 ? InputBatch{7, bytes, offsets} : wrong;
      return Supply::input;
    }));
    EXPECT_EQ(asked(source), "7:a 8:b");
    InputBatch batch;
    EXPECT_THROW(source(batch, true), ArgumentError);
    EXPECT_EQ(calls, 2);
  }
  EXPECT_THROW(grouped(BatchSource(), {.inputs = 0}), ArgumentError);
  EXPECT_THROW(grouped(BatchSource(), {.bytes = 0}), ArgumentError);
  EXPECT_THROW(grouped(QueueSource(), {.inputs = 0}), ArgumentError);
}

std::vector<Event> one_by_one(const Texts& texts, const std::vector<Event>& rest) {
  std::vector<Event> events;
  for (const std::string& text : texts) events.push_back(gives({text}));
  events.insert(events.end(), rest.begin(), rest.end());
  return events;
}

TEST(GroupedInputs, ComeInTheNewOrder) {
  Script script(one_by_one({"print(1)", "fetch(1)", "print(22)", "fetch(333)", "print(4)"}, {kEnded}));
  const QueueSource source = grouped(script.inputs());
  for (const char* expected :
       {"102:fetch(1)", "106:fetch(333)", "100:print(1)", "108:print(4)", "104:print(22)", "ended"}) {
    EXPECT_EQ(asked(source), expected);
  }
  EXPECT_EQ(script.calls, 6u);
  // The first number is that of whoever asks, the others follow from those before.
  EXPECT_EQ(script.asked_numbers, (std::vector<uint64_t>{7, 101, 103, 105, 107}));
}

TEST(GroupedInputs, WhatIsHeldIsGivenFirst) {
  Script script(
      {kLater, gives({"go_b"}), gives({"go_a"}), kLater, kLater, gives({"go_d"}), gives({"go_c"}), kThrows, kEnded});
  const QueueSource source = grouped(script.inputs());
  for (const char* expected : {"later", "102:go_a", "100:go_b", "later", "106:go_c", "104:go_d", "threw", "ended"}) {
    EXPECT_EQ(asked(source), expected);
  }
  EXPECT_EQ(script.was_idle, (std::vector<bool>{true, true, false, false, true, true, false, false, true}));
}

TEST(GroupedInputs, AWindowIsBounded) {
  Script few(one_by_one({"go_c", "go_b", "go_a", "go_f", "go_e"}, {kEnded}));
  QueueSource source = grouped(few.inputs(), {.inputs = 3});
  for (const char* expected : {"104:go_a", "102:go_b", "100:go_c", "108:go_e", "106:go_f", "ended"}) {
    EXPECT_EQ(asked(source), expected);
  }
  // The large one does not fit in the first window, and nothing beside it in the second.
  const std::string large(9000, 'm');
  Script sizes(one_by_one({"go_c", "go_b", large, "go_z", "go_y"}, {kEnded}));
  source = grouped(sizes.inputs(), {.bytes = 2000});
  EXPECT_EQ(asked(source), "102:go_b");
  EXPECT_EQ(sizes.calls, 3u);
  EXPECT_EQ(asked(source), "100:go_c");
  EXPECT_EQ(asked(source), "104:" + large);
  EXPECT_EQ(sizes.calls, 3u);
  EXPECT_EQ(asked(source), "108:go_y");
  EXPECT_EQ(asked(source), "106:go_z");
  EXPECT_EQ(asked(source), "ended");
}

TEST(GroupedInputs, AllPartsOfAnInputCount) {
  std::vector<ProcessInput> inputs(6);
  inputs[0].arguments = {{"same", "long"}};
  inputs[1].arguments = {{"same", "also"}};
  inputs[2].environment = {{"same", "k"}};
  inputs[3].file = {'s', 'a', 'm', 'e', 0, 'z'};
  inputs[4].file = {'s', 'a', 'm', 'e', 0};
  inputs[4].standard_input = {'y'};
  inputs[5].arguments = {{"same"}};
  inputs[5].standard_input = {'b'};
  const std::vector<uint64_t> expected = {1, 5, 2, 0, 4, 3};
  uint64_t given = 0;
  const QueueSource source = grouped(QueueSource([&](ProcessInput& input, uint64_t&, bool) {
    if (given == inputs.size()) return Supply::ended;
    input = inputs[given++];
    return Supply::input;
  }));
  std::vector<uint64_t> numbers;
  ProcessInput input;
  for (uint64_t number = 0; source(input, number, true) == Supply::input;) {
    numbers.push_back(number);
    EXPECT_EQ(input.arguments, inputs[number].arguments);
    EXPECT_EQ(input.environment, inputs[number].environment);
    EXPECT_EQ(input.standard_input, inputs[number].standard_input);
    EXPECT_EQ(input.file, inputs[number].file);
  }
  EXPECT_EQ(numbers, expected);
}

TEST(Grouped, NoInputIsLostOrDoubled) {
  for (uint64_t seed = 0; seed < 200; seed++) {
    std::mt19937_64 random(seed);
    std::vector<Event> events;
    std::vector<std::string> expected;
    for (uint64_t i = 0; i < 40; i++) {
      Event& event = events.emplace_back();
      if (random() % 4 == 0) continue;
      for (uint64_t n = random() % 12; n != 0; n--) {
        event.inputs.push_back(std::string(random() % 300, 'a') + std::to_string(random() % 100));
        expected.push_back(std::to_string(100 + 2 * expected.size()) + ":" + event.inputs.back());
      }
    }
    events.push_back(kEnded);
    Script script(std::move(events));
    const BatchSource source = grouped(script.batches(), {.inputs = 1 + random() % 30, .bytes = 1 + random() % 9000});
    std::vector<std::string> found;
    for (std::string given; given != "ended";) {
      given = asked(source, random() % 2 == 0);
      for (size_t at = 0; given != "ended" && given != "later" && at < given.size();) {
        const size_t end = std::min(given.find(' ', at), given.size());
        found.push_back(given.substr(at, end - at));
        at = end + 1;
      }
    }
    std::ranges::sort(found);
    std::ranges::sort(expected);
    ASSERT_EQ(found, expected) << seed;
  }
}

}  // namespace
}  // namespace myriarm
