// SPDX-License-Identifier: Apache-2.0
// Several devices share a queue that gives digests: each works its part off in its own way, each input has its digest once
// and in order, whichever devices fail, and what is kept is bounded. Most devices here are made up, so that they can fail at
// any point.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include "linux/digest_ledger.h"
#include "myriarm/likeness.h"
#include "myriarm/shared_queue.h"
#include "until.h"

namespace myriarm {
namespace {

using linux_process::DigestLedger;
using test::until;

constexpr uint8_t kMistake = '!';

InputDigest digest_of(uint64_t number, std::span<const uint8_t> input) {
  InputDigest digest;
  digest.number = number;
  digest.instructions = 7;
  digest.output_bytes[0] = input.size();
  digest.output_hash[0] = output_hash(input);
  digest.reason = StopReason::exited;
  digest.stop_detail = number % 10 == 3;
  return digest;
}

/// Works batches off without a fleet, in random order, and throws after some digests.
class MadeUpQueue final : public InputQueue {
 public:
  struct Plan {
    uint64_t lanes = 1;
    uint64_t digests = ~uint64_t{0};  ///< after so many it fails
    uint64_t seed = 0;
    std::function<void(uint64_t number)> before_digest = {};
  };
  explicit MadeUpQueue(Plan plan) : plan_(std::move(plan)), random_(plan_.seed) {}

  QueueProgress run(const QueueSource&, const QueueSink&, const QueueOptions&) override {
    throw std::logic_error("it gives digests in a way of its own");
  }
  QueueProgress digest(const BatchSource& source, const DigestSink& sink, const QueueOptions& options) override {
    EXPECT_FALSE(options.ordered);
    std::vector<std::pair<uint64_t, std::vector<uint8_t>>> inputs;
    std::optional<uint64_t> mistake;
    QueueProgress progress;
    bool more = true;
    while (!cancelled_) {
      while (more && inputs.size() < plan_.lanes && !mistake) {
        InputBatch batch;
        const Supply supply = source(batch, inputs.empty());
        more = supply != Supply::ended;
        if (supply != Supply::input) break;
        check_batch(batch);
        for (uint64_t i = 0; i < batch.size() && !mistake; i++) {
          const auto bytes = batch.bytes.subspan(batch.offsets[i], batch.offsets[i + 1] - batch.offsets[i]);
          const uint64_t number = batch.numbers.empty() ? batch.first_number + i : batch.numbers[i];
          if (!bytes.empty() && bytes[0] == kMistake) mistake = number;
          else inputs.emplace_back(number, std::vector<uint8_t>(bytes.begin(), bytes.end()));
        }
      }
      if (inputs.empty() && mistake) throw ArgumentError("this input does not fit; make it smaller");
      if (inputs.empty() && !more) return progress;
      std::vector<InputDigest> digests;
      for (uint64_t i = 1 + random_() % 5; i != 0 && !inputs.empty(); i--) {
        if (plan_.digests-- == 0) throw DeviceError("it was taken away");
        std::swap(inputs[random_() % inputs.size()], inputs.back());
        if (plan_.before_digest) plan_.before_digest(inputs.back().first);
        digests.push_back(digest_of(inputs.back().first, inputs.back().second));
        inputs.pop_back();
        progress.instructions += 7;
      }
      if (!digests.empty() && !sink(digests)) return progress;
    }
    return progress;
  }
  void cancel() override { cancelled_ = true; }
  std::map<std::string, UnimplementedCall> unimplemented() const override { return {}; }

 private:
  Plan plan_;
  std::mt19937_64 random_;
  std::atomic<bool> cancelled_ = false;
};

QueueDevice made_up(const std::string& name, MadeUpQueue::Plan plan) {
  return {name, plan.lanes, [plan] { return std::make_unique<MadeUpQueue>(plan); }};
}

/// Batches of random sizes, some of whose numbers have gaps. Each batch is at the same place in memory.
class Batches {
 public:
  Batches(uint64_t count, uint64_t seed) : count_(count), random_(seed) {}

  Supply next(InputBatch& batch) {
    if (expected.size() == count_) return Supply::ended;
    const uint64_t size = std::min(1 + random_() % 40, count_ - expected.size());
    const bool gaps = random_() % 2 == 0;
    bytes_.assign(random_() % 9, 'x');
    offsets_.assign(1, bytes_.size());
    numbers_.clear();
    const uint64_t first = number_;
    for (uint64_t i = 0; i < size; i++) {
      std::vector<uint8_t> input(random_() % 20);
      for (uint8_t& byte : input) byte = static_cast<uint8_t>('a' + random_() % 26);
      if (expected.size() == mistake) input.assign(1, kMistake);
      if (gaps) number_ += random_() % 3;
      numbers_.push_back(number_);
      expected.push_back(digest_of(number_++, input));
      bytes_.insert(bytes_.end(), input.begin(), input.end());
      offsets_.push_back(bytes_.size());
    }
    batch = {first, bytes_, offsets_};
    if (gaps) batch.numbers = numbers_;
    return Supply::input;
  }
  BatchSource source() {
    return [this](InputBatch& batch, bool) { return next(batch); };
  }
  /// Whether it is the number of the input that cannot run, once that one is given.
  bool is_mistake(uint64_t number) const { return mistake < expected.size() && expected[mistake].number == number; }

  std::vector<InputDigest> expected;
  uint64_t mistake = ~uint64_t{0};  ///< which input cannot run

 private:
  const uint64_t count_;
  std::mt19937_64 random_;
  uint64_t number_ = 0;
  std::vector<uint8_t> bytes_;
  std::vector<uint64_t> offsets_, numbers_;
};

struct Found {
  std::vector<InputDigest> digests;
  DigestSink sink() {
    return [this](std::span<const InputDigest> some) {
      EXPECT_FALSE(some.empty());
      digests.insert(digests.end(), some.begin(), some.end());
      return true;
    };
  }
};

TEST(SharedDigest, EachInputHasItsDigestOnceWhicheverDevicesFail) {
  uint64_t failures = 0;
  for (uint64_t seed = 0; seed < 300; seed++) {
    std::mt19937_64 random(seed);
    SharedQueue queue({made_up("a", {1 + random() % 50, random() % 200, random()}),
                       made_up("b", {1 + random() % 50, random() % 200, random()}),
                       made_up("c", {1 + random() % 50, ~uint64_t{0}, random()})});
    QueueOptions options;
    options.ordered = seed % 3 != 0;
    options.held_bytes = random() % 3 == 0 ? 0 : random() % (100 * sizeof(InputDigest));
    Batches batches(400, random());
    Found found;
    const QueueProgress end = queue.digest(batches.source(), found.sink(), options);
    if (!options.ordered) std::ranges::sort(found.digests, {}, &InputDigest::number);
    ASSERT_TRUE(found.digests == batches.expected) << seed;
    EXPECT_EQ(end.done, 400u);
    EXPECT_EQ(end.failed, static_cast<uint64_t>(std::ranges::count(found.digests, 1u, &InputDigest::stop_detail)));
    EXPECT_EQ(end.running, 0u);
    EXPECT_EQ(end.longest_instructions, 7u);
    EXPECT_FALSE(end.stopped_early);
    for (const DeviceFailure& failure : queue.failures()) {
      EXPECT_NE(failure.name, "c");
      EXPECT_EQ(failure.reason, "it was taken away");
      failures++;
    }
  }
  EXPECT_GT(failures, 100u);
}

TEST(SharedDigest, WithoutOrderInputsCanBeGrouped) {
  uint64_t failures = 0, moved = 0;
  for (uint64_t seed = 0; seed < 200; seed++) {
    std::mt19937_64 random(seed);
    std::atomic<uint64_t> digests = 0;
    MadeUpQueue::Plan fails{2 + random() % 49, random() % 100, random(), [&](uint64_t) { digests++; }};
    MadeUpQueue::Plan stays{1 + random() % 50, ~uint64_t{0}, random()};
    stays.before_digest = [&](uint64_t) { until([&] { return digests == fails.digests; }); };
    SharedQueue queue({made_up("a", fails), made_up("b", stays)});
    QueueOptions options;
    options.ordered = false;
    Batches batches(400, random());
    Found found;
    const BatchSource source = grouped(batches.source(), {.inputs = 1 + random() % 300});
    uint64_t next = 0;
    const auto count_moved = [&](InputBatch& batch, bool idle) {
      const Supply supply = source(batch, idle);
      for (const uint64_t number : batch.numbers) moved += number < std::exchange(next, number);
      return supply;
    };
    queue.digest(count_moved, found.sink(), options);
    std::ranges::sort(found.digests, {}, &InputDigest::number);
    ASSERT_TRUE(found.digests == batches.expected) << seed;
    failures += queue.failures().size();
  }
  EXPECT_GT(failures, 50u);
  EXPECT_GT(moved, 10'000u);
}

TEST(SharedDigest, InOrderInputsCannotBeGrouped) {
  SharedQueue queue({made_up("a", {30})});
  Batches batches(400, 1);
  Found found;
  EXPECT_THROW(queue.digest(grouped(batches.source()), found.sink()), ArgumentError);
}

TEST(SharedDigest, AGroupedInputThatCannotRunEndsTheRun) {
  for (uint64_t seed = 0; seed < 50; seed++) {
    SharedQueue queue({made_up("a", {30, ~uint64_t{0}, seed}), made_up("b", {50, ~uint64_t{0}, seed + 1})});
    Batches batches(1'000'000, seed);
    batches.mistake = 300;
    std::vector<uint64_t> before;  // the numbers of the inputs that were given before it
    bool found_it = false;
    const BatchSource source = grouped(batches.source(), {.inputs = 100});
    const auto note = [&](InputBatch& batch, bool idle) {
      const Supply supply = source(batch, idle);
      for (uint64_t i = 0; i < batch.numbers.size() && !found_it; i++) {
        found_it = batches.is_mistake(batch.numbers[i]);
        if (!found_it) before.push_back(batch.numbers[i]);
      }
      return supply;
    };
    Found found;
    QueueOptions options;
    options.ordered = false;
    EXPECT_THROW(queue.digest(note, found.sink(), options), ArgumentError);
    EXPECT_TRUE(queue.failures().empty());
    std::vector<uint64_t> numbers;
    for (const InputDigest& digest : found.digests) numbers.push_back(digest.number);
    std::ranges::sort(numbers);
    std::ranges::sort(before);
    EXPECT_TRUE(std::ranges::includes(numbers, before)) << "those before it have their digests";
    EXPECT_FALSE(std::ranges::binary_search(numbers, batches.expected[300].number));
  }
}

TEST(SharedDigest, AllDevicesFail) {
  for (uint64_t seed = 0; seed < 50; seed++) {
    std::mt19937_64 random(seed);
    SharedQueue queue({made_up("first", {1 + random() % 20, random() % 100, random()}),
                       made_up("second", {1 + random() % 20, random() % 100, random()})});
    Batches batches(1000, seed);
    Found found;
    EXPECT_THROW(queue.digest(batches.source(), found.sink()), DeviceError);
    ASSERT_LE(found.digests.size(), 200u);
    const std::span<const InputDigest> before = std::span(batches.expected).first(found.digests.size());
    EXPECT_TRUE(std::ranges::equal(found.digests, before)) << "what is done is kept, in order";
    EXPECT_EQ(queue.failures().size(), 2u);
  }
}

TEST(SharedDigest, AnInputThatCannotRunEndsTheRunAfterThoseBeforeIt) {
  for (uint64_t seed = 0; seed < 50; seed++) {
    SharedQueue queue({made_up("a", {30, ~uint64_t{0}, seed}), made_up("b", {50, ~uint64_t{0}, seed + 1})});
    Batches batches(1'000'000, seed);
    batches.mistake = 300;
    Found found;
    QueueOptions options;
    options.held_bytes = 100 * sizeof(InputDigest);
    EXPECT_THROW(queue.digest(batches.source(), found.sink(), options), ArgumentError);
    ASSERT_EQ(found.digests.size(), 300u);
    EXPECT_TRUE(std::ranges::equal(found.digests, std::span(batches.expected).first(300)));
    // Behind it: 100 that are held back, two rounds of the lanes, and as many inputs that wait, with the rest of a batch.
    EXPECT_LE(batches.expected.size(), 300u + 100 + 2 * 80 + 80 + 40);
    EXPECT_TRUE(queue.failures().empty());
  }
}

TEST(SharedDigest, DigestsThatAreReadyAreHandedOverBeforeAnException) {
  for (const bool ordered : {true, false}) {
    std::atomic<uint64_t> digests = 0;
    MadeUpQueue::Plan plan{1000};
    plan.before_digest = [&](uint64_t) { digests++; };
    SharedQueue queue({made_up("a", plan)});
    Batches batches(100'000, 4);
    Found found;
    QueueOptions options;
    options.ordered = ordered;
    struct Mine {};
    const BatchSource source = [&](InputBatch& batch, bool) {
      if (batches.expected.size() < 50) return batches.next(batch);
      until([&] { return digests >= 50; });  // of which it gives no more than five at a time
      throw Mine();
    };
    EXPECT_THROW(queue.digest(source, found.sink(), options), Mine);
    if (ordered) {
      EXPECT_TRUE(std::ranges::equal(found.digests, std::span(batches.expected).first(found.digests.size())));
    } else {
      EXPECT_GE(found.digests.size(), 45u);
    }
  }
}

TEST(SharedDigest, BytesThatAreKeptAreBounded) {
  constexpr uint64_t kInput = 1 << 20, kInputs = 4, kBatches = 60;
  constexpr uint64_t kAhead = (64 + kInputs) << 20;
  // It has many lanes, and takes inputs when it has none: so the bytes are the bound of what waits.
  const auto make = [] { return std::make_unique<MadeUpQueue>(MadeUpQueue::Plan{1}); };
  SharedQueue queue({{"a", 1000, make}});
  const std::vector<uint8_t> bytes(kInputs * kInput, 'x');
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i <= kInputs; i++) offsets.push_back(i * kInput);
  uint64_t given = 0, done = 0, most = 0;
  queue.digest(
      [&](InputBatch& batch, bool) {
        if (given == kBatches * kInputs) return Supply::ended;
        batch = {given, bytes, offsets};
        given += kInputs;
        most = std::max(most, (given - done) * kInput);
        return Supply::input;
      },
      [&](std::span<const InputDigest> digests) {
        done += digests.size();
        return true;
      });
  EXPECT_EQ(done, kBatches * kInputs);
  EXPECT_LE(most, 2 * kAhead) << "what waits, and what the device has taken of it";
}

TEST(SharedDigest, TheSinkTheSourceAndCancelCanEndIt) {
  SharedQueue queue({made_up("a", {30}), made_up("b", {20})});
  const auto endless = [&](Batches& batches, const DigestSink& sink) { return queue.digest(batches.source(), sink); };
  Batches many(~uint64_t{0}, 1), more(~uint64_t{0}, 2), wrong(10, 3);
  uint64_t count = 0;
  EXPECT_TRUE(endless(many, [&](std::span<const InputDigest> digests) {
                return (count += digests.size()) < 100;
              }).stopped_early);
  struct Mine {};
  EXPECT_THROW(endless(many, [](std::span<const InputDigest>) -> bool { throw Mine(); }), Mine);
  EXPECT_THROW(queue.digest([](InputBatch&, bool) -> Supply { throw Mine(); },
                            [](std::span<const InputDigest>) { return true; }),
               Mine);
  const std::vector<uint64_t> falling = {3, 0};
  const std::vector<uint8_t> bytes(5);
  EXPECT_THROW(queue.digest(
                   [&](InputBatch& batch, bool) {
                     batch = {0, bytes, falling};
                     return Supply::input;
                   },
                   [](std::span<const InputDigest>) { return true; }),
               ArgumentError);
  std::thread other;
  EXPECT_TRUE(endless(more, [&](std::span<const InputDigest>) {
                if (!other.joinable()) other = std::thread([&] { queue.cancel(); });
                return true;
              }).stopped_early);
  other.join();
  Found found;
  queue.digest(wrong.source(), found.sink());
  EXPECT_TRUE(found.digests == wrong.expected) << "it can still be used";
}

TEST(DigestLedger, ADigestCountsFromTheDeviceThatHasTheInput) {
  DigestLedger ledger(true, 1 << 20);
  const std::vector<uint8_t> bytes = {'a', 'b', 'c', 'd', 'e'};
  const std::vector<uint64_t> offsets = {1, 2, 3, 5}, numbers = {4, 7, 8};
  ledger.add({0, bytes, offsets, false, numbers});
  InputBatch batch;
  ASSERT_TRUE(ledger.take(0, 3, batch));
  EXPECT_EQ(batch.size(), 3u);
  EXPECT_EQ(ledger.first_with(0), 0u) << "by the order in which they came";
  EXPECT_TRUE(ledger.put(0, digest_of(7, {})));
  EXPECT_FALSE(ledger.put(0, digest_of(7, {}))) << "it has its digest";
  EXPECT_FALSE(ledger.put(0, digest_of(5, {}))) << "there is no such input";
  EXPECT_FALSE(ledger.put(0, digest_of(3, {})));
  EXPECT_TRUE(ledger.pass_on().empty()) << "an earlier one has none";
  ledger.give_back(0);
  EXPECT_FALSE(ledger.put(0, digest_of(4, {}))) << "it was given back";
  ASSERT_TRUE(ledger.take(1, 1, batch));
  EXPECT_FALSE(ledger.put(0, digest_of(4, {}))) << "another device has it";
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch.numbers[0], 4u);
  EXPECT_EQ(batch.bytes[batch.offsets[0]], 'b');
  ASSERT_TRUE(ledger.take(2, 5, batch));
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch.numbers[0], 8u);
  EXPECT_EQ(batch.bytes[batch.offsets[0]], 'd');
  EXPECT_EQ(batch.offsets[1] - batch.offsets[0], 2u);
  EXPECT_FALSE(ledger.take(0, 1, batch));
  EXPECT_TRUE(ledger.put(2, digest_of(8, {})));
  EXPECT_EQ(ledger.running(), 1u);
  EXPECT_TRUE(ledger.put(1, digest_of(4, {})));
  EXPECT_EQ(ledger.pass_on().size(), 3u);
  EXPECT_TRUE(ledger.is_empty());
}

TEST(DigestLedger, NumbersNeedNotRise) {
  DigestLedger ledger(false, 1 << 20);
  const std::vector<uint64_t> numbers = {50, 7, 90, 8, 7, 60, 3};
  ledger.add({0, {}, std::vector<uint64_t>(numbers.size() + 1), false, numbers});
  InputBatch batch;
  ASSERT_TRUE(ledger.take(0, 3, batch));
  EXPECT_TRUE(std::ranges::equal(batch.numbers, std::span(numbers).first(3)));
  ASSERT_TRUE(ledger.take(1, 3, batch));
  EXPECT_EQ(ledger.first_with(1), 3u);
  EXPECT_FALSE(ledger.put(0, digest_of(8, {}))) << "another device has it";
  EXPECT_FALSE(ledger.put(0, digest_of(60, {})));
  EXPECT_TRUE(ledger.put(0, digest_of(50, {})));
  EXPECT_TRUE(ledger.put(0, digest_of(7, {}))) << "though the other device has one of this number too";
  EXPECT_FALSE(ledger.put(0, digest_of(7, {})));
  EXPECT_TRUE(ledger.put(1, digest_of(7, {})));
  EXPECT_EQ(ledger.first_with(0), 2u);
  EXPECT_TRUE(ledger.any_outstanding_below(3));
  EXPECT_FALSE(ledger.any_outstanding_below(2));
  ledger.give_back(0);
  EXPECT_FALSE(ledger.put(0, digest_of(90, {}))) << "it was given back";
  ASSERT_TRUE(ledger.take(2, 5, batch)) << "what was given back comes first";
  EXPECT_EQ(batch.numbers[0], 90u);
  ledger.give_back(1);
  ledger.end_before(3);
  ASSERT_TRUE(ledger.take(2, 5, batch));
  EXPECT_EQ(batch.numbers[0], 60u) << "what cannot run is gone";
  ASSERT_TRUE(ledger.take(2, 5, batch));
  EXPECT_EQ(batch.numbers[0], 3u);
  for (const uint64_t number : {3, 60, 90}) EXPECT_TRUE(ledger.put(2, digest_of(number, {}))) << number;
  EXPECT_EQ(ledger.pass_on().size(), 6u);
  EXPECT_TRUE(ledger.is_empty());
}

TEST(DigestLedger, WhatIsHeldBackIsBounded) {
  constexpr uint64_t kHeld = 50, kInputs = 200;
  for (const bool ordered : {true, false}) {
    DigestLedger ledger(ordered, kHeld * sizeof(InputDigest));
    ledger.add({0, {}, std::vector<uint64_t>(kInputs + 1)});
    InputBatch batch;
    ASSERT_TRUE(ledger.take(0, 1, batch));
    for (uint64_t i = 0; i <= kHeld; i++) {
      ASSERT_TRUE(ledger.take(1, 1, batch)) << i;
      ASSERT_TRUE(ledger.put(1, digest_of(batch.numbers[0], {})));
    }
    EXPECT_FALSE(ledger.take(1, 1, batch));
    ledger.give_back(0);
    ASSERT_TRUE(ledger.take(1, 1, batch)) << "what was given back begins in any case";
    ASSERT_TRUE(ledger.put(1, digest_of(batch.numbers[0], {})));
    EXPECT_EQ(ledger.pass_on().size(), kHeld + 2);
    ASSERT_TRUE(ledger.take(1, kInputs, batch));
    EXPECT_EQ(batch.size(), kInputs - kHeld - 2);
  }
}

}  // namespace
}  // namespace myriarm
