// SPDX-License-Identifier: Apache-2.0
// Published code of the CPU's lanes: it is there for lanes that come when no lane has it, as long as the pool needs its memory for
// nothing else; and translated code finds the entries of all of its areas.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/cpu/interpreter/code_store.h"

namespace myriarm::cpu {
namespace {

constexpr u64 kNear = 0x10, kFar = 0x4000;  // pages
constexpr u32 kHalt = 0xd4400000;

PageBytes page_of(u32 word) {
  PageBytes bytes;
  for (size_t i = 0; i < kPageSize; i += 4) std::memcpy(&bytes[i], &word, 4);
  return bytes;
}

struct Store {
  FramePool pool{0, 256};
  CodeStore codes{pool};

  /// A published space that covers these pages.
  std::shared_ptr<CodeSpace> publish(const std::vector<u64>& pages, const PageBytes& bytes) {
    std::shared_ptr<CodeSpace> space = codes.copy_of(*codes.nothing());
    for (const u64 page : pages) EXPECT_TRUE(space->cover(page));
    space->publish([&](u64) { return bytes.data(); });
    codes.add(space);
    return space;
  }
};

TEST(CodeStore, KeepsWhatNoLaneHas) {
  Store store;
  const PageBytes bytes = page_of(kHalt);
  const CodeSpace* made = store.publish({kNear}, bytes).get();
  const auto found = store.codes.candidates(kNear, bytes.data());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].get(), made);
  EXPECT_TRUE(found[0]->covers(kNear));
}

TEST(CodeStore, KeepsAFewOfThoseThatWereWantedLast) {
  Store store;
  std::vector<PageBytes> contents;
  for (u32 i = 0; i < 40; i++) contents.push_back(page_of(kHalt + (i << 5)));
  for (u32 i = 0; i < 40; i++) {
    store.publish({kNear}, contents[i]);
    store.codes.keep(store.codes.candidates(kNear, contents[0].data()).at(0));
  }
  u32 kept = 0;
  for (const PageBytes& bytes : contents) kept += !store.codes.candidates(kNear, bytes.data()).empty();
  EXPECT_GE(kept, 2u);
  EXPECT_LT(kept, 40u);
  EXPECT_FALSE(store.codes.candidates(kNear, contents[0].data()).empty()) << "it was wanted each time";
  EXPECT_FALSE(store.codes.candidates(kNear, contents[39].data()).empty());
  EXPECT_TRUE(store.codes.candidates(kNear, contents[1].data()).empty());
}

TEST(CodeStore, GivesUpWhatItKeepsBeforeThePoolIsSpent) {
  Store store;
  const PageBytes one = page_of(kHalt), two = page_of(kHalt + 32);
  store.publish({kNear}, one);
  const std::shared_ptr<CodeSpace> held = store.publish({kNear}, two);
  const u64 used = store.pool.used_bytes() >> kPageBits;
  ASSERT_GT(used, 0u);
  EXPECT_TRUE(store.pool.charge(256 - used)) << "there is room";
  EXPECT_FALSE(store.codes.candidates(kNear, one.data()).empty());
  EXPECT_TRUE(store.pool.charge(1)) << "what no lane has goes";
  EXPECT_TRUE(store.codes.candidates(kNear, one.data()).empty());
  EXPECT_FALSE(store.pool.charge(256)) << "what a lane has stays";
  EXPECT_EQ(store.codes.candidates(kNear, two.data()).size(), 1u);
}

TEST(CodeStore, SaysWhatNoLaneHas) {
  Store store;
  EXPECT_EQ(store.codes.saved_bytes(), 0u);
  std::shared_ptr<CodeSpace> held = store.publish({kNear}, page_of(kHalt));
  const u64 of_one = store.pool.used_bytes();
  EXPECT_EQ(store.codes.saved_bytes(), 0u);
  store.publish({kNear, kFar}, page_of(kHalt + 32));
  EXPECT_EQ(store.codes.saved_bytes(), store.pool.used_bytes() - of_one);
  held.reset();
  EXPECT_EQ(store.codes.saved_bytes(), store.pool.used_bytes());
}

TEST(CodeStore, LanesThatFindFramesMissingGetThoseOfKeptCode) {
  Store store;
  store.publish({kNear}, page_of(kHalt));
  u64 frames = 0;
  for (bool zeroed; store.pool.allocate(zeroed) != 0;) frames++;
  EXPECT_EQ(frames, 256u);
}

translate::RegionEnd run(translate::LaneState*, u64, u64) { return translate::RegionEnd::left; }

TEST(CodeSpace, HasOneTableOfEntriesForAllAreas) {
  Store store;
  const std::shared_ptr<CodeSpace> space = store.publish({kNear, kFar}, page_of(kHalt));
  const u64 near = kNear << kPageBits, far = kFar << kPageBits;
  ASSERT_NE(space->find(near), space->find(far));
  auto region = std::make_shared<translate::Region>();
  region->entries = {near + 8, far + 16};
  region->run = run;
  ASSERT_EQ(space->install(region, Tier::large, {near + 8, far + 16}), 2u);
  const translate::EntryPoints points = space->entries().points();
  ASSERT_NE(points.at(near + 8), nullptr);
  EXPECT_EQ(points.at(near + 8)->number, 0u);
  ASSERT_NE(points.at(far + 16), nullptr) << "a lane in the first area finds it";
  EXPECT_EQ(points.at(far + 16)->number, 1u);
  EXPECT_EQ(points.at(near + 12), nullptr);
  EXPECT_EQ(points.at(near + 9), nullptr);
  EXPECT_EQ(points.at(far - 4), nullptr) << "between the areas";
  EXPECT_EQ(points.at(space->entries().address() - 4), nullptr);
  EXPECT_EQ(points.at(space->entries().address() + space->entries().bytes()), nullptr);
  EXPECT_EQ(space->entry_at(far + 16), points.at(far + 16));
}

}  // namespace
}  // namespace myriarm::cpu
