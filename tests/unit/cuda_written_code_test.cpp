// SPDX-License-Identifier: Apache-2.0
// What the CUDA backend does on the host, or by portable code, for written code: words are predecoded, teams with the
// same code are grouped, spans are forgotten, and a guest that rewrites its code has to wait. Needs no device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "backends/cuda/code_delay.h"
#include "backends/cuda/code_variants.h"
#include "backends/cuda/decoded_words.h"
#include "backends/cuda/device_rows.h"
#include "backends/cuda/page_history.h"
#include "backends/cuda/predecode.h"
#include "backends/cuda/settling_code.h"

namespace myriarm::cuda {
namespace {

constexpr u64 kWindow = u64{1} << 20;
constexpr u32 kAddWord = 0x91000400, kLoopBack = 0x17FFFFFF, kNotEqualBack = 0x54FFFFE1, kReturn = 0xD65F03C0;

Operands word_at(u32 word, u32 next, u64 at) {
  static const std::vector<DeviceRow> rows = device_rows();
  return predecode(decode_table(), rows.data(), word, next, at, kWindow);
}

TEST(CudaPredecode, FoldsABranchIntoThePlainWordBeforeIt) {
  const Operands plain = word_at(kAddWord, kReturn, 64);
  EXPECT_NE(plain.kind, kKindOutOfLine);
  EXPECT_EQ(plain.row, 0);
  EXPECT_EQ(plain.imm, 1u);
  EXPECT_EQ(word_at(kAddWord, kLoopBack, 64).row, kRowFoldedBranch | 14 << 10 | 0x3FF);
  EXPECT_EQ(word_at(kAddWord, kNotEqualBack, 64).row, kRowFoldedBranch | 1 << 10 | 0x3FF);
  EXPECT_EQ(word_at(kAddWord, kLoopBack, 64).kind, plain.kind);
  EXPECT_EQ(word_at(kReturn, kLoopBack, 64).row, kRowCallOrReturn);
}

TEST(CudaPredecode, FoldsNothingThatItMayNot) {
  EXPECT_EQ(word_at(kAddWord, kLoopBack, kPageSize - 4).row, 0) << "the branch is on another page";
  EXPECT_EQ(word_at(kAddWord, 0x17FFFFFE, 0).row, 0) << "its target is outside the window";
  EXPECT_EQ(word_at(kAddWord, 0x17FFFE00, 0x8000).row, kRowFoldedBranch | 14 << 10 | 0x200) << "-512 words";
  EXPECT_EQ(word_at(kAddWord, 0x17FFFDFF, 0x8000).row, 0) << "-513 words";
  EXPECT_EQ(word_at(kAddWord, 0x140001FF, 0x8000).row, kRowFoldedBranch | 14 << 10 | 0x1FF) << "511 words";
  EXPECT_EQ(word_at(kAddWord, 0x14000200, 0x8000).row, 0) << "512 words";
}

TEST(CudaPredecode, LeavesBranchesOutOfTheWindowToTheSlowPath) {
  for (auto [word, at] : {std::pair{kLoopBack, u64{0}}, std::pair{0x14000001u, kWindow - 4}}) {
    const Operands o = word_at(word, kAddWord, at);
    EXPECT_EQ(o.kind, kKindOutOfLine);
    EXPECT_EQ(o.row, kRowNotPredecoded);
  }
  EXPECT_NE(word_at(kLoopBack, kAddWord, 4).kind, kKindOutOfLine);
  EXPECT_EQ(word_at(0, kAddWord, 4).row, kRowNotImplemented);
}

CodeKey key_of(u32 team, u64 hash, u32 low = 3, u32 high = 3, u32 program = 0) {
  return {team, program, low, high, hash};
}
using Pairs = std::vector<std::pair<u32, u32>>;
Pairs sorted(Pairs pairs) {
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}
constexpr u64 kRoom = u64{1} << 40;
CodeVariants::Plan plan_of(const CodeVariants& variants, std::span<const CodeKey> keys, u64 room) {
  return variants.plan(keys, room, [&](const CodeKey& key) { return span_length(variants.span_of(key).count); });
}

TEST(CudaCodeVariants, TeamsWithEqualKeysShareOne) {
  const std::vector<u32> programs = {0, 0, 0, 1, 1};
  CodeVariants variants({2, 1}, 100, programs);
  EXPECT_FALSE(variants.is_common(0));
  const std::vector<CodeKey> keys = {key_of(0, 7), key_of(1, 8), key_of(2, 7), key_of(3, 7, 3, 3, 1),
                                     key_of(4, 0, ~0u, 0, 1)};
  const CodeVariants::Plan plan = plan_of(variants, keys, kRoom);
  EXPECT_TRUE(plan.complete);
  ASSERT_EQ(plan.fresh.size(), 3u) << "the programs differ, too";
  EXPECT_EQ(plan.fresh.at(2).key.hash, 7u) << "that of most teams comes first";
  EXPECT_EQ(plan.fresh.at(2).pages.first, 2u);
  EXPECT_EQ(plan.fresh.at(2).pages.count, 2u);
  EXPECT_EQ(plan.words, 3 * span_length(2));
  EXPECT_EQ(plan.fresh.at(3).index, 1u);
  variants.carry_out(plan, 0);
  EXPECT_EQ(variants.of_team(0), 2u);
  EXPECT_EQ(variants.of_team(2), 2u);
  EXPECT_NE(variants.of_team(1), variants.of_team(3));
  EXPECT_EQ(variants.of_team(4), 1u) << "its own program";
  EXPECT_EQ(variants.made(2).teams, 2u);

  // The same code is found again, also after no team has run it for a while.
  variants.give_program(0, 0);
  variants.give_program(2, 0);
  EXPECT_EQ(variants.made(2).teams, 0u);
  const CodeVariants::Plan again = plan_of(variants, std::vector{key_of(1, 7), key_of(0, 7)}, 0);
  EXPECT_TRUE(again.complete);
  EXPECT_TRUE(again.fresh.empty());
  EXPECT_EQ(sorted(again.variant_of), (Pairs{{0, 2}, {1, 2}}));
}

TEST(CudaCodeVariants, KnowWhetherOneIsCommon) {
  CodeVariants variants({2, 1}, 100, std::vector<u32>(3));
  EXPECT_TRUE(variants.is_common(0));
  EXPECT_EQ(variants.of_most_teams(), 0u);
  variants.carry_out(plan_of(variants, std::vector{key_of(0, 5), key_of(1, 5)}, kRoom), 0);
  EXPECT_EQ(variants.of_most_teams(), 1u);
  EXPECT_FALSE(variants.is_common(0));
  EXPECT_FALSE(variants.is_common(1));
  variants.carry_out(plan_of(variants, std::vector{key_of(2, 5)}, kRoom), 1);
  EXPECT_TRUE(variants.is_common(1));
  variants.carry_out(plan_of(variants, std::vector{key_of(0, 6), key_of(1, 7)}, kRoom), 2);
  EXPECT_FALSE(variants.of_most_teams()) << "each team runs something else";
}

TEST(CudaCodeVariants, WithoutRoomTeamsKeepWhatTheyHave) {
  CodeVariants variants({2, 1}, 100, std::vector<u32>(4));
  const std::vector<CodeKey> keys = {key_of(0, 5), key_of(1, 6), key_of(2, 6), key_of(3, 0, ~0u, 0)};
  const CodeVariants::Plan none = plan_of(variants, keys, 0);
  EXPECT_FALSE(none.complete);
  EXPECT_TRUE(none.fresh.empty());
  EXPECT_EQ(none.variant_of, (Pairs{{3, 0}}));
  const CodeVariants::Plan one = plan_of(variants, keys, 2 * span_length(2) - 1);
  EXPECT_FALSE(one.complete);
  EXPECT_EQ(sorted(one.variant_of), (Pairs{{1, 1}, {2, 1}, {3, 0}}));
}

TEST(CudaCodeVariants, ForgetBlocksThatNoTeamUses) {
  CodeVariants variants({2, 1}, 100, std::vector<u32>(2));
  for (u32 block = 0; block < 4; block++)
    variants.carry_out(plan_of(variants, std::vector{key_of(0, 10 + block), key_of(1, 20 + block)}, kRoom), block);
  EXPECT_EQ(variants.forget_unused(2), (std::vector<u32>{0})) << "of the unused 0, 1 and 2";
  EXPECT_EQ(variants.forget_unused(0), (std::vector<u32>{1, 2}));
  EXPECT_TRUE(variants.forget_unused(0).empty());
  variants.carry_out(plan_of(variants, std::vector{key_of(0, 0, ~0u, 0)}, kRoom), 9);
  EXPECT_TRUE(variants.forget_unused(0).empty()) << "the other team uses the block";
  variants.give_program(1, 0);
  EXPECT_EQ(variants.forget_unused(0), (std::vector<u32>{3}));
  EXPECT_FALSE(plan_of(variants, std::vector{key_of(0, 13)}, 0).complete);
}

TEST(CudaCodeVariants, SpansHaveTheProgramAndItsOwnPagesWithinBounds) {
  CodeVariants variants({100, 10}, 50, std::vector<u32>(1));
  auto span_of = [](const CodeVariants& of, u32 low, u32 high) {
    const PageRange pages = of.span_of(key_of(0, 1, low, high));
    return std::pair(pages.first, pages.first + pages.count);
  };
  EXPECT_EQ(span_of(variants, ~0u, 0), std::pair(u64{100}, u64{110}));
  EXPECT_EQ(span_of(variants, 105, 105), std::pair(u64{100}, u64{110}));
  EXPECT_EQ(span_of(variants, 105, 120), std::pair(u64{100}, u64{121}));
  EXPECT_EQ(span_of(variants, 2, 120), std::pair(u64{100}, u64{121})) << "all spans begin at the same page";
  EXPECT_EQ(span_of(variants, 2, 50), std::pair(u64{100}, u64{110}));
  EXPECT_EQ(span_of(variants, 105, 5000), std::pair(u64{100}, u64{150}));
  const CodeVariants empty({}, 50, std::vector<u32>(1));
  EXPECT_EQ(span_of(empty, 7, 9), std::pair(u64{0}, u64{10}));
  EXPECT_EQ(span_of(empty, 7, 900), std::pair(u64{0}, u64{50}));
}

TEST(CudaCodeVariants, CountTheLengthOfWhatTeamsRunFrom) {
  CodeVariants variants({2, 1}, 100, std::vector<u32>(3));
  EXPECT_EQ(variants.words_in_use(), 0u) << "the programs' spans are not counted";
  variants.carry_out(plan_of(variants, std::vector{key_of(0, 5, 2, 3), key_of(1, 6, 2, 2), key_of(2, 6, 2, 2)}, kRoom),
                     0);
  EXPECT_EQ(variants.words_in_use(), span_length(2) + span_length(1));
  variants.give_program(1, 0);
  EXPECT_EQ(variants.words_in_use(), span_length(2) + span_length(1));
  variants.give_program(2, 0);
  EXPECT_EQ(variants.words_in_use(), span_length(2));
  variants.give_program(0, 0);
  EXPECT_EQ(variants.words_in_use(), 0u);
}

TEST(CudaPageHistory, APageThatIsRewrittenWaitsTwiceAsLongEachTime) {
  PageHistory history = {};
  u32 now = 0xFFFFFFF0u;  // times wrap
  EXPECT_TRUE(wants_words(history, 7, now));
  u32 wait = kFirstWait;
  for (int round = 0; round < 12; round++) {
    EXPECT_FALSE(must_wait(history, 7, now));
    page_is_described(history, 7, now, false);
    EXPECT_FALSE(wants_words(history, 7, now)) << "it has some";
    EXPECT_TRUE(guest_changes_page(history, 7, now + 1));
    EXPECT_FALSE(wants_words(history, 7, now + 1)) << "the team's state asks for it";
    now += 2;
    ASSERT_TRUE(must_wait(history, 7, now));
    page_is_described(history, 7, now, true);
    EXPECT_FALSE(guest_changes_page(history, 7, now)) << "stores to it are not noticed";
    EXPECT_FALSE(wants_words(history, 7, now));
    now += wait - 2;
    EXPECT_FALSE(wants_words(history, 7, now)) << round;
    now += 1;
    EXPECT_TRUE(wants_words(history, 7, now)) << round;
    wait = std::min(2 * wait, kMostWait);
  }
  EXPECT_EQ(wait, kMostWait);
}

TEST(CudaPageHistory, APageThatLivesLongDoesNotWait) {
  PageHistory history = {};
  page_is_described(history, 7, 100, false);
  guest_changes_page(history, 7, 100 + kLongLife - 1);
  EXPECT_TRUE(must_wait(history, 7, 100 + kLongLife));
  page_is_described(history, 7, 200, false);
  EXPECT_TRUE(guest_changes_page(history, 7, 200 + kLongLife));
  EXPECT_FALSE(must_wait(history, 7, 200 + kLongLife));
}

TEST(CudaPageHistory, TheHostAndOtherPagesEndIt) {
  PageHistory history = {};
  page_is_described(history, 7, 100, false);
  guest_changes_page(history, 7, 101);
  host_changes_page(history, 263);
  EXPECT_FALSE(guest_changes_page(history, 263, 101));
  EXPECT_TRUE(must_wait(history, 7, 102)) << "another page of the slot was changed";
  EXPECT_FALSE(must_wait(history, 263, 102));
  host_changes_page(history, 7);
  EXPECT_FALSE(must_wait(history, 7, 102));
  guest_changes_page(history, 7, 101);
  page_is_described(history, 263, 103, false);
  EXPECT_FALSE(must_wait(history, 263, 103));
  EXPECT_TRUE(wants_words(history, 7, 103));
}

TEST(CudaDecodedWords, AnEntryOfTwoWordsIsOfNone) {
  Operands o = {};
  o.kind = 0x1234, o.row = 0x8765, o.rd = 31, o.rn = 32, o.rm = 1, o.ra = 254, o.imm = 0x123456789ABCDEF0;
  const DecodedWord empty = {}, one = decoded_word(0x91000400, o), other = decoded_word(0xF9000020, Operands{});
  EXPECT_FALSE(empty.is_of(0));
  EXPECT_TRUE(one.is_of(0x91000400));
  EXPECT_FALSE(one.is_of(0xF9000020));
  const Operands back = one.operands();
  EXPECT_EQ(std::memcmp(&back, &o, sizeof o), 0);
  for (int part = 0; part < 4; part++) {
    DecodedWord mixed = one;
    mixed.part[part] = other.part[part];
    EXPECT_FALSE(mixed.is_of(0x91000400) || mixed.is_of(0xF9000020)) << part;
  }
  EXPECT_LT(entry_of_word(0xFFFFFFFF), kDecodedWords);
  EXPECT_NE(entry_of_word(0x91000400), entry_of_word(0x91000800));
}

TEST(CudaCodeDelay, IsAsLongAsItTookAtFirstAndThenManyTimesAsLong) {
  using Time = CodeDelay::Time;
  const auto tick = std::chrono::nanoseconds(CodeDelay::kTickNanoseconds);
  CodeDelay delay;
  Time now = Time() + std::chrono::hours(100);
  constexpr u64 kCost = 7;
  for (const u64 times :
       {u64{1}, u64{2}, u64{4}, u64{8}, u64{16}, CodeDelay::kTimesTheCost, CodeDelay::kTimesTheCost}) {
    delay.begin(now, kCost * tick);
    EXPECT_FALSE(delay.is_over(now + (times * kCost - 1) * tick)) << times;
    now += times * kCost * tick;
    EXPECT_TRUE(delay.is_over(now)) << times;
  }
  delay.begin(now, 1000 * tick);
  EXPECT_FALSE(delay.is_over(now + (CodeDelay::kMostTicks - 1) * tick));
  EXPECT_TRUE(delay.is_over(now + CodeDelay::kMostTicks * tick));
}

TEST(CudaSettlingCode, HasSettledOnceGuestsHaveChangedNothingForSomeTime) {
  using Time = SettlingCode::Time;
  const auto tick = std::chrono::nanoseconds(CodeDelay::kTickNanoseconds);
  SettlingCode code;
  Time now = Time() + std::chrono::hours(100);
  EXPECT_TRUE(code.is_settled(now)) << "nobody has changed it";
  code.changed(now);
  now += SettlingCode::kLeastTicks / 2 * tick;
  EXPECT_FALSE(code.is_settled(now));
  EXPECT_EQ(code.ticks_left(now), SettlingCode::kLeastTicks / 2 + 2);
  code.changed(now);  // a program that maps one library after the other
  now += (SettlingCode::kLeastTicks - 1) * tick;
  EXPECT_FALSE(code.is_settled(now));
  now += tick;
  EXPECT_TRUE(code.is_settled(now));
  EXPECT_EQ(code.ticks_left(now), 1u);
  code.changed(now);
  code.begin_again();
  EXPECT_TRUE(code.is_settled(now)) << "the host has written the code";
}

TEST(CudaSettlingCode, CodeThatChangesAgainSettlesMoreAndMoreSlowly) {
  using Time = SettlingCode::Time;
  const auto tick = std::chrono::nanoseconds(CodeDelay::kTickNanoseconds);
  SettlingCode code;
  Time now = Time() + std::chrono::hours(100);
  code.changed(now);
  for (u64 ticks = SettlingCode::kLeastTicks; ticks < SettlingCode::kMostTicks; ticks *= 2) {
    EXPECT_FALSE(code.is_settled(now + (ticks - 1) * tick)) << ticks;
    now += ticks * tick;
    EXPECT_TRUE(code.is_settled(now)) << ticks;
    code.changed(now);
  }
  now += SettlingCode::kMostTicks * tick;
  EXPECT_TRUE(code.is_settled(now));
  code.changed(now);
  EXPECT_FALSE(code.is_settled(now + (SettlingCode::kMostTicks - 1) * tick)) << "no longer than that";
  now += 18 * SettlingCode::kMostTicks * tick;
  code.changed(now);
  EXPECT_TRUE(code.is_settled(now + SettlingCode::kLeastTicks * tick)) << "it was quiet for long";
}

TEST(CudaCodeDelay, DoublesUntilItIsQuiet) {
  using Time = CodeDelay::Time;
  const auto tick = std::chrono::nanoseconds(CodeDelay::kTickNanoseconds);
  CodeDelay delay;
  Time now = Time() + std::chrono::hours(100);
  EXPECT_TRUE(delay.is_over(now));
  EXPECT_EQ(delay.ticks_left(now), CodeDelay::kFirstTicks);
  for (u64 ticks = CodeDelay::kFirstTicks; ticks < CodeDelay::kMostTicks; ticks *= 2) {
    delay.begin(now);
    EXPECT_FALSE(delay.is_over(now + (ticks - 1) * tick));
    EXPECT_NEAR(static_cast<double>(delay.ticks_left(now)), static_cast<double>(ticks), 2);
    EXPECT_TRUE(delay.is_over(now + ticks * tick));
    now += (ticks + 1) * tick;
  }
  for (int more = 0; more < 3; more++) {
    delay.begin(now);
    EXPECT_NEAR(static_cast<double>(delay.ticks_left(now)), static_cast<double>(CodeDelay::kMostTicks), 2);
    now += CodeDelay::kMostTicks * tick;
  }
  delay.begin_again();
  delay.begin(now);
  EXPECT_TRUE(delay.is_over(now + CodeDelay::kFirstTicks * tick));
  delay.begin(now + 3 * tick);
  EXPECT_FALSE(delay.is_over(now + (3 + CodeDelay::kFirstTicks) * tick));
  now += 1000 * CodeDelay::kMostTicks * tick;
  delay.begin(now);
  EXPECT_TRUE(delay.is_over(now + CodeDelay::kFirstTicks * tick)) << "after a quiet period";
}

}  // namespace
}  // namespace myriarm::cuda
