// SPDX-License-Identifier: Apache-2.0
// The regions of a code space: which entry a word has when regions of several sizes come, what stays of those that were
// replaced, and which requests are dropped. The words are those of one area, without a space around them.
#include <gtest/gtest.h>

#include "backends/cpu/translated/space_regions.h"

namespace myriarm::cpu {
namespace {

constexpr u64 kCode = 0x4000, kWords = 64;
constexpr u16 kEntryKind = 999;

translate::RegionEnd first_function(translate::LaneState*, u64, u64) { return translate::RegionEnd::left; }
translate::RegionEnd second_function(translate::LaneState*, u64, u64) { return translate::RegionEnd::stopped; }

struct Space {
  Operands words[kWords] = {};
  SpaceRegions regions;

  Space() {
    regions.points().set_span(kCode, kWords);
    for (u64 i = 0; i < kWords; i++) words[i].kind = static_cast<u16>(100 + i);
  }
  /// The weak pointer expires when nobody owns the region.
  std::weak_ptr<const translate::Region> made;
  u32 install(std::vector<u64> at, translate::RegionFunction run, Tier tier, std::vector<u64> covered = {}) {
    auto region = std::make_shared<translate::Region>();
    region->entries = std::move(at);
    region->run = run;
    return install(region, tier, std::move(covered));
  }
  u32 install(const std::shared_ptr<translate::Region>& region, Tier tier, std::vector<u64> covered = {}) {
    made = region;
    return regions.install(region, tier, std::move(covered), kEntryKind, [&](u64 pc) {
      const u64 number = (pc - kCode) / 4;
      return number < kWords ? &words[number] : nullptr;
    });
  }
  const RegionEntry& at(u64 pc) const { return regions.points().at(pc); }
};

std::vector<u64> range(u64 from, u64 to) {
  std::vector<u64> addresses;
  for (u64 pc = from; pc < to; pc += 4) addresses.push_back(pc);
  return addresses;
}

TEST(SpaceRegions, ALargeRegionTakesThePlacesOfSmallOnes) {
  Space space;
  ASSERT_EQ(space.install({kCode, kCode + 8}, first_function, Tier::small), 2u);
  const std::weak_ptr<const translate::Region> small = space.made;
  const RegionEntry& before = space.at(kCode + 8);
  ASSERT_EQ(space.install({kCode + 8, kCode + 20}, second_function, Tier::large), 2u);
  EXPECT_EQ(space.at(kCode).run, first_function);
  EXPECT_EQ(space.at(kCode + 8).run, second_function);
  EXPECT_EQ(space.at(kCode + 8).number, 0u);
  EXPECT_EQ(space.at(kCode + 8).kind, 102u) << "the kind that the word had before any region";
  EXPECT_EQ(space.regions.tier_at(kCode), Tier::small);
  EXPECT_EQ(space.regions.tier_at(kCode + 8), Tier::large);
  EXPECT_EQ(space.regions.tier_at(kCode + 4), Tier::none);
  // A lane may have read the former entry, and be about to call its function.
  EXPECT_EQ(before.run, first_function);
  EXPECT_EQ(before.number, 1u);
  EXPECT_FALSE(small.expired());
}

TEST(SpaceRegions, LoopsOfCopiedCodeAreToldOfLargerCode) {
  Space space;
  std::atomic<u8> inner{0}, outer{0};
  auto copied = std::make_shared<translate::Region>();
  copied->entries = {kCode, kCode + 8};
  const u8 code[2] = {};
  copied->inside = {&code[0], &code[1]};
  copied->run = first_function;
  copied->loops = {{kCode, &outer}, {kCode + 8, &inner}};
  ASSERT_EQ(space.install(copied, Tier::quick), 2u);
  EXPECT_EQ(space.at(kCode + 8).number, reinterpret_cast<u64>(&code[1]));
  EXPECT_EQ(space.at(kCode + 8).inside, &code[1]);
  EXPECT_EQ(inner, 0);
  ASSERT_EQ(space.install({kCode + 8}, second_function, Tier::small), 1u);
  EXPECT_EQ(space.at(kCode + 8).inside, nullptr);
  EXPECT_EQ(inner, 1);
  EXPECT_EQ(outer, 0);
}

TEST(SpaceRegions, ARegionTakesNoPlaceOfItsOwnTierOrALargerOne) {
  Space space;
  ASSERT_EQ(space.install({kCode}, first_function, Tier::large), 1u);
  ASSERT_EQ(space.install({kCode + 4}, first_function, Tier::small), 1u);
  for (const Tier tier : {Tier::small, Tier::large}) {
    EXPECT_EQ(space.install({kCode}, second_function, tier), 0u);
    EXPECT_TRUE(space.made.expired()) << "a region without an entry is not kept";
  }
  EXPECT_EQ(space.install({kCode, kCode + 4, kCode + 8}, second_function, Tier::small), 1u);
  EXPECT_FALSE(space.made.expired());
  EXPECT_EQ(space.at(kCode).run, first_function);
  EXPECT_EQ(space.at(kCode + 4).run, first_function);
  EXPECT_EQ(space.at(kCode + 8).run, second_function);
  EXPECT_EQ(space.install({kCode + 4 * kWords}, second_function, Tier::large), 0u) << "there is no such word";
}

TEST(SpaceRegions, CopiesHaveTheKindsFromBeforeAnyRegion) {
  Space space;
  space.install({kCode, kCode + 12}, first_function, Tier::small);
  space.install({kCode + 12}, second_function, Tier::large);
  Operands copy[kWords];
  {
    const auto kept = space.regions.keep();
    std::copy_n(space.words, kWords, copy);
    space.regions.undo(kCode + 4, kWords - 1, copy + 1);
  }
  EXPECT_EQ(copy[0].kind, kEntryKind) << "it was not in the range";
  for (u64 i = 1; i < kWords; i++) EXPECT_EQ(copy[i].kind, 100 + i);
  EXPECT_EQ(space.words[3].kind, kEntryKind);
}

TEST(SpaceRegions, EachTierIsAskedForOnce) {
  Space space;
  EXPECT_TRUE(space.regions.ask(kCode, Tier::small));
  EXPECT_FALSE(space.regions.ask(kCode, Tier::small));
  EXPECT_TRUE(space.regions.ask(kCode, Tier::large));
  EXPECT_FALSE(space.regions.ask(kCode, Tier::large));
}

TEST(SpaceRegions, RequestsHaveABound) {
  for (const Tier tier : {Tier::small, Tier::large}) {
    Space space;
    u64 most = 0;
    while (most < 1'000'000 && space.regions.ask(kCode + 4 * most, tier)) most++;
    EXPECT_EQ(most, u64{1} << 14);
  }
}

TEST(SpaceRegions, ARequestInsideARegionIsDroppedOnce) {
  Space space;
  EXPECT_FALSE(space.regions.drop_request(kCode)) << "there is no region";
  space.install({kCode + 16}, first_function, Tier::small, range(kCode + 16, kCode + 32));
  ASSERT_TRUE(space.regions.ask(kCode + 24, Tier::small));
  EXPECT_TRUE(space.regions.drop_request(kCode + 24));
  EXPECT_TRUE(space.regions.ask(kCode + 24, Tier::small)) << "it may be made once more";
  EXPECT_FALSE(space.regions.drop_request(kCode + 24)) << "and is served then";
  EXPECT_TRUE(space.regions.drop_request(kCode + 16));
  EXPECT_TRUE(space.regions.drop_request(kCode + 28));
  EXPECT_FALSE(space.regions.drop_request(kCode + 12));
  EXPECT_FALSE(space.regions.drop_request(kCode + 32));
}

TEST(SpaceRegions, KnowWhichInstructionsRegionsHaveTogether) {
  Space space;
  space.install({kCode}, first_function, Tier::small, range(kCode + 40, kCode + 80));
  // Inside another one, over its end, touching it, and around several; not in order, and in two pieces.
  space.install({kCode + 4}, first_function, Tier::small, range(kCode + 48, kCode + 56));
  space.install({kCode + 8}, first_function, Tier::small, {kCode + 84, kCode + 76, kCode + 80, kCode + 8});
  space.install({kCode + 12}, first_function, Tier::small, range(kCode + 88, kCode + 96));
  space.install({kCode + 20}, first_function, Tier::small, range(kCode + 36, kCode + 92));
  for (u64 pc = kCode; pc < kCode + 4 * kWords; pc += 4) {
    const bool is_inside = pc == kCode + 8 || (pc >= kCode + 36 && pc < kCode + 96);
    EXPECT_EQ(space.regions.drop_request(pc), is_inside) << std::hex << pc;
  }
}

}  // namespace
}  // namespace myriarm::cpu
