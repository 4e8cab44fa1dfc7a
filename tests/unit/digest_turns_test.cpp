// SPDX-License-Identifier: Apache-2.0
// work_off_in_turns() on lanes that are made up, with memory for so many pages.
#include "linux/digest_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace myriarm::linux_process {
namespace {

/// Input n needs needs[n] pages. When those that are under way need too much together, the lanes give the half up that came last,
/// or one that is alone.
struct MadeUpLanes {
  std::vector<uint64_t> needs;
  uint64_t pages = 10;
  uint64_t works = 0;
  bool is_cancelled = false;

  void work_off(const InputRun& run) {
    works++;
    InputBatch batch;
    if (run.next(batch, true) != Supply::input) return;
    std::vector<uint64_t> tickets(batch.size());
    std::iota(tickets.begin(), tickets.end(), 0);
    const auto need = [&](uint64_t sum, uint64_t ticket) { return sum + needs[batch.numbers[ticket]]; };
    while (std::accumulate(tickets.begin(), tickets.end(), uint64_t{0}, need) > pages) {
      const size_t kept = tickets.size() / 2;
      give_up(run, batch, std::span(tickets).subspan(kept));
      tickets.resize(kept);
    }
    std::vector<InputDigest> digests;
    for (const uint64_t ticket : tickets) digests.push_back(digest_of(batch, ticket, StopReason::exited));
    if (!digests.empty()) run.done(digests, tickets, {digests.size(), 2 * digests.size()});
    EXPECT_EQ(run.next(batch, true), Supply::ended);
  }
  static void give_up(const InputRun& run, const InputBatch& batch, std::span<const uint64_t> tickets) {
    std::vector<InputDigest> ends;
    for (const uint64_t ticket : tickets) ends.push_back(digest_of(batch, ticket, StopReason::out_of_memory));
    run.given_up(batch, tickets, ends);
  }
  static InputDigest digest_of(const InputBatch& batch, uint64_t ticket, StopReason reason) {
    InputDigest digest;
    digest.number = batch.numbers[ticket];
    digest.output_bytes[0] = batch.bytes[batch.offsets[ticket]];
    digest.reason = reason;
    return digest;
  }

  std::vector<InputDigest> found;
  QueueProgress run(uint64_t most = ~uint64_t{0}) {
    std::vector<uint8_t> bytes(needs.size());
    std::vector<uint64_t> offsets(needs.size() + 1);
    std::iota(offsets.begin(), offsets.end(), 0);
    for (size_t i = 0; i < needs.size(); i++) bytes[i] = static_cast<uint8_t>(i * 7);
    bool given = false;
    const BatchSource source = [&](InputBatch& batch, bool) {
      if (std::exchange(given, true)) return Supply::ended;
      batch = {0, bytes, offsets, true};
      return Supply::input;
    };
    const DigestSink sink = [&](std::span<const InputDigest> digests) {
      found.insert(found.end(), digests.begin(), digests.end());
      return found.size() < most;
    };
    return work_off_in_turns([this](const InputRun& run) { work_off(run); }, source, sink, {},
                             [this] { return is_cancelled; });
  }
};

TEST(DigestTurns, OnlyThoseThatNeedTooMuchAloneEndForWantOfMemory) {
  MadeUpLanes lanes;
  for (uint64_t i = 0; i < 200; i++) lanes.needs.push_back(1 + i * 7 % 12);
  const QueueProgress end = lanes.run();
  ASSERT_EQ(lanes.found.size(), 200u);
  std::ranges::sort(lanes.found, {}, &InputDigest::number);
  uint64_t exited = 0;
  for (uint64_t i = 0; i < 200; i++) {
    EXPECT_EQ(lanes.found[i].number, i);
    EXPECT_EQ(lanes.found[i].output_bytes[0], i * 7 % 256) << "its own bytes";
    EXPECT_EQ(lanes.found[i].reason, lanes.needs[i] > 10 ? StopReason::out_of_memory : StopReason::exited) << i;
    exited += lanes.needs[i] <= 10;
  }
  EXPECT_EQ(end.instructions, exited);
  EXPECT_EQ(end.lane_instructions, 2 * exited);
  EXPECT_LE(lanes.works, 2 * 200u + 10);
}

TEST(DigestTurns, ThoseThatFitTogetherRunTogether) {
  MadeUpLanes lanes;
  lanes.needs.assign(160, 1);
  lanes.run();
  EXPECT_EQ(lanes.found.size(), 160u);
  EXPECT_LE(lanes.works, 40u) << "ten at a time";
}

TEST(DigestTurns, TheSinkOrACancelEndsThem) {
  MadeUpLanes lanes;
  lanes.needs.assign(50, 7);
  lanes.run(3);
  EXPECT_EQ(lanes.found.size(), 3u);
  MadeUpLanes others;
  others.needs.assign(50, 7);
  others.is_cancelled = true;
  others.run();
  EXPECT_EQ(others.works, 0u);
}

}  // namespace
}  // namespace myriarm::linux_process
