// SPDX-License-Identifier: Apache-2.0
// DigestRun on lanes that are made up: they give some inputs up, in any order, as lanes of a GPU do that find no memory.
#include "linux/digest_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>

namespace myriarm {
namespace {

using linux_process::Batches;
using linux_process::DigestLanes;
using linux_process::DigestRun;

constexpr uint64_t kMiB = uint64_t{1} << 20;

InputDigest digest_of(uint64_t number, std::span<const uint8_t> bytes) {
  InputDigest digest;
  digest.number = number;
  digest.instructions = 10 + number % 7;
  digest.output_hash[0] = output_hash(bytes);
  digest.output_bytes[0] = bytes.size();
  digest.stop_detail = number % 5 == 0;
  digest.reason = StopReason::exited;
  return digest;
}

std::vector<uint8_t> bytes_of_input(uint64_t number, uint64_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; i++) bytes[i] = static_cast<uint8_t>(number * 7 + i);
  return bytes;
}

/// Lanes that end inputs in random order, and the queue in which those that they give up take turns.
struct MadeUpLanes {
  uint64_t lanes = 20;
  std::function<bool(uint64_t number)> starves = [](uint64_t) { return false; };
  std::function<void(uint64_t number)> before_end = [](uint64_t) {};  // of an input, in either
  std::function<void()> before_turns = [] {}, after_turns = [] {}, after_work = [] {};
  bool is_cancelled = false;

  uint64_t works = 0, turns = 0, in_turns = 0;  // calls of work_off() and of take_turns(), and inputs of these
  uint64_t most_bytes_in_turns = 0;
  uint64_t limit_in_turns = 0;
  std::mt19937_64 random{1};

  struct Running {
    uint64_t number, ticket;
    std::vector<uint8_t> bytes;
  };

  void work_off(const InputRun& run) {
    std::vector<Running> running;
    uint64_t tickets = 0, instructions = 0, idle_asked = 0;
    works++;
    for (bool more = true; !is_cancelled;) {
      while (more && running.size() < lanes) {
        InputBatch batch;
        const Supply supply = run.next(batch, running.empty());
        more = supply != Supply::ended;
        if (supply == Supply::later && running.empty() && ++idle_asked == 1000)
          throw std::logic_error("nothing goes on");
        if (supply != Supply::input) break;
        for (uint64_t i = 0; i < batch.size(); i++) {
          const auto begin = batch.bytes.begin() + static_cast<ptrdiff_t>(batch.offsets[i]);
          const auto end = batch.bytes.begin() + static_cast<ptrdiff_t>(batch.offsets[i + 1]);
          running.push_back(
              {batch.numbers.empty() ? batch.first_number + i : batch.numbers[i], tickets++, {begin, end}});
        }
      }
      if (running.empty() && !more) return after_work();
      if (running.empty()) continue;
      std::ranges::shuffle(running, random);
      std::vector<InputDigest> digests;
      std::vector<uint64_t> digest_tickets, given_tickets, numbers, offsets = {0};
      std::vector<uint8_t> bytes;
      for (uint64_t count = 1 + random() % std::min<uint64_t>(running.size(), lanes); count != 0; count--) {
        const Running one = std::move(running.back());
        running.pop_back();
        before_end(one.number);
        instructions += 3;
        if (starves(one.number)) {
          given_tickets.push_back(one.ticket);
          numbers.push_back(one.number);
          bytes.insert(bytes.end(), one.bytes.begin(), one.bytes.end());
          offsets.push_back(bytes.size());
        } else {
          digests.push_back(digest_of(one.number, one.bytes));
          digest_tickets.push_back(one.ticket);
        }
      }
      if (!numbers.empty()) run.given_up({0, bytes, offsets, true, numbers}, given_tickets, {});
      if (!digests.empty() && !run.done(digests, digest_tickets, {instructions, 2 * instructions})) return;
    }
  }

  QueueProgress take_turns(const BatchSource& source, const DigestSink& sink, const QueueOptions& options) {
    turns++;
    before_turns();
    limit_in_turns = options.instructions;
    EXPECT_FALSE(options.ordered) << "they need not wait for each other";
    QueueProgress progress;
    InputBatch batch;
    while (source(batch, true) == Supply::input) {
      EXPECT_TRUE(batch.as_file);
      most_bytes_in_turns = std::max<uint64_t>(most_bytes_in_turns, batch.bytes.size());
      for (uint64_t i = 0; i < batch.size() && !is_cancelled; i++) {
        in_turns++;
        before_end(batch.numbers[i]);
        progress.instructions += 5;
        progress.lane_instructions += 10;
        if (options.progress) options.progress(progress);
        const InputDigest digest =
            digest_of(batch.numbers[i], batch.bytes.subspan(batch.offsets[i], batch.offsets[i + 1] - batch.offsets[i]));
        if (!sink({&digest, 1})) return progress;
      }
    }
    after_turns();
    return progress;
  }

  DigestLanes functions() {
    DigestLanes lanes_of;
    lanes_of.work_off = [this](const InputRun& run) { work_off(run); };
    lanes_of.take_turns = [this](const BatchSource& source, const DigestSink& sink, const QueueOptions& options) {
      return take_turns(source, sink, options);
    };
    lanes_of.is_cancelled = [this] { return is_cancelled; };
    return lanes_of;
  }
};

/// Inputs 0, 3, 6, ..., which lie in one batch after the other.
struct Inputs {
  uint64_t count = 1000, part = 30, size = 5;
  uint64_t at = 0;
  std::vector<uint8_t> bytes = {};
  std::vector<uint64_t> offsets = {}, numbers = {};

  Supply next(InputBatch& batch) {
    if (at == count) return Supply::ended;
    bytes.clear();
    offsets.assign(1, 0);
    numbers.clear();
    for (uint64_t i = 0; i < part && at < count; i++, at++) {
      const std::vector<uint8_t> own = bytes_of_input(3 * at, size);
      bytes.insert(bytes.end(), own.begin(), own.end());
      offsets.push_back(bytes.size());
      numbers.push_back(3 * at);
    }
    batch = {0, bytes, offsets, true, numbers};
    return Supply::input;
  }
};

struct Case {
  MadeUpLanes lanes = {};
  Inputs inputs = {};
  QueueOptions options = {};
  std::vector<InputDigest> found = {};
  BatchSource source = [this](InputBatch& batch, bool) { return inputs.next(batch); };
  DigestSink sink = [this](std::span<const InputDigest> digests) {
    found.insert(found.end(), digests.begin(), digests.end());
    return true;
  };

  Case() = default;
  Case(const Case&) = delete;

  QueueProgress run() {
    Batches batches(source, options.ordered);
    InputBatch first;
    EXPECT_EQ(batches.next(first, true), Supply::input);
    return DigestRun(lanes.functions(), batches, first, sink, options).go();
  }
  /// All of them, in the order of the inputs if that was asked for.
  void expect_all() {
    if (!options.ordered) std::ranges::sort(found, {}, &InputDigest::number);
    ASSERT_EQ(found.size(), inputs.count);
    for (uint64_t i = 0; i < inputs.count; i++) {
      ASSERT_EQ(found[i], digest_of(3 * i, bytes_of_input(3 * i, inputs.size))) << i;
    }
  }
};

bool one_in_four(uint64_t number) { return number * 2654435761u >> 7 & 1 && number * 40503u >> 5 & 1; }

TEST(DigestRun, WhatIsGivenUpHasItsDigestInItsPlace) {
  for (bool ordered : {true, false}) {
    for (uint64_t part : {1, 7, 100, 1000}) {
      for (uint64_t held : {1, 50, 100'000}) {
        SCOPED_TRACE(std::to_string(part) + " at a time, " + std::to_string(held) + " held back");
        Case one;
        one.lanes.starves = one_in_four;
        one.lanes.random.seed(part + held);
        one.inputs.part = part;
        one.options.ordered = ordered;
        one.options.held_bytes = held * sizeof(InputDigest);
        one.options.instructions = 77;
        const QueueProgress end = one.run();
        one.expect_all();
        EXPECT_GT(one.lanes.in_turns, 100u);
        EXPECT_EQ(one.lanes.limit_in_turns, 77u);
        EXPECT_FALSE(end.stopped_early);
        EXPECT_EQ(end.done, 1000u);
        EXPECT_EQ(end.running, 0u);
        EXPECT_EQ(end.failed, 200u);
      }
    }
  }
}

TEST(DigestRun, WithoutAnyThatIsGivenUpNothingElseRuns) {
  Case one;
  const QueueProgress end = one.run();
  one.expect_all();
  EXPECT_EQ(one.lanes.turns, 0u);
  EXPECT_EQ(end.instructions, 3000u);
}

TEST(DigestRun, ProgressCountsAllThatRan) {
  Case one;
  one.lanes.starves = one_in_four;
  one.options.held_bytes = 10 * sizeof(InputDigest);
  QueueProgress last;
  one.options.progress = [&](const QueueProgress& now) {
    EXPECT_GE(now.instructions, last.instructions);
    EXPECT_GE(now.lane_instructions, last.lane_instructions);
    EXPECT_GE(now.done, last.done);
    last = now;
  };
  const QueueProgress end = one.run();
  EXPECT_GT(one.lanes.turns, 3u);
  EXPECT_EQ(last.done, 1000u);
  // Each was in a lane, and those that were given up once more.
  EXPECT_LE(end.instructions, 3000 + 5 * one.lanes.in_turns);
  EXPECT_GE(end.instructions, 3000 + 5 * one.lanes.in_turns - 3 * one.lanes.lanes * one.lanes.turns);
  EXPECT_EQ(end.lane_instructions, 2 * end.instructions);
}

TEST(DigestRun, WhatIsHeldBackBehindOneThatWasGivenUpIsBounded) {
  Case one;
  one.inputs.count = 5000;
  one.lanes.starves = [](uint64_t number) { return number == 0; };
  one.options.held_bytes = 100 * sizeof(InputDigest);
  std::optional<uint64_t> at_first;
  const DigestSink all = one.sink;
  one.sink = [&](std::span<const InputDigest> digests) {
    if (!at_first) at_first = one.inputs.at;
    return all(digests);
  };
  one.run();
  one.expect_all();
  EXPECT_EQ(one.lanes.turns, 1u);
  EXPECT_LT(*at_first, 100 + 4 * one.lanes.lanes + 4 * one.inputs.part);
}

TEST(DigestRun, BytesOfInputsThatWereGivenUpAreBounded) {
  Case one;
  one.inputs = {150, 10, kMiB};
  one.lanes.starves = [](uint64_t) { return true; };
  one.run();
  one.expect_all();
  EXPECT_EQ(one.lanes.in_turns, 150u);
  EXPECT_GT(one.lanes.most_bytes_in_turns, 60 * kMiB) << "they have their turn together";
  EXPECT_LE(one.lanes.most_bytes_in_turns, (64 + 30 + 1) * kMiB);
}

TEST(DigestRun, ASourceMayWaitForADigest) {
  for (bool ordered : {true, false}) {
    Case one;
    one.inputs = {100, 1};
    one.options.ordered = ordered;
    one.lanes.starves = one_in_four;
    one.source = [&](InputBatch& batch, bool idle) {
      // The next input depends on what became of the last one.
      if (one.found.size() != one.inputs.at) return idle ? throw std::logic_error("nothing goes on") : Supply::later;
      return one.inputs.next(batch);
    };
    one.run();
    one.expect_all();
    EXPECT_GT(one.lanes.turns, 10u);
  }
}

TEST(DigestRun, TheSinkMayEndTheRunAtAnyDigest) {
  for (uint64_t most = 1; most < 1000; most += 37) {
    Case one;
    one.lanes.starves = one_in_four;
    one.options.ordered = most % 2 == 0;
    one.options.held_bytes = 0;
    const DigestSink all = one.sink;
    bool ended = false;
    one.sink = [&](std::span<const InputDigest> digests) {
      EXPECT_FALSE(ended) << "it wanted no more";
      all(digests);
      ended = one.found.size() >= most;
      return !ended;
    };
    const QueueProgress end = one.run();
    EXPECT_TRUE(end.stopped_early) << most;
    EXPECT_GE(end.done, most);
    EXPECT_GE(one.found.size(), most);
  }
}

TEST(DigestRun, WhatTheSinkThrowsEndsTheRunAtOnce) {
  Case one;
  one.lanes.starves = [](uint64_t) { return true; };
  one.options.ordered = false;
  one.sink = [](std::span<const InputDigest>) -> bool { throw std::runtime_error("enough"); };
  EXPECT_THROW(one.run(), std::runtime_error);
  EXPECT_EQ(one.lanes.in_turns, 1u);
}

TEST(DigestRun, WhatTheSourceThrowsComesAfterAllDigests) {
  for (bool starves : {true, false}) {
    Case one;
    one.inputs.count = 100;
    one.lanes.starves = [&](uint64_t) { return starves; };
    one.source = [&](InputBatch& batch, bool) {
      if (one.inputs.at == 100) throw std::runtime_error("no more");
      return one.inputs.next(batch);
    };
    EXPECT_THROW(one.run(), std::runtime_error);
    one.expect_all();
  }
}

TEST(DigestRun, ABadBatchEndsTheInputs) {
  Case one;
  one.inputs.count = 100;
  one.lanes.starves = one_in_four;
  const std::vector<uint64_t> falling = {3, 0};
  one.source = [&](InputBatch& batch, bool) {
    if (one.inputs.at < 100) return one.inputs.next(batch);
    batch = {400, one.inputs.bytes, falling, true};
    return Supply::input;
  };
  EXPECT_THROW(one.run(), ArgumentError);
  one.expect_all();
}

TEST(DigestRun, CancelEndsItWhateverRuns) {
  for (uint64_t when : {0, 1, 300, 900}) {
    for (uint64_t starving : {0, 1, 4}) {
      Case one;
      one.lanes.starves = [&](uint64_t number) { return starving == 1 || (starving == 4 && one_in_four(number)); };
      one.options.held_bytes = 0;
      uint64_t ended = 0;
      one.lanes.before_end = [&](uint64_t) { one.lanes.is_cancelled |= ended++ == when; };
      const QueueProgress end = one.run();
      EXPECT_TRUE(end.stopped_early);
      EXPECT_LT(end.done, 1000u);
    }
  }
}

TEST(DigestRun, CancelEndsItAlsoWhereNothingRuns) {
  const auto run = [](std::function<void()> MadeUpLanes::*when) {
    Case one;
    one.lanes.starves = one_in_four;
    one.options.held_bytes = 0;
    one.lanes.*when = [&] { one.lanes.is_cancelled = true; };
    EXPECT_TRUE(one.run().stopped_early);
    EXPECT_LT(one.found.size(), 1000u);
    return std::tuple(one.lanes.works, one.lanes.turns, one.lanes.in_turns != 0);
  };
  EXPECT_EQ(run(&MadeUpLanes::after_work), std::tuple(1u, 0u, false));
  EXPECT_EQ(run(&MadeUpLanes::before_turns), std::tuple(1u, 1u, false));
  EXPECT_EQ(run(&MadeUpLanes::after_turns), std::tuple(1u, 1u, true));
}

}  // namespace
}  // namespace myriarm
